// SPDX-License-Identifier: Apache-2.0
// The end of an output as one line that can be told with a reason: its last lines, joined by " | ",
// without control characters, valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem::executor {

inline constexpr std::size_t last_lines_count = 4;

// At most `max` bytes; of a longer last line its end, after "...".
std::string last_lines(std::string_view output, std::size_t max);

}  // namespace tandem::executor
