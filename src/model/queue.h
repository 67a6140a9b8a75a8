// SPDX-License-Identifier: Apache-2.0
// Queues form a tree (inner nodes are cohorts). Per device flavor: nominal is the queue's own share, what
// others leave idle may be borrowed up to borrow_limit, own idle share is lent up to lend_limit, max caps
// both together. Amounts in milli-devices; "unlimited" is -1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/meta.h"

namespace tandem::model {

inline constexpr std::int64_t unlimited = -1;

struct FlavorQuota {
    std::string flavor{};                   // "*" covers every flavor without an entry of its own
    std::int64_t nominal = 0;
    std::int64_t borrow_limit = unlimited;
    std::int64_t lend_limit = unlimited;
    std::int64_t max = unlimited;
    std::int64_t weight = 1;
    bool operator==(const FlavorQuota&) const = default;
};

enum class StopPolicy : std::uint8_t { none, hold, hold_and_drain };
template <>
struct EnumNames<StopPolicy> {
    static constexpr std::string_view values[] = {"none", "hold", "holdAndDrain"};
};

struct QueueSpec {
    std::string parent{};                 // empty: a root
    std::string pool = "default";         // leaves only
    std::vector<std::string> projects{};  // who may submit; empty: everybody
    std::vector<FlavorQuota> quotas{};
    StopPolicy stop = StopPolicy::none;
    bool operator==(const QueueSpec&) const = default;
};
struct Queue {
    static constexpr Kind kind = Kind::queue;
    Meta meta{};
    QueueSpec spec{};
    bool operator==(const Queue&) const = default;
};

}  // namespace tandem::model
