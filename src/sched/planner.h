// SPDX-License-Identifier: Apache-2.0
// Planner: the scheduler's own picture of capacity, quota and waiting work, kept up to date by core
// with small calls, and asked for a plan after each batch. PURE: no clock, no I/O; work is bounded
// by a step budget.
//
// Invariants
//  1. Usage of a queue node = sum of its entries and its children's; a recount from entries equals
//  it.
//  2. On each device: allocations + holds <= 1000 milli; a new placement never counts on capacity
//  that a
//     claim or a leaving entry still has.
//  3. Same calls, same plan.
//
// plan() applies what it decides to the picture itself (entries of kind claim or allocation are
// added, victims marked leaving), so that later placements of the same plan see it; core then makes
// it true in the same batch: put_entry for the same workload at the same place takes the planned
// entry over; what is not put before forget() is given back. A demand that was placed waits no
// longer. Devices of reserved pools: types.h, PoolFilled.
//
// Quota is charged for every entry until it is removed; a claim may stand beside the victims that
// still leave. A queue (or pool) that does not exist, or one that is stopped, keeps its demands
// waiting.
//
// Undo: mark() before a batch; rollback(mark) takes every change since back; forget(mark) drops the
// log. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/types.h"
#include "sched/snapshot.h"

namespace tandem::sched {

struct News {
    RowId workload{};
    model::Reason reason{};
};

class Planner {
  public:
    Planner();
    ~Planner();
    Planner(const Planner&) = delete;
    Planner& operator=(const Planner&) = delete;

    // As new: nothing is known.
    void clear();

    // The picture. put_ replaces what has the same name or id.
    void put_node(const model::Node& node);
    void remove_node(const std::string& name);
    void put_pool(const model::Pool& pool);
    void remove_pool(const std::string& name);
    void put_booking(const Booking& booking);
    void remove_booking(RowId id);
    void put_queue(const model::Queue& queue);
    void remove_queue(const std::string& name);
    void put_entry(const Entry& entry);
    void remove_entry(RowId id, std::int64_t part = 0);
    void set_leaving(RowId id, std::int64_t part = 0);
    void put_demand(const Demand& demand);
    void remove_demand(RowId workload);
    // Members that elastic work, which holds capacity, would like to have more of: of each part at
    // most `count`. They are placed one by one, in turns with those of others, when all else is:
    // where nothing has to leave, nobody waits for room of that flavor in the pool, and, beyond nominal
    // quotas, nobody waits for quota of it in the tree (growth.h). A plan says what was placed and
    // leaves the wish as it is.
    void put_growth(const Demand& wish);
    void remove_growth(RowId workload);
    void put_occupant(const Occupant& occupant);
    void remove_occupant(RowId workload);

    // What the policies take for typical, instead of what waits and runs; empty: that again. Not
    // undone by rollback.
    void set_typical(const std::vector<TypicalWork>& work);

    // Is everything that this claim waits for physically free now?
    bool claim_is_free(RowId id, std::int64_t part = 0) const;
    const Entry* find_entry(RowId id, std::int64_t part = 0) const;

    // Time moves on; use is counted by it. Never backwards.
    void advance(Instant now);
    Plan plan(Instant now, std::int64_t step_budget);
    // When a plan may find more though nothing else happens.
    std::optional<Instant> next_look() const;

    // What core stores of queues that changed since forget(), as of now; and hands back at a start,
    // after queues and entries.
    std::vector<QueueMemory> changed_memory() const;
    void restore_memory(const QueueMemory& memory);

    // The picture as it is now, for readers. Costs what changed since the last one was asked for; the
    // same one again when nothing did. Without a caller nothing is kept for it.
    std::shared_ptr<const Snapshot> snapshot() const;
    // Of snapshot().
    std::optional<model::Verdict> verdict(RowId workload) const { return snapshot()->verdict(workload); }
    std::vector<QueueLine> queue_lines() const { return snapshot()->queue_lines(); }
    std::vector<PoolLine> pool_lines() const { return snapshot()->pool_lines(); }
    // Of at most `limit` workloads that wait for another cause than was told of them before: code and the
    // parameters that do not change from moment to moment. True: there are more.
    bool take_news(std::size_t limit, std::vector<News>& news);
    // Why a workload that waits was not placed when it was last looked at.
    std::optional<model::Reason> cause_of(RowId workload) const;
    // The shared pool that owns a device when nobody holds it; empty when none does.
    std::string owner_of(const std::string& node, std::int64_t device) const;

    std::size_t mark();
    void rollback(std::size_t mark);
    void forget();

    // Recomputes every counter from entries; the text names the first difference, empty when equal.
    std::string recount() const;
    std::uint64_t digest() const;

  private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace tandem::sched
