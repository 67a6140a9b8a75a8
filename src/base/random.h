// SPDX-License-Identifier: Apache-2.0
// Random: a ChaCha20 key stream (RFC 8439) over a 256-bit seed. Same seed, same numbers, on every compiler.
// One draw per statement: the order of two draws inside one expression is unspecified in C++.
// Thread rule: one owner.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"

namespace tandem {

using Seed = std::array<std::uint8_t, 32>;

// A seed for tests and the simulator, spread from one number.
Seed seed_from(std::uint64_t number);

class Random {
  public:
    explicit Random(const Seed& seed);

    std::uint64_t draw();                          // 64 uniform bits
    std::uint64_t below(std::uint64_t bound);      // uniform in [0, bound); bound > 0
    std::int64_t between(std::int64_t low, std::int64_t high);  // inclusive
    bool chance(std::uint32_t per_mille);          // true with probability per_mille/1000
    Uid draw_uid();
    Seed draw_seed();
    // An independent stream for one purpose, so that a new draw elsewhere shifts nothing here.
    Random fork(std::string_view purpose) const;

  private:
    void refill();
    std::array<std::uint32_t, 8> key_{};
    std::uint64_t counter_ = 0;
    std::array<std::uint32_t, 16> block_{};
    std::size_t used_ = 16;
};

}  // namespace tandem
