// SPDX-License-Identifier: Apache-2.0
// Members of a job: the replicas of its gang, and of an elastic job those beyond what it needs,
// which may join and leave while it runs. One that left is no row any more; ranks are not used
// twice in an attempt.
#pragma once

#include <string>
#include <vector>

#include "core/turn.h"

namespace tandem::core {

const model::JobRole& role_of(const model::Job& job, const std::string& name);
// A placed rank becomes a row whose capacity is its own, or on its way to it.
void claim_member(Turn& turn, const model::Job& job, const sched::PlacedReplica& placed,
                  const sched::Placement& placement, bool surplus);
// Its task is told to start, in the job's current epoch.
void start_member(Turn& turn, const model::Job& job, RowId replica);
// Those that hold capacity and are not on their way out, by rank.
std::vector<RowId> members_of(const State& state, RowId job);
// Its row goes, with what it held.
void dismiss(Turn& turn, RowId replica, const std::optional<Instant>& safe_at);
// As the planner knows one that the job could do without.
sched::Occupant occupant_of_member(const State& state, const model::Job& job,
                                   const model::Replica& replica);
// What one more of this size counts in; with the limits of work that waits.
std::vector<sched::Permit> permits_of_member(const State& state, const model::Job& job,
                                             std::int64_t devices);

}  // namespace tandem::core
