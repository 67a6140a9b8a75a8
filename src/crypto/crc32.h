// SPDX-License-Identifier: Apache-2.0
// CRC-32 (IEEE 802.3, reflected, polynomial 0xEDB88320): finds typing errors and torn records. No protection
// against intent.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem::crypto {

// `before`: the result over the bytes that come before these, 0 at the start.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace tandem::crypto
