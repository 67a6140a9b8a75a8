// SPDX-License-Identifier: Apache-2.0
// The same five verbs for every kind: list (and watch), create, get, apply, delete; and the batch
// route.
#pragma once

#include "api/router.h"
#include "api/ticker.h"
#include "api/weights_gate.h"

namespace tandem::api {

// {"apiVersion", "kind": "JobList", "metadata", "items"}
std::string render_list(model::Kind kind, const core::ListPage& page);

void add_resource_routes(Router& router, const Parts& parts, Ticker& ticker,
                         const WeightsGate& weights);

// "/api/v1/projects/{project}/namespaces/{namespace}/jobs"
std::string collection_path(model::Kind kind);
model::ObjectKey key_of_path(const Call& call, model::Kind kind);

}  // namespace tandem::api
