// SPDX-License-Identifier: Apache-2.0
// What executors and probes report. Facts are recorded on the replica they are about, when its epoch is the
// current one; anything else is a leftover and is told to stop.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// At the end of a batch: what came to run in it, and still runs, is charged so from now on. Who reads the history sees
// one state a batch, and the ledger must know no other.
void charge_running(Turn& turn);
void on_task_started(Turn& turn, const model::TaskStarted& input);
void on_task_exited(Turn& turn, const model::TaskExited& input);
void on_task_gone(Turn& turn, const model::TaskGone& input);
void on_task_progress(Turn& turn, const model::TaskProgress& input);
void on_checkpoint_seen(Turn& turn, const model::CheckpointSeen& input);
void on_output_stored(Turn& turn, const model::OutputStored& input);
void on_replica_probed(Turn& turn, const model::ReplicaProbed& input);
// Three-way comparison of intents, rows and world after a start or a reconnect.
void on_tasks_listed(Turn& turn, const model::TasksListed& input);

}  // namespace tandem::core
