// SPDX-License-Identifier: Apache-2.0
#include "crypto/crc32.h"

#include <array>

namespace tandem::crypto {
namespace {

// Slicing by 8: table k moves a byte over k further bytes, so that eight are taken with eight
// look-ups and no chain between them.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t rest = i;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xEDB88320u : 0u);
        tables[0][i] = rest;
    }
    for (std::size_t k = 1; k < tables.size(); ++k)
        for (std::size_t i = 0; i < 256; ++i)
            tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
    return tables;
}
constexpr Tables tables = make_tables();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint8_t>(bytes[at]);
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
    std::uint32_t rest = ~before;
    while (bytes.size() >= 8) {
        rest ^= byte_at(bytes, 0) | byte_at(bytes, 1) << 8 | byte_at(bytes, 2) << 16 |
                byte_at(bytes, 3) << 24;
        rest = tables[7][rest & 0xff] ^ tables[6][(rest >> 8) & 0xff] ^
               tables[5][(rest >> 16) & 0xff] ^ tables[4][rest >> 24] ^
               tables[3][byte_at(bytes, 4)] ^ tables[2][byte_at(bytes, 5)] ^
               tables[1][byte_at(bytes, 6)] ^ tables[0][byte_at(bytes, 7)];
        bytes.remove_prefix(8);
    }
    for (char c : bytes)
        rest = tables[0][(rest ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (rest >> 8);
    return ~rest;
}

}  // namespace tandem::crypto
