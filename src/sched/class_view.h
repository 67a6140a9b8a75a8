// SPDX-License-Identifier: Apache-2.0
// ClassView: a class of waiting work with its places in the derived tables; and work of one kind,
// as the mix counts it. Inside of sched only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sched/mix.h"
#include "sched/quota.h"
#include "sched/waiting.h"

namespace tandem::sched {

// Work of one kind, for the mix: of what waits and runs.
struct MixKey {
    int asked = no_name;  // the flavor choice
    Ask ask{};
    bool operator==(const MixKey&) const = default;
};
struct MixKeyHash {
    std::size_t operator()(const MixKey& key) const noexcept {
        const auto cpu = static_cast<std::uint64_t>(key.ask.cpu_milli);
        const auto devices = static_cast<std::uint64_t>(key.ask.devices);
        return static_cast<std::size_t>((cpu * 31 + devices) * 0x9e3779b97f4a7c15ULL) ^
               static_cast<std::size_t>(key.asked);
    }
};

// What a class needs of quota, with its places in the derived tables. Made when first asked for
// after a build.
struct PartView {
    int asked = no_name;  // the flavor choice
    int rule = no_name;
    // Domains that it may go to, by preference, and how many domains there were when this was made.
    std::vector<std::vector<int>> tiers{};
    std::size_t domains = 0;
};
struct ClassView {
    std::int64_t built = -1;
    std::int64_t serial = -1;
    int node = -1;  // of the quota tree
    int queue = no_name;
    int project = no_name;
    int pool = no_name;
    model::PlacementPolicy placement = model::PlacementPolicy::tandem;
    model::ReasonCode closed =
        model::ReasonCode::none;  // why it may not be placed whatever is free
    std::vector<Need> needs{};
    std::vector<PartView> parts{};
    int placing = no_name;   // what it asks of its places
    int company = no_name;   // the same where others must heed it
    bool by_rules = false;   // nodes are looked at one by one (by_rules.cc)

    int permits = no_name;
    bool forced = false;
    bool windowed = false;   // its pool is a booking's: what it takes is paid for

    bool is_spread() const { return placement == model::PlacementPolicy::spread; }
    bool is_scored() const {
        return placement == model::PlacementPolicy::tandem ||
               placement == model::PlacementPolicy::fgd;
    }
};

}  // namespace tandem::sched
