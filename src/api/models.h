// SPDX-License-Identifier: Apache-2.0
// Uploads of blobs, and versions of models made of them.
#pragma once

#include "api/router.h"
#include "api/weights_gate.h"

namespace tandem::api {

void add_model_routes(Router& router, const Parts& parts, WeightsGate& weights);

}  // namespace tandem::api
