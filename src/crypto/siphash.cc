// SPDX-License-Identifier: Apache-2.0
#include "crypto/siphash.h"

#include <bit>
#include <cstring>

namespace tandem::crypto {
namespace {

static_assert(std::endian::native == std::endian::little);

struct State {
    std::uint64_t v0, v1, v2, v3;
    void round() {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
    }
    void take(std::uint64_t word) {
        v3 ^= word;
        round();
        round();
        v0 ^= word;
    }
    std::uint64_t finish() {
        for (int i = 0; i < 4; ++i) round();
        return v0 ^ v1 ^ v2 ^ v3;
    }
};

}  // namespace

SipTag siphash128(const SipKey& key, std::string_view text) {
    State state{key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL ^ 0xee,
                key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL};
    std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56;
    while (text.size() >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data(), 8);
        state.take(word);
        text.remove_prefix(8);
    }
    for (std::size_t i = 0; i < text.size(); ++i)
        last |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(text[i])) << (8 * i);
    state.take(last);
    state.v2 ^= 0xee;
    const auto low = state.finish();
    state.v1 ^= 0xdd;
    return {low, state.finish()};
}

}  // namespace tandem::crypto
