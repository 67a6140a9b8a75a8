// SPDX-License-Identifier: Apache-2.0
// Labels as one column: each key and value with its length before it ("4:team4:blue"). Any bytes may occur;
// no labels are an empty text, so that most rows spend nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/meta.h"

namespace tandem::store {

std::string render_labels(const model::Labels& labels);
std::optional<model::Labels> parse_labels(std::string_view text);

}  // namespace tandem::store
