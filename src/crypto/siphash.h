// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 with 128 bits out (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012): a MAC for short texts that costs
// a tenth of SHA-256. For tables in memory whose key is drawn at the start and never leaves it; nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tandem::crypto {

using SipKey = std::array<std::uint64_t, 2>;
using SipTag = std::array<std::uint64_t, 2>;  // both as little-endian numbers

SipTag siphash128(const SipKey& key, std::string_view text);

}  // namespace tandem::crypto
