// SPDX-License-Identifier: Apache-2.0
// Watches a running job: heartbeat, output silence, and the maximum run time that its shims also keep.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// How soon a rank's executor has to tell what it did, so that its limits hold to a quarter of them
// or a second, whichever is more: the eighth part of the smallest of them, 100 ms to 5 s. Zero: the
// job has none.
Duration watch_period(const model::JobSpec& spec);

// Ends the attempt when a limit is broken; otherwise sets the time of the next look.
void watch_job(Turn& turn, RowId id);

}  // namespace tandem::core
