// SPDX-License-Identifier: Apache-2.0
// How an attempt of a job ends: its ranks are stopped, and once all are proved gone its capacity is
// released, what it lost is booked, and the job is done, waits to be tried again, or is queued.
// begin_ending, finish_job and requeue_job stand in jobs.h.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// A stopping job: closes the attempt when its last process is gone.
void reconcile_ending(Turn& turn, const model::Job& job);

}  // namespace tandem::core
