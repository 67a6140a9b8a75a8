// SPDX-License-Identifier: Apache-2.0
// The gateways' door: one stream of snapshot and deltas, and posts of load, lease requests and
// usage. Only over the server's unix socket (mode 0600).
#pragma once

#include "api/router.h"
#include "api/ticker.h"

namespace tandem::api {

void add_gateway_routes(Router& router, const Parts& parts, Ticker& ticker);

}  // namespace tandem::api
