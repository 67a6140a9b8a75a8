// SPDX-License-Identifier: Apache-2.0
// Output of tasks as plain text: the current or last epoch of one replica of a job or service. With
// follow=true the answer goes on until the task has ended. `offset` resumes where a reader was; the
// header X-Log-Offset tells where the answer begins (the ring may have lost what came before),
// X-Log-Epoch which epoch it is.
#pragma once

#include "api/call.h"
#include "api/parameters.h"
#include "api/ticker.h"

namespace tandem::api {

Parameters log_parameters();
void logs(const Parts& parts, Ticker& ticker, Call call, model::Kind kind);

}  // namespace tandem::api
