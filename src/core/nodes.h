// SPDX-License-Identifier: Apache-2.0
// Machines and pools: what executors report of nodes, who owns each device, and devices that reserved pools keep.
#pragma once

#include "core/turn.h"

namespace tandem::core {

void on_node_reported(Turn& turn, const model::NodeReported& input);
// An event of the machine that the server is on: the oldest node.
void on_clock_jumped(Turn& turn, const model::ClockJumped& input);

// Devices of the node that tasks of before a restore sit on without a row (core/old_tasks.h): its
// row and the planner follow what is known of such tasks now.
void mark_taken(Turn& turn, const std::string& node);

// Devices that the planner found for a reserved pool are its own from now on.
void fill_pool(Turn& turn, const sched::PoolFilled& filled);
// A pool was made, changed or is about to be deleted: give back what it no longer keeps.
void pool_changed(Turn& turn, RowId id);
void pool_going(Turn& turn, const model::Pool& pool);

// The devices that a reserved pool keeps, as entries of the planner.
void put_holds(State& state, const model::Pool& pool);

// Attributes every idle device to the pool that owns it now.
void settle_owners(State& state, Instant now);

}  // namespace tandem::core
