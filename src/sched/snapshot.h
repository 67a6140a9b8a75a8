// SPDX-License-Identifier: Apache-2.0
// Snapshot: the scheduler's picture as of one moment, for readers on other threads: why each
// waiting workload waits, positions, queues, pools. Immutable; made by Planner::snapshot(), which
// shares with the one before all that did not change. Verdicts are judged on the view's own tables
// when asked for, so that their numbers and remedies belong to one moment. Cost of a verdict: sums
// per domain for shapes of whole devices; one pass over the nodes where CPU, memory or parts of
// devices are asked for. Thread rule: reads from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/verdict.h"
#include "sched/snapshot_tables.h"

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
// Whose turn a queue with waiting work is, among those of its pool.
struct QueueTurn {
    std::string queue{};
    std::string pool{};
    std::int64_t place = 0;  // 1: next
    std::int64_t of = 0;
    bool operator==(const QueueTurn&) const = default;
};
// What a workload has.
struct Assignment {
    std::string queue{};
    std::string flavor{};
    std::int64_t milli = 0;
    std::vector<std::string> nodes{};
};

// One that waits in a queue, in its order: priority, then since when.
struct WaitingLine {
    RowId workload{};
    std::int64_t position = 0;
    std::int64_t priority = 0;
    Instant submitted{};
    bool forced = false;
};
// In what words a counter is told: whose it is (license, array, project, queue, user), what it
// counts (devices, licenses, jobs), and so much of that.
std::string_view word_of(const Permit& counter);
std::string_view what_counts(const Permit& counter);
std::string amount_text(const Permit& counter, std::int64_t amount);

// A counter beside devices. of.limit: as somebody who waits or was placed last met it.
struct CounterLine {
    Permit of{};
    std::int64_t used = 0;
    std::int64_t holders = 0;
};

class Snapshot {
  public:
    explicit Snapshot(SnapshotTables tables) : tables_(std::move(tables)) {}

    // Why a workload waits; absent when it does not.
    std::optional<model::Verdict> verdict(RowId workload) const;
    std::int64_t position(RowId workload) const;  // 1: next in its queue; 0: does not wait
    std::string queue_of(RowId workload) const;   // in which it waits; empty: in none
    std::optional<Assignment> assignment(RowId workload) const;
    std::vector<QueueLine> queue_lines() const;
    std::vector<PoolLine> pool_lines() const;
    // The first `limit` of a queue.
    std::vector<WaitingLine> waiting_lines(std::string_view queue, std::size_t limit) const;
    std::vector<CounterLine> counter_lines() const;
    // Queues with waiting work, in the order of their turns. A pass over all classes.
    std::vector<QueueTurn> queue_order() const;
    std::size_t waiting_count() const { return tables_.waiting.size(); }

    const SnapshotTables& tables() const { return tables_; }

  private:
    const std::string& text(int name) const;
    std::int64_t waiting_in(int queue) const;
    const QueueCard& queue_at(int position) const { return **tables_.queues.find(position); }
    Wide faded_of(int position) const;
    std::int64_t hardware_of(const QueueCard& queue, int flavor) const;
    QueueLine line_of(const QueueCard& queue, std::size_t flavor_row, QueueLine line) const;
    std::optional<model::Verdict> verdict_of_claim(RowId workload) const;

    SnapshotTables tables_;
};

}  // namespace tandem::sched
