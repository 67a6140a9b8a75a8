// SPDX-License-Identifier: Apache-2.0
// A replay segment that opens in the middle of a server's life begins like a start that nobody notices: the planner is
// built anew from rows, every workload is looked at once, and what the world told lately is carried over. Whoever
// replays the segment does the same from the segment's rows, and so comes to the same states.
#pragma once

#include "core/turn.h"

namespace tandem::core {

model::LiveMemory remember(const State& state);
// Into a state that was just recovered from the segment's rows.
void recall(State& state, const model::LiveMemory& memory);
// The running state at that moment, between two batches: to what recover and recall would make of it.
void begin_anew(State& state);
// The first batch after it, before its inputs.
void look_at_all(Turn& turn);

}  // namespace tandem::core
