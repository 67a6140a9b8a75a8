// SPDX-License-Identifier: Apache-2.0
// The OpenAPI 3.1 document, made from the routes themselves and the codec's schemas.
#pragma once

#include <string>

#include "api/router.h"

namespace tandem::api {

std::string render_openapi(const Router& router, const std::string& version);

}  // namespace tandem::api
