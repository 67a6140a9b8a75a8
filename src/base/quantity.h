// SPDX-License-Identifier: Apache-2.0
// Quantities: decimal text to exact integers, checked; no floating point anywhere.
//   milli-units   "0.5" -> 500, "2" -> 2000, "250m" -> 250      (devices, CPU)
//   bytes         "512", "4Ki", "1.5Gi", "10M"                   (memory, files)
//   micro-money   "1.25" -> 1250000
// Errors say what would be right; the caller adds the field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tandem {

inline constexpr std::int64_t quantity_max = std::int64_t{1} << 53;  // exact in every JSON reader

Result<std::int64_t> parse_milli(std::string_view text);
Result<std::int64_t> parse_bytes(std::string_view text);
Result<std::int64_t> parse_micro(std::string_view text);
Result<std::int64_t> parse_integer(std::string_view text);  // optional '-', digits only

std::string render_milli(std::int64_t milli);   // "0.5", "2"
std::string render_bytes(std::int64_t bytes);   // "4Gi" when exact, else digits
std::string render_micro(std::int64_t micro);

// Sum and product that say "overflow" instead of wrapping.
Result<std::int64_t> checked_add(std::int64_t a, std::int64_t b);
Result<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b);

}  // namespace tandem
