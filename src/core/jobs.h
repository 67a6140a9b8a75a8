// SPDX-License-Identifier: Apache-2.0
// Jobs. reconcile_job looks at one job's rows and does the next thing that they ask for; it is idempotent and
// may be called at any time. What happened is recorded by tasks.cc, what was wished by commands.cc.
//
//   pending --plan--> claimed --all claims free--> starting --all ranks up--> running
//   any rank bad, all done, cancelled, evicted, too long, silent --> stopping --all gone--> next attempt or end
#pragma once

#include "core/turn.h"

namespace tandem::core {

void reconcile_job(Turn& turn, RowId id);

// Since when it stands in its queue; decides its place among equals.
Instant queued_at(const model::Job& job);

// The planner placed it; victims, if any, are told by the caller.
void claim_job(Turn& turn, const sched::Placement& placement);
// Its capacity is wanted by `by`: stop with grace, requeue.
void evict_job(Turn& turn, RowId id, model::Reason why);
// Running work leaves, what was only promised is given back; both wait again.
void drain_job(Turn& turn, RowId id, const std::string& queue);
// As the planner knows work that runs.
sched::Occupant occupant_of(const State& state, const model::Job& job);
// And work that waits.
sched::Demand demand_of(const State& state, const model::Job& job);
// Ends the current attempt; live ranks are stopped, what follows depends on `ending`.
void begin_ending(Turn& turn, RowId id, model::Ending ending, model::Reason reason);
// Terminal, capacity already free.
void finish_job(Turn& turn, RowId id, model::Phase phase, model::Reason reason);
// A finished job is pending again.
void requeue_job(Turn& turn, RowId id, model::Reason reason);

model::TaskName task_name(const State& state, const model::Replica& replica);
// The process tree of its current epoch is proved gone; and: it ended with exit code 0.
bool is_gone(const model::Replica& replica);
bool exited_well(const model::Replica& replica);
std::vector<RowId> replicas_of(const State& state, RowId owner);  // by row id

}  // namespace tandem::core
