// SPDX-License-Identifier: Apache-2.0
// Making API keys: the server draws the secret, shows it once in the answer, and keeps only its
// digest.
#pragma once

#include "api/router.h"

namespace tandem::api {

void add_key_routes(Router& router, const Parts& parts);

}  // namespace tandem::api
