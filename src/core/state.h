// SPDX-License-Identifier: Apache-2.0
// State: all that core knows. Rows (tables, intents, idempotency, cursors, counters) are durable; planner and
// interval book are kept in step with them and can be rebuilt; `Live` is what the world told lately and may be
// forgotten by a restart. Only the driver's thread touches it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/effects.h"
#include "core/ports.h"
#include "core/tables.h"
#include "ledger/interval_book.h"
#include "sched/planner.h"
#include "serving/scale.h"
#include "traffic/lease_authority.h"

namespace tandem::core {

using IdempotencyKey = std::pair<std::string, std::string>;  // subject, key
using CursorKey = std::pair<std::string, std::int64_t>;      // gateway, journal epoch

// Open intents of a task, for closing them when the world answers.
class IntentIndex {
  public:
    void added(const model::Intent& intent) { by_task_[model::task_of(intent)].insert(intent.id); }
    void removed(const model::Intent& intent) {
        const auto it = by_task_.find(model::task_of(intent));
        it->second.erase(intent.id);
        if (it->second.empty()) by_task_.erase(it);
    }
    std::set<RowId> of(const model::TaskName& task) const {
        const auto it = by_task_.find(task);
        return it == by_task_.end() ? std::set<RowId>{} : it->second;
    }

  private:
    std::map<model::TaskName, std::set<RowId>> by_task_;
};

struct TaskLife {                 // last words of a live task
    std::int64_t step = -1;
    std::optional<Instant> beat{};
    Instant output{};
};

// Wake-up times by time; told of each that comes and goes.
struct Wake {
    RowId workload{};
    Instant at{};
};
class WakeOrder {
  public:
    void added(const Wake& wake) { order_.insert({wake.at, wake.workload}); }
    void removed(const Wake& wake) { order_.erase({wake.at, wake.workload}); }
    const std::set<std::pair<Instant, RowId>>& all() const { return order_; }

  private:
    std::set<std::pair<Instant, RowId>> order_;
};

// Whose unfinished jobs are counted together.
struct Submitter {
    std::string project{};
    std::string subject{};
    std::string queue{};
    auto operator<=>(const Submitter&) const = default;
};

struct Denials {
    Instant since{};
    std::int64_t count = 0;
};

// Undone with a batch like rows are, so that a batch which met a full store leaves no trace.
struct Live {
    bool recovering = false;                       // no admission until executors have listed
    bool look_at_all = false;                      // a segment opened: the next batch looks at every workload
    bool more_news = false;                        // rows whose reason is still to follow the planner's
    UndoMap<model::TaskName, TaskLife> tasks;
    // Tasks of before a restore that live and that no row means, or that sit on devices which no
    // row of theirs has.
    UndoMap<model::TaskName, model::LiveStray> strays;
    UndoMap<std::pair<Uid, std::string>, model::ServiceLoad> loads;  // by service and gateway
    UndoMap<RowId, Instant> last_request;          // by service
    UndoMap<std::string, Denials> denials;         // by subject
    UndoMap<RowId, bool> claimed;                  // jobs and services with claims not yet free
    UndoMap<RowId, std::set<RowId>> dependents;    // pending jobs by the job they wait for
    UndoMap<Submitter, std::int64_t> submitted;    // jobs that are not over
    UndoMap<RowId, serving::ScaleMemory> scale;    // by service
    UndoMap<RowId, Wake, WakeOrder> wake;          // next look at a workload
    std::set<RowId> jobs_touched{};                // to be reconciled before the batch ends; empty between two
    std::set<RowId> services_touched{};

    template <class F>
    void each_map(F&& f) {
        f(tasks);
        f(strays);
        f(loads);
        f(last_request);
        f(denials);
        f(claimed);
        f(dependents);
        f(submitted);
        f(scale);
        f(wake);
    }
};
inline constexpr std::size_t live_map_count = 10;

// Where a batch, or one command of it, began.
struct StateMark {
    std::array<std::size_t, model::kind_count> tables{};
    std::size_t intents = 0, idempotency = 0, cursors = 0, planner = 0, book = 0;
    std::size_t answers = 0, events = 0, audit = 0, requests = 0, grants = 0, acknowledgements = 0;
    std::array<std::size_t, live_map_count> live{};
    bool recovering = false;
    bool look_at_all = false;
    model::CoreMeta meta{};
};

class State {
  public:
    State();
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    template <class T>
    Table<T>& table() { return std::get<Table<T>>(tables_); }
    template <class T>
    const Table<T>& table() const { return std::get<Table<T>>(tables_); }

    // Calls f(table) for each kind's table, in the order of Kind.
    template <class F>
    void each_table(F&& f) {
        std::apply([&](auto&... one) { (f(one), ...); }, tables_);
    }
    template <class F>
    void each_table(F&& f) const {
        std::apply([&](const auto&... one) { (f(one), ...); }, tables_);
    }

    model::CoreMeta meta{};
    UndoMap<RowId, model::Intent, IntentIndex> intents;
    UndoMap<IdempotencyKey, model::IdempotencyRow> idempotency;
    UndoMap<CursorKey, model::GatewayCursor> cursors;
    sched::Planner planner;
    ledger::IntervalBook book;
    traffic::LeaseAuthority leases;
    Effects effects;
    Live live;

    RowId next_id() { return RowId{meta.next_id++}; }

    StateMark mark();
    // What is still to be reconciled stays: other inputs of the batch touched it, and a look too many is harmless.
    void rollback(const StateMark& mark);
    void forget_touched();  // with the whole batch undone
    void forget();  // the batch is durable

    // Fills tables and counters from stored rows; planner, book and touched sets follow (core/recover.h).
    void restore_rows(RecoveredState& recovered);  // takes its rows

    // Fingerprint of all durable rows, planner and book; equal states give equal digests.
    std::uint64_t digest() const;

  private:
    Tables tables_;
};

}  // namespace tandem::core
