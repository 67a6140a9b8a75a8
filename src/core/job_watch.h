// SPDX-License-Identifier: Apache-2.0
// Watches a running job: heartbeat, output silence, and the maximum run time that its shims also keep.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// Ends the attempt when a limit is broken; otherwise sets the time of the next look.
void watch_job(Turn& turn, RowId id);

}  // namespace tandem::core
