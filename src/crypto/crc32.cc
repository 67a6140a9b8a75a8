// SPDX-License-Identifier: Apache-2.0
#include "crypto/crc32.h"

#include <array>

namespace tandem::crypto {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t rest = i;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xEDB88320u : 0u);
        table[i] = rest;
    }
    return table;
}
constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
    std::uint32_t rest = ~before;
    for (char c : bytes) rest = table[(rest ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (rest >> 8);
    return ~rest;
}

}  // namespace tandem::crypto
