// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <bit>

#include "base/assert.h"
#include "base/digest.h"

namespace tandem {
namespace {

void quarter_round(std::array<std::uint32_t, 16>& s, int a, int b, int c, int d) {
    const auto mix = [&](int x, int y, int z, int bits) {
        auto& sx = s[static_cast<std::size_t>(x)];
        auto& sz = s[static_cast<std::size_t>(z)];
        sx += s[static_cast<std::size_t>(y)];
        sz = std::rotl(sz ^ sx, bits);
    };
    mix(a, b, d, 16);
    mix(c, d, b, 12);
    mix(a, b, d, 8);
    mix(c, d, b, 7);
}

}  // namespace

Seed seed_from(std::uint64_t number) {
    Seed seed{};
    std::uint64_t state = number;
    for (std::size_t i = 0; i < seed.size(); i += 8) {
        // splitmix64 (S. Vigna): spreads close numbers far apart.
        state += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        z ^= z >> 31;
        for (std::size_t b = 0; b < 8; ++b) seed[i + b] = static_cast<std::uint8_t>(z >> (8 * b));
    }
    return seed;
}

Random::Random(const Seed& seed) {
    for (std::size_t i = 0; i < key_.size(); ++i)
        key_[i] = static_cast<std::uint32_t>(seed[4 * i]) |
                  static_cast<std::uint32_t>(seed[4 * i + 1]) << 8 |
                  static_cast<std::uint32_t>(seed[4 * i + 2]) << 16 |
                  static_cast<std::uint32_t>(seed[4 * i + 3]) << 24;
}

void Random::refill() {
    std::array<std::uint32_t, 16> input{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (std::size_t i = 0; i < 8; ++i) input[4 + i] = key_[i];
    input[12] = static_cast<std::uint32_t>(counter_);
    input[13] = static_cast<std::uint32_t>(counter_ >> 32);
    std::array<std::uint32_t, 16> s = input;
    for (int round = 0; round < 10; ++round) {
        quarter_round(s, 0, 4, 8, 12);
        quarter_round(s, 1, 5, 9, 13);
        quarter_round(s, 2, 6, 10, 14);
        quarter_round(s, 3, 7, 11, 15);
        quarter_round(s, 0, 5, 10, 15);
        quarter_round(s, 1, 6, 11, 12);
        quarter_round(s, 2, 7, 8, 13);
        quarter_round(s, 3, 4, 9, 14);
    }
    for (std::size_t i = 0; i < 16; ++i) block_[i] = s[i] + input[i];
    ++counter_;
    used_ = 0;
}

std::uint64_t Random::draw() {
    if (used_ + 2 > block_.size()) refill();
    const std::uint64_t low = block_[used_];
    const std::uint64_t high = block_[used_ + 1];
    used_ += 2;
    return high << 32 | low;
}

std::uint64_t Random::below(std::uint64_t bound) {
    TANDEM_ASSERT(bound > 0, "below() needs a positive bound");
    // Rejection keeps it exactly uniform.
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t value = draw();
    while (value >= limit) value = draw();
    return value % bound;
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
    TANDEM_ASSERT(low <= high, "between() needs low <= high");
    const std::uint64_t span =
        static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    return low + static_cast<std::int64_t>(below(span));
}

bool Random::chance(std::uint32_t per_mille) {
    return below(1000) < per_mille;
}

Uid Random::draw_uid() {
    Uid uid;
    const std::uint64_t first = draw();
    const std::uint64_t second = draw();
    for (std::size_t i = 0; i < 8; ++i) uid.bytes[i] = static_cast<std::uint8_t>(first >> (8 * i));
    for (std::size_t i = 0; i < 4; ++i)
        uid.bytes[8 + i] = static_cast<std::uint8_t>(second >> (8 * i));
    return uid;
}

Seed Random::draw_seed() {
    Seed seed{};
    for (std::size_t i = 0; i < seed.size(); i += 8) {
        const std::uint64_t bits = draw();
        for (std::size_t b = 0; b < 8; ++b)
            seed[i + b] = static_cast<std::uint8_t>(bits >> (8 * b));
    }
    return seed;
}

Random Random::fork(std::string_view purpose) const {
    Random child = *this;
    Digest digest;
    digest.add(purpose);
    const std::uint64_t tag = digest.value();
    child.key_[0] ^= static_cast<std::uint32_t>(tag);
    child.key_[1] ^= static_cast<std::uint32_t>(tag >> 32);
    child.counter_ = 0;
    child.used_ = child.block_.size();
    return child;
}

}  // namespace tandem
