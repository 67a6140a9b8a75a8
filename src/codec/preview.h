// SPDX-License-Identifier: Apache-2.0
// What a preview found, as JSON for its caller: {starts, nodes, evictions, reason}.
#pragma once

#include <string>

#include "model/verdict.h"

namespace tandem::codec {

std::string render_preview(const model::Preview& preview);

}  // namespace tandem::codec
