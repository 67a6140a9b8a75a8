// SPDX-License-Identifier: Apache-2.0
// What has happened: events of objects, audit rows, usage reports and explanations.
#pragma once

#include "api/router.h"

namespace tandem::api {

void add_history_routes(Router& router, const Parts& parts);

}  // namespace tandem::api
