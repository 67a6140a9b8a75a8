// SPDX-License-Identifier: Apache-2.0
// What a restore has left to an operator: listing, adopting and ending the tasks of before it.
#pragma once

#include "api/router.h"

namespace tandem::api {

void add_old_task_routes(Router& router, const Parts& parts);

}  // namespace tandem::api
