// SPDX-License-Identifier: Apache-2.0
// Elastic jobs: they start with the least members, all or nothing, together with as many more as
// nobody else wants; take more in idle moments, and give those first when others need room.
//
// A member that leaves gets TERM and its grace. Live jobs run on meanwhile, and who joins starts
// beside the others; of those that restart to change their size all ranks stop, and start again
// from the checkpoint in a new epoch, while what they keep stays theirs.
//
// Growth doesn't flap: it waits `growAfter` since the last change, twice as long for each time that
// the job had to give members less than an hour after a change before, 64 times at most. Who
// restarts waits at least ten times its restart time, and takes no more without checkpoints.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// Its capacity is free for it. True: it waits in this batch until the planner was asked for more.
bool asks_for_more(Turn& turn, const model::Job& job);
// Those that wait so are looked at again; true: there were some.
bool let_growing_start(Turn& turn);
// The planner found room for more of a job's members.
void grow_job(Turn& turn, const sched::Placement& placement);
// Somebody needs the place of this member of a job. Reason: gave_surplus, by whom and what is at
// risk.
void evict_member(Turn& turn, RowId replica, model::Reason why);
// Of a job that runs: members that have left go, those that join start.
void tend_members(Turn& turn, RowId job);
// Whether it wishes for more, and when it will.
void wish_for_more(Turn& turn, RowId job);
// All its ranks have stopped to be started again; `safe_at`: until when their work is kept.
void resume_resized(Turn& turn, RowId job, const std::optional<Instant>& safe_at);

}  // namespace tandem::core
