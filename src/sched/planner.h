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

namespace tandem::sched {

// One line of a queue view.
struct QueueLine {
    std::string queue{};
    std::string parent{};
    std::string flavor{};
    std::int64_t nominal = 0;
    std::int64_t quota = 0;     // with what children lend
    std::int64_t used = 0;      // subtree
    std::int64_t borrowed = 0;  // used beyond the quota
    std::int64_t lent = 0;      // of what is idle, what others in the cohort use
    std::int64_t weight = 1;
    std::string share{};           // of what is borrowed, by weight: "3/16", "0", "unbounded"
    std::int64_t hardware = 0;     // of the flavor in its pool: nominal may promise more than that
    std::int64_t faded_hours = 0;  // decayed use of the subtree, all flavors: milli-device-hours
    std::int64_t waiting = 0;      // workloads
};
struct PoolLine {
    std::string pool{};
    std::string flavor{};
    std::int64_t total = 0;  // milli-devices that the pool owns now
    std::int64_t used = 0;
    std::int64_t idle = 0;
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
    void put_queue(const model::Queue& queue);
    void remove_queue(const std::string& name);
    void put_entry(const Entry& entry);
    void remove_entry(RowId id, std::int64_t part = 0);
    void set_leaving(RowId id, std::int64_t part = 0);
    void put_demand(const Demand& demand);
    void remove_demand(RowId workload);
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

    // Why a waiting workload waits: computed on demand with true numbers; absent when it does not
    // wait.
    std::optional<model::Verdict> verdict(RowId workload) const;
    std::vector<QueueLine> queue_lines() const;
    std::vector<PoolLine> pool_lines() const;
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
