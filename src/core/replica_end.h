// SPDX-License-Identifier: Apache-2.0
// How replicas of services end unasked: the reason that is told, what is kept of one when its row
// goes, and what a gateway is told while none can be had.
#pragma once

#include <string>

#include "core/turn.h"

namespace tandem::core {

// Of a model server whose process ended; `last_output` as its executor told it, may be empty.
model::Reason reason_of_end(const model::Replica& replica, const model::TaskExit& exit,
                            const std::string& last_output);

// Its start, or what it served, came to nothing: the next try waits, longer each time; the event
// and the newest failure, by which its output is found, are kept with the service.
void keep_failure(Turn& turn, RowId service, const model::Replica& replica, model::Reason reason);

// Replicas whose process is proved gone leave.
void bury_gone(Turn& turn, RowId service);

// Why a call need not wait: replicas are wanted, none is ready, and the last start came to nothing;
// or there is nothing to start. Code none: a call may wait for one. Without the words of its
// process, which are its owner's.
model::Reason trouble_of(const State& state, const model::Service& service);

}  // namespace tandem::core
