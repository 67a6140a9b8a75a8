// SPDX-License-Identifier: Apache-2.0
// IntervalBook: open intervals of every device (and of waiting work), closed and opened as phases
// change. Core calls it in the transaction of the state change; what closes becomes UsageRecord
// rows of that batch.
//
// Invariants
//  1. At any instant the open intervals of a device sum to exactly 1000 milli: occupied shares +
//  one idle
//     interval for the rest (absent when nothing is left), the idle one attributed to the owning
//     pool.
//  2. Closed intervals of a device neither overlap nor leave gaps, per milli.
//  3. Amounts and times never go backwards; from <= to. Intervals of length zero are not kept.
//
// When an attempt ends, its running interval is split at the last complete checkpoint (`safe_at`):
// before it the time was running, after it lost (failedRerun, lostToPreemption or lostToRequest).
// Undo: as Planner's. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/usage.h"

namespace tandem::ledger {

// Who an interval is charged to; fields as in UsageRecord.
struct Attribution {
    std::string pool{};
    std::string queue{};
    std::string project{};
    std::string name_space{};
    std::string owner_kind{};
    std::string owner_name{};
    Uid owner_uid{};
    std::string replica{};
    std::int64_t epoch = 0;
    bool operator==(const Attribution&) const = default;
};

struct DeviceSlot {
    std::string node{};
    std::int64_t device = 0;
    auto operator<=>(const DeviceSlot&) const = default;
};

// What changed since the last drain; goes into the BatchRecord.
struct BookChanges {
    std::vector<model::UsageRecord> closed{};
    std::vector<model::UsageRecord> open_put{};
    std::vector<RowId> open_gone{};
};

class IntervalBook {
  public:
    // `next_id` is core's dense id counter; ids of intervals are drawn from it.
    explicit IntervalBook(std::int64_t& next_id);
    ~IntervalBook();
    IntervalBook(const IntervalBook&) = delete;
    IntervalBook& operator=(const IntervalBook&) = delete;

    // At start, before anything else; `holder` is the replica's or waiting workload's row id, zero for idle time.
    void restore(const model::UsageRecord& open, RowId holder);

    // A device exists from now on, idle, owned by `pool` (empty: by none).
    void add_device(const DeviceSlot& slot, const std::string& flavor, const std::string& pool, Instant now);
    void remove_device(const DeviceSlot& slot, Instant now);  // its idle interval closes; no share may be left
    // Its idle part belongs to another pool from now on, in state idle, or held when a reserved pool keeps it.
    void set_owner(const DeviceSlot& slot, const std::string& pool, model::LedgerState idle_state, Instant now);
    bool has_device(const DeviceSlot& slot) const;

    // Replica `id` has `milli` of the device in `state` from now on; called again with another state it closes
    // the interval before. The same state and attribution again changes nothing. `since` <= now is when the state
    // really began, told late: the turn from one state to the other is put there, not before the one that it ends.
    void occupy(const DeviceSlot& slot, RowId id, std::int64_t milli, model::LedgerState state,
                const Attribution& who, Instant now, std::optional<Instant> since = std::nullopt);
    // Ends it; `ended_at` <= now is when the task really ended (a shim's record): from there to now the share is
    // idleAllocated, flagged serverAbsent when told so. A running interval is split at safe_at if given: later
    // time becomes `lost`. A held interval whose task ran from `ran_from` on, without anybody having seen it run, is
    // split there: a very short task is charged for its own time.
    struct Closing {
        std::optional<Instant> ended_at{};
        bool server_absent = false;
        std::optional<Instant> ran_from{};
        std::optional<Instant> safe_at{};
        model::LedgerState lost = model::LedgerState::failed_rerun;
    };
    void release(const DeviceSlot& slot, RowId id, const Closing& closing, Instant now);

    // Waiting work: `milli` devices asked for by workload `id` since now, queued or suspended.
    void queue(RowId id, std::int64_t milli, model::LedgerState state, const Attribution& who,
               Instant now);
    void dequeue(RowId id, Instant now);

    BookChanges drain();
    std::size_t mark();
    void rollback(std::size_t mark);
    void forget();
    std::uint64_t digest() const;
    // First broken invariant as text; empty when all hold.
    std::string check() const;

  private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace tandem::ledger
