// SPDX-License-Identifier: Apache-2.0
// The function at the centre: step(state, input, tick) changes the state, nothing else. A batch is
// open_batch, step for each input, plan_batch, close_batch; all of them pure of clock, threads and I/O.
#pragma once

#include "core/turn.h"

namespace tandem::core {

inline constexpr std::int64_t plan_step_budget = 200'000;

void step(Turn& turn, const model::Input& input);

// Looks at every touched workload and asks the planner until nothing moves any more.
void plan_batch(Turn& turn);

// Numbers the changes, fills the answers' versions, and gathers what has to be made durable.
model::BatchRecord close_batch(Turn& turn, const model::Tick& tick, std::vector<model::Input> inputs,
                               AuditHasher& hasher);

// When core wants to be called again though nothing happened; absent: never.
std::optional<Instant> next_wake(const State& state);

}  // namespace tandem::core
