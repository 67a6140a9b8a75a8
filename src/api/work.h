// SPDX-License-Identifier: Apache-2.0
// What is asked of work beyond the five verbs: cancel, retry, why, logs; queue and pool views.
#pragma once

#include "api/foresight.h"
#include "api/router.h"
#include "api/ticker.h"

namespace tandem::api {

void add_work_routes(Router& router, const Parts& parts, Ticker& ticker, StartTimes& start_times);

}  // namespace tandem::api
