// SPDX-License-Identifier: Apache-2.0
// GET /metrics: Prometheus text. Gauges of core's state are measured between two batches, at most
// every few seconds (server/state_meters.h); the text is rendered on the ticker's thread. Names and
// labels: docs/metrics.md.
#pragma once

#include "api/router.h"
#include "api/ticker.h"

namespace tandem::api {

void add_metrics_route(Router& router, const Parts& parts, Ticker& ticker);

}  // namespace tandem::api
