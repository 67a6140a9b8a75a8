// SPDX-License-Identifier: Apache-2.0
// What a pending job waits for of other jobs (spec.after). Names are those of its own project and
// namespace. What was met once stays met, also when the other job goes or starts again.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// Every job named exists. So there are no circles: what a job waits for is fixed when it is made,
// and when a job ends or goes, all that waited for it is decided.
Status check_dependencies(const State& state, const model::Job& wanted);

struct Waiting {
    bool never = false;       // one of them can't be met any more
    model::Reason reason{};   // code none: nothing to wait for
};
// Notes in the job's row what is met by now.
Waiting look_at_dependencies(Turn& turn, RowId id);

// The job started or is over: those that wait for it are looked at again.
void tell_dependents(Turn& turn, const model::Job& job);

}  // namespace tandem::core
