// SPDX-License-Identifier: Apache-2.0
// Queues form a tree (inner nodes are cohorts). Per device flavor: nominal is the queue's own share, what
// others leave idle may be borrowed up to borrow_limit, own idle share is lent up to lend_limit, max caps
// both together. Amounts in milli-devices; "unlimited" is -1. Of what is borrowed, weights say who gets how
// much of it; weight 0 borrows only what nobody weighted wants, and gives it back first. On an inner node
// a weight is that of the whole subtree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/meta.h"
#include "model/work_limits.h"

namespace tandem::model {

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

// Whom the work of a queue may ask to leave.
enum class WithinQueue : std::uint8_t { lower_priority, never };
template <>
struct EnumNames<WithinQueue> {
    static constexpr std::string_view values[] = {"lowerPriority", "never"};
};
enum class ReclaimFrom : std::uint8_t { any, lower_priority, never };
template <>
struct EnumNames<ReclaimFrom> {
    static constexpr std::string_view values[] = {"any", "lowerPriority", "never"};
};
enum class FairSharing : std::uint8_t { never, larger_share };
template <>
struct EnumNames<FairSharing> {
    static constexpr std::string_view values[] = {"never", "largerShare"};
};
struct QueuePreemption {
    WithinQueue within_queue = WithinQueue::lower_priority;
    ReclaimFrom reclaim = ReclaimFrom::any;          // for its nominal quota, from those who borrow
    FairSharing fair_share = FairSharing::never;     // for its share of what is borrowed
    std::int64_t per_minute = 0;  // evictions that work at and below it may cause; 0: no limit
    std::int64_t burst = 1;       // that many at once
    bool operator==(const QueuePreemption&) const = default;
};

struct QueueSpec {
    std::string parent{};                 // empty: a root
    std::string pool = "default";         // leaves only
    std::vector<std::string> projects{};  // who may submit; empty: everybody
    std::vector<FlavorQuota> quotas{};
    StopPolicy stop = StopPolicy::none;   // also of what is below it
    QueuePreemption preemption{};
    Duration min_run_time{};              // its work is not asked to leave before
    std::optional<Duration> usage_half_life{};  // remembers use; absent: as its parent
    WorkLimits limits{};                        // of all work at and below it
    WorkLimits per_user{};                      // of each submitter's work at and below it
    bool operator==(const QueueSpec&) const = default;
};

// Decayed use of one flavor, at a time: milli-device-milliseconds x 2^32, as a decimal number.
struct FlavorUse {
    std::string flavor{};
    std::string amount{};
    Instant at{};
    bool operator==(const FlavorUse&) const = default;
};
struct QueueStatus {
    std::vector<FlavorUse> used{};   // of its own work; by flavor
    std::int64_t evictions_left = 0; // of the burst, in milli, at the time beside it
    std::optional<Instant> evictions_at{};
    bool operator==(const QueueStatus&) const = default;
};
struct Queue {
    static constexpr Kind kind = Kind::queue;
    Meta meta{};
    QueueSpec spec{};
    QueueStatus status{};
    bool operator==(const Queue&) const = default;
};

}  // namespace tandem::model
