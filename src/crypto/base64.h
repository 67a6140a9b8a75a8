// SPDX-License-Identifier: Apache-2.0
// base64url without padding (RFC 4648, 5), for keys and opaque tokens. Not in constant time: decode no secret
// that is compared afterwards; keys are compared by digest of their text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tandem::crypto {

std::string render_base64url(std::span<const std::uint8_t> bytes);
std::string render_base64url(std::string_view bytes);
// Absent unless `text` is the one canonical form: no padding, unused bits zero.
std::optional<std::string> parse_base64url(std::string_view text);

}  // namespace tandem::crypto
