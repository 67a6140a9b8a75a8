// SPDX-License-Identifier: Apache-2.0
// What-if on the wire: {"horizon": "24h", "addNodes": [...], "drain": [...], "priorities": [...],
// "actions": [...]}, all of it optional, actions as in the batch route. Errors: invalid, naming the
// field. Thread rule: pure functions.
#pragma once

#include <string>

#include "base/result.h"
#include "codec/document.h"
#include "model/what_if.h"

namespace tandem::codec {

Result<model::WhatIf> parse_what_if(const Value& document);
std::string render_what_if(const model::WhatIf& question);
std::string render_foresight(const model::Foresight& foresight);

}  // namespace tandem::codec
