// SPDX-License-Identifier: Apache-2.0
// What the planner keeps of the objects it is told about, with names as numbers, and one entry of
// its ledger as the hot loops see it. Amounts as in types.h. Inside of sched only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/wide.h"
#include "model/capacity.h"
#include "model/queue.h"
#include "sched/names.h"
#include "sched/types.h"

namespace tandem::sched {

// Product that stops far above any amount of devices instead of wrapping, and far enough below the
// end of the type that sums of a few are exact.
inline std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
    constexpr Wide top = Wide{1} << 60;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::int64_t>(product < top ? product : top);
}

struct DeviceFacts {
    std::int64_t index = 0;
    int flavor = no_name;
    bool healthy = true;
    std::int64_t memory_bytes = 0;
    bool operator==(const DeviceFacts&) const = default;
};
struct NodeFacts {
    RowId id{};
    bool ready = false;
    bool unschedulable = false;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::vector<DeviceFacts> devices{};
    model::Labels labels{};
    std::vector<std::string> taints{};
    std::optional<Instant> closes{};  // from then on it is to be empty
    int closing = no_name;            // the maintenance that says so
    bool operator==(const NodeFacts&) const = default;
};

// Which nodes work may go to whatever is free there, at a time.
struct NodeRule {
    model::Labels selector{};
    std::vector<std::string> tolerations{};
    model::NodeAffinity affinity{};
    std::int64_t lasts_ms = 0;  // it can't be asked to leave, and may stay so long; 0: it can
    bool selects_some() const { return !selector.empty() || !affinity.required.empty(); }
    bool admits(const model::Labels& labels, const std::vector<std::string>& taints) const;
    bool admits(const NodeFacts& node, Instant now) const {
        return admits(node.labels, node.taints) && is_gone_by(node.closes, now);
    }
    bool is_gone_by(const std::optional<Instant>& closes, Instant now) const {
        return !closes || lasts_ms == 0 || lasts_ms <= (*closes - now).ms;
    }
};

struct DeviceKey {
    int node = no_name;
    std::int64_t index = 0;
    auto operator<=>(const DeviceKey&) const = default;
};
struct PoolFacts {
    RowId id{};
    model::Form form = model::Form::shared;
    std::vector<int> projects{};  // sorted; empty: everybody
    int from = no_name;
    int flavor = no_name;
    std::int64_t devices = 0;
    model::PlacementPolicy placement = model::PlacementPolicy::tandem;
    std::vector<DeviceKey> held{};  // sorted
    std::vector<std::string> levels{};  // labels of nodes, widest first
    bool windowed = false;              // of a booking
    bool operator==(const PoolFacts&) const = default;
};

struct QuotaFacts {
    int flavor = no_name;  // no_name: "*"
    std::int64_t nominal = 0;
    std::int64_t borrow_limit = model::unlimited;
    std::int64_t lend_limit = model::unlimited;
    std::int64_t max = model::unlimited;
    std::int64_t weight = 1;
    bool operator==(const QuotaFacts&) const = default;
};
struct QueueFacts {
    int parent = no_name;
    int pool = no_name;
    std::vector<int> projects{};
    std::vector<QuotaFacts> quotas{};
    bool stopped = false;
    model::QueuePreemption preemption{};
    std::int64_t min_run_ms = 0;
    std::int64_t half_life_ms = 0;  // 0: as its parent
    bool operator==(const QueueFacts&) const = default;
};

struct BookingFacts {
    int pool = no_name;  // its own
    int from = no_name;
    int flavor = no_name;
    std::int64_t members = 1;
    std::int64_t each = 1;
    Instant start{};
    std::int64_t length_ms = 0;
    std::int64_t every_ms = 0;
    std::int64_t windows = 1;
    Instant end() const { return start + Duration{length_ms}; }
    bool operator==(const BookingFacts&) const = default;
};

struct OccupantFacts {
    int queue = no_name;
    std::int64_t priority = 0;
    bool preemptible = true;
    Instant started{};
    Instant safe_at{};
    std::int64_t restart_ms = 0;
    std::int64_t evictions = 0;
    std::optional<Instant> ends{};
    Standing standing = Standing::whole;
    std::int64_t grace_ms = 0;
    bool operator==(const OccupantFacts&) const = default;
};

// Evictions that a queue's work may still cause, in milli; grows with time up to the burst.
struct Bucket {
    std::int64_t left = 0;
    Instant at{};
    bool operator==(const Bucket&) const = default;
};

// What is in it at a time; and when there is enough for so many evictions more (absent: at once). A set
// larger than the burst waits for a full bucket and leaves it in debt.
Bucket filled(const model::QueuePreemption& policy, const std::optional<Bucket>& bucket, Instant now);
std::optional<Instant> next_eviction(const model::QueuePreemption& policy,
                                     const std::optional<Bucket>& bucket, Instant now,
                                     std::int64_t evictions);

struct Share {
    std::int64_t device = 0;  // index in its node
    std::int64_t milli = 0;
    std::int64_t memory_bytes = 0;  // 0: its part of the device's memory
    bool operator==(const Share&) const = default;
};
struct Slot {
    RowId id{};
    std::int64_t part = 0;
    EntryKind kind = EntryKind::allocation;
    RowId workload{};
    int node = no_name;
    int flavor = no_name;
    int asked = no_name;  // name of the flavor choice
    int queue = no_name;
    int pool = no_name;
    int project = no_name;
    int permits = no_name;  // list of permits.h
    int placing = no_name;  // of work that others select, or that keeps them away
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t milli = 0;  // sum of shares
    bool leaving = false;
    bool pinned = false;       // of a workload that is never asked to leave
    bool provisional = false;  // placed by a plan, not yet put by core under its replica's id
    bool live = false;
    std::vector<Share> shares{};
    std::unique_ptr<Entry> shown{};  // as core put it
};

}  // namespace tandem::sched
