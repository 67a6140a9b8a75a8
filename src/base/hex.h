// SPDX-License-Identifier: Apache-2.0
// Lower-case hexadecimal text of bytes, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

std::string render_hex(std::span<const std::uint8_t> bytes);
// Absent unless `text` has an even number of lower-case hex digits and nothing else.
std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text);

}  // namespace tandem
