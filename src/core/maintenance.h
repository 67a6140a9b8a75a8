// SPDX-License-Identifier: Apache-2.0
// Maintenance: nodes that are to be empty for a window of time. Until it begins, work goes there
// only if it ends before, as it states itself, or may be asked to leave; that is asked early enough
// to be gone by then. What may not be asked stays, and the row names it. From the start to the end
// nothing is placed there; then the nodes come back by themselves and the row goes.
#pragma once

#include "core/turn.h"

namespace tandem::core {

void maintenance_made(Turn& turn, RowId id);
void maintenance_going(Turn& turn, const model::Maintenance& maintenance);
// Opens and closes those whose time has come, and asks work to leave.
void move_maintenance(Turn& turn);
std::optional<Instant> next_maintenance(const State& state);
// To the planner, from its row: while a maintenance prepares or is open it takes nothing new.
void put_node(State& state, const model::Node& node);
// A node's status is about to be replaced by a report: what is known of its maintenance stays.
void keep_closing(const State& state, const std::string& node, model::NodeStatus& status);

}  // namespace tandem::core
