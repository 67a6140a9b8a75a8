// SPDX-License-Identifier: Apache-2.0
// A record of the journal's segments: u32 length, u32 CRC-32 of the text, text; both numbers
// little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::gateway {

inline constexpr std::size_t record_head = 8;
inline constexpr std::uint32_t record_max = 64 * 1024;

// The text is appended between the two; begin gives where the record begins.
std::size_t begin_record(std::string& out);
void end_record(std::string& out, std::size_t begin);

std::uint32_t record_size(std::string_view records);  // of the first one's text, unchecked
// The text of the record at the start; absent when torn or damaged.
std::optional<std::string_view> take_record(std::string_view records);

}  // namespace tandem::gateway
