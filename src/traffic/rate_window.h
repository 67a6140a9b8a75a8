// SPDX-License-Identifier: Apache-2.0
// RateWindow: counts admissions of the last minute, one counter a second. PURE, integers.
// Promise: in any window of 60 s no more is admitted than the limit that held in it. (A token bucket of that size
// would let twice as much through in some windows.) The price: a counter leaves only when all of its second is
// older than a minute, so up to one second's admissions count a little longer.
// Thread rule: one owner.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace tandem::traffic {

class RateWindow {
  public:
    bool admit(Instant now, std::int64_t limit);
    // As if `count` had been admitted right now; for a holder that does not know what it spent before it started.
    void assume_spent(Instant now, std::int64_t count);
    void give_back(Instant admitted_at);  // an admission that came to nothing
    std::int64_t spent(Instant now);
    // How long until one more could be admitted; zero when it could be now.
    Duration wait(Instant now, std::int64_t limit);

  private:
    static constexpr std::size_t width = 61;
    void turn(Instant now);

    std::array<std::int32_t, width> counts_{};
    std::int64_t second_ = 0;   // the newest counter's
    std::int64_t total_ = 0;
};

}  // namespace tandem::traffic
