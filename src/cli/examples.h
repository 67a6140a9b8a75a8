// SPDX-License-Identifier: Apache-2.0
// Examples: what the help of a verb ends with. Each is a line that can be typed.
#pragma once

#include <string>
#include <string_view>

namespace tandem::cli {

// "Examples:\n  tandem get jobs\n..."; empty for a verb without any.
std::string examples_of(std::string_view verb);

}  // namespace tandem::cli
