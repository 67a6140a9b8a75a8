// SPDX-License-Identifier: Apache-2.0
// The member that the batch route takes an action by: "apply", "delete", "cancel", ... (see
// codec/manifest.h, parse_batch). Thread rule: pure function.
#pragma once

#include <string_view>

#include "model/command.h"

namespace tandem::codec {

std::string_view verb_of(const model::Action& action);

}  // namespace tandem::codec
