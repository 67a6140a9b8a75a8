// SPDX-License-Identifier: Apache-2.0
// Tasks of before a restore. The restored rows say what was true at the backup; the world has gone on since. So the
// first batch after a restore makes every replica that may be alive `unknown` (oldGeneration): it keeps its devices,
// is charged as held, and waits for an operator:
//
//   adopt   its executor has the task alive: the row takes it over, under the name it was started by
//   end     the task is stopped by that name, and proved gone; the workload goes on by its own rules
//
// A task that ends by itself is believed at once. Errors: conflict, with what is possible instead.
#pragma once

#include "core/turn.h"

namespace tandem::core {

bool is_doubted(const model::Replica& replica);

// Open intents to start, stop or probe the old tasks are taken back.
void doubt_old_tasks(Turn& turn);
// What an executor has: a doubted row learns the epoch, handle and endpoint of its task that lives.
void recognise_old_task(Turn& turn, const model::ListedTask& listed);

Status adopt_old_task(Turn& turn, RowId replica);
Status end_old_task(Turn& turn, RowId replica);
// A task that no restored row means: its workload was started, or made, after the backup.
Status end_stray(Turn& turn, const model::TaskName& task);

}  // namespace tandem::core
