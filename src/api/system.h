// SPDX-License-Identifier: Apache-2.0
// About the server itself: health, version, who am I, metrics, limits, backup and restore, history, OpenAPI.
#pragma once

#include "api/errands.h"
#include "api/router.h"

namespace tandem::api {

void add_system_routes(Router& router, const Parts& parts, Errands& errands);

}  // namespace tandem::api
