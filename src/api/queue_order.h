// SPDX-License-Identifier: Apache-2.0
// Views for who runs the cluster: who waits in a queue, in its order and by which numbers; how much
// of licenses and of limits is used.
#pragma once

#include "api/router.h"

namespace tandem::api {

void add_queue_order_routes(Router& router, const Parts& parts);

}  // namespace tandem::api
