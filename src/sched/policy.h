// SPDX-License-Identifier: Apache-2.0
// Placement policies: the score of putting one replica on one node, higher is better. PURE, integer
// arithmetic only. Whoever asks has made sure that the replica fits, and breaks ties by the lowest
// rank of the node.
//
// The first six are those of the published comparison on the openb trace (see mix.h for fgd), with
// its integer scores 0..100. `tandem` is the product's own: the fragmentation gradient of fgd,
// joined with what filling the node would leave, and a price for each device of a model that much
// of the demand insists on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sched/mix.h"

namespace tandem::sched {

enum class Policy : std::uint8_t { random, dotprod, clustering, packing, bestfit, fgd, tandem };
inline constexpr std::array policy_names{"random",  "dotprod", "clustering", "packing",
                                         "bestfit", "fgd",     "tandem"};
std::optional<Policy> policy_of(std::string_view name);

// Kinds of work that clustering keeps apart: share, 1, 2, 4, 8 devices, any other number.
inline constexpr std::size_t work_kinds = 6;
std::optional<std::size_t> kind_of(const Ask& ask);  // none: asks for no device

// What is free on a node.
struct NodeRoom {
    std::int64_t cpu_left = 0;
    std::span<const std::int32_t> left{};        // milli of each device
    std::array<std::int32_t, work_kinds> kinds{};  // replicas there, by kind
};

struct Scored {
    std::int64_t score = 0;
    int device = -1;  // for a share: its place in `left`
};

// Fits by CPU and devices.
bool has_room(const NodeRoom& room, const Ask& ask);

std::int64_t dotprod_score(const NodeRoom& room, const Ask& ask);
std::int64_t clustering_score(const NodeRoom& room, const Ask& ask);
std::int64_t packing_score(const NodeRoom& room, const Ask& ask);
// Before the comparison's stretch to 0..100 over the nodes that fit, which moves no maximum.
std::int64_t bestfit_score(const NodeRoom& room, const Ask& ask);
// For fgd and tandem the device of a share is the best by the same score, the first of equals. With
// `usable` (beside `left`) only those devices are looked at for a share.
Scored fgd_score(const NodeRoom& room, const Ask& ask, const FlavorMix& mix,
                 std::span<const bool> usable = {});
Scored tandem_score(const NodeRoom& room, const Ask& ask, const FlavorMix& mix,
                    std::span<const bool> usable = {});
// The device with the least left that holds the share; -1: none.
int tightest_device(std::span<const std::int32_t> left, std::int64_t share);

}  // namespace tandem::sched
