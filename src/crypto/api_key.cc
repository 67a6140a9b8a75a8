// SPDX-License-Identifier: Apache-2.0
#include "crypto/api_key.h"

#include <algorithm>
#include <array>

#include "crypto/base64.h"
#include "crypto/crc32.h"
#include "crypto/random_bytes.h"
#include "crypto/sha256.h"

namespace tandem::crypto {
namespace {

constexpr std::string_view prefix = "td_";
constexpr std::size_t id_length = 12;
constexpr std::size_t secret_length = 43;
constexpr std::size_t check_length = 6;
constexpr std::string_view id_alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

std::string check_of(std::string_view text) {
    const std::uint32_t crc = crc32(text);
    const std::array<std::uint8_t, 4> bytes{
        static_cast<std::uint8_t>(crc >> 24), static_cast<std::uint8_t>(crc >> 16),
        static_cast<std::uint8_t>(crc >> 8), static_cast<std::uint8_t>(crc)};
    return render_base64url(std::span<const std::uint8_t>(bytes));
}

std::string draw_id() {
    std::string id;
    while (id.size() < id_length) {
        std::array<std::uint8_t, 32> bytes;
        fill_random(bytes);
        for (std::uint8_t byte : bytes) {
            // 252 is the largest multiple of 36 in a byte: taking the rest away keeps it uniform.
            if (byte < 252 && id.size() < id_length)
                id.push_back(id_alphabet[byte % id_alphabet.size()]);
        }
    }
    return id;
}

}  // namespace

NewApiKey make_api_key() {
    NewApiKey key;
    key.key_id = draw_id();
    std::string text;
    text.reserve(api_key_length);  // never moved while it grows: no copy of the secret stays behind
    text.append(prefix).append(key.key_id).append("_").append(draw_token());
    text.append(check_of(text));
    key.digest = sha256_hex(text);
    key.text = Secret(std::move(text));
    return key;
}

Result<ApiKeyProof> parse_api_key(std::string_view text) {
    const auto refuse = [](std::string message) {
        return fail(ErrorCode::unauthenticated, std::move(message));
    };
    if (!text.starts_with(prefix)) return refuse("an API key starts with \"td_\"");
    if (text.size() != api_key_length)
        return refuse("an API key has " + std::to_string(api_key_length) +
                      " characters, this has " + std::to_string(text.size()) + ": a part of it is missing, or too much");
    const std::string_view id = text.substr(prefix.size(), id_length);
    const bool id_valid = std::ranges::all_of(id, [](char c) { return id_alphabet.contains(c); });
    const std::string_view secret = text.substr(prefix.size() + id_length + 1, secret_length);
    if (!id_valid || text[prefix.size() + id_length] != '_' || !parse_base64url(secret))
        return refuse("an API key has the form td_<12 of a-z0-9>_<49 letters, digits, '-' or '_'>");
    const std::string_view body = text.substr(0, api_key_length - check_length);
    if (check_of(body) != text.substr(body.size()))
        return refuse("the API key is mistyped: its check does not fit");
    return ApiKeyProof{.key_id = std::string(id), .digest = sha256_hex(text)};
}

}  // namespace tandem::crypto
