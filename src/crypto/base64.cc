// SPDX-License-Identifier: Apache-2.0
#include "crypto/base64.h"

namespace tandem::crypto {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '-') return 62;
    if (c == '_') return 63;
    return -1;
}

}  // namespace

std::string render_base64url(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t held = 0;
    int bits = 0;
    for (std::uint8_t byte : bytes) {
        held = (held << 8 | byte) & 0xffff;  // at most 4 bits of before and 8 new ones are live
        for (bits += 8; bits >= 6; bits -= 6) text.push_back(alphabet[held >> (bits - 6) & 63]);
    }
    if (bits > 0) text.push_back(alphabet[held << (6 - bits) & 63]);
    return text;
}

std::string render_base64url(std::string_view bytes) {
    return render_base64url(
        std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

std::optional<std::string> parse_base64url(std::string_view text) {
    if (text.size() % 4 == 1) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t held = 0;
    int bits = 0;
    for (char c : text) {
        const int value = value_of(c);
        if (value < 0) return std::nullopt;
        held = (held << 6 | static_cast<std::uint32_t>(value)) & 0xffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes.push_back(static_cast<char>(held >> bits & 0xff));
        }
    }
    if ((held & ((1u << bits) - 1)) != 0) return std::nullopt;
    return bytes;
}

}  // namespace tandem::crypto
