// SPDX-License-Identifier: Apache-2.0
// Use that fades: what a queue used counts the less the longer ago it was, by half in each
// half-life.
//   U(t + d) = U(t) * 2^(-d/H) + use * H/ln 2 * (1 - 2^(-d/H))
// Amounts are milli-device-milliseconds with 32 binary places, in 128 bits; the factor has 64
// binary places and is built from square roots of 2 in integers, so that every machine computes the
// same and a millisecond of one device still counts under a half-life of a year. Inside of sched
// only.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "base/wide.h"

namespace tandem::sched {

// 2^(-passed/half_life) x 2^64; `passed` within one half-life of zero never gives 0.
std::uint64_t fade_factor(Duration passed, Duration half_life);

struct Use {
    Wide amount = 0;  // at the time beside it
    Instant at{};
    std::int64_t milli = 0;  // in use since then
    bool operator==(const Use&) const = default;
};
// The same use as seen at `now`, which is not before use.at.
Use faded(const Use& use, Instant now, Duration half_life);

std::string render_amount(Wide amount);      // decimal
Wide parse_amount(const std::string& text);  // 0 for what render_amount did not make

}  // namespace tandem::sched
