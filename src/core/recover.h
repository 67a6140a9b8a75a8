// SPDX-License-Identifier: Apache-2.0
// Start: stored rows become a whole State again: planner and interval book are rebuilt from rows, checked
// against a recount, and every workload is looked at once the executors have listed their tasks.
#pragma once

#include "core/state.h"

namespace tandem::core {

// Error (internal) when rows contradict each other; the server then refuses to start and says what differs.
Status recover_state(State& state, RecoveredState recovered);

// Into an empty planner: nodes, pools, queues, entries, occupants; demands follow as workloads are looked at.
void rebuild_planner(State& state);

}  // namespace tandem::core
