// SPDX-License-Identifier: Apache-2.0
// Tasks of before a restore. The restored rows say what was true at the backup; the world has gone
// on since. So the first batch after a restore makes every replica that may be alive `unknown`
// (oldGeneration): it keeps its devices, is charged as held, and waits for an operator:
//
//   adopt   its executor has the task alive: the row takes it over, under the name it was started
//   by end     the task is stopped by that name, and proved gone; the workload goes on by its own
//   rules
//
// A task that ends by itself is believed at once. Errors: conflict, with what is possible instead.
//
// Devices that such a task sits on and that no row of it has (nothing means it, or it was started
// elsewhere after the backup) are marked in their node's row (Device::taken_by): the planner gives
// them to nobody until it is gone.
#pragma once

#include "core/turn.h"

namespace tandem::core {

bool is_doubted(const model::Replica& replica);

// Open intents to start, stop or probe the old tasks are taken back.
void doubt_old_tasks(Turn& turn);
// What an executor has: a doubted row learns the epoch, handle and endpoint of its task that lives.
void recognise_old_task(Turn& turn, const model::ListedTask& listed);

// It is proved gone: its devices are free again.
void forget_stray(Turn& turn, const model::TaskName& task);

// `by`: the operator, for the event.
Status adopt_old_task(Turn& turn, RowId replica, const std::string& by);
Status end_old_task(Turn& turn, RowId replica, const std::string& by);
// A task that no restored row means: its workload was started, or made, after the backup.
Status end_stray(Turn& turn, const model::TaskName& task, const std::string& by);
// Whose row that is, when a task of that name has one.
const model::Replica* find_row_of(const State& state, const model::TaskName& task);

}  // namespace tandem::core
