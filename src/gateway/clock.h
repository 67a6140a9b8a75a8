// SPDX-License-Identifier: Apache-2.0
// Clock: wall time at the start plus monotonic progress, so that limits and lifetimes never see a
// jump. Thread rule: any thread.
#pragma once

#include <chrono>

#include "base/time.h"

namespace tandem::gateway {

class Clock {
  public:
    Clock()
        : wall_(std::chrono::duration_cast<std::chrono::milliseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count()),
          begun_(std::chrono::steady_clock::now()) {}

    Instant now() const {
        const auto passed = std::chrono::steady_clock::now() - begun_;
        return {wall_ + std::chrono::duration_cast<std::chrono::milliseconds>(passed).count()};
    }
    // The same for a monotonic time that was read already: a loop reads one a round.
    Instant at(std::int64_t monotonic_us) const {
        const auto begun =
            std::chrono::duration_cast<std::chrono::microseconds>(begun_.time_since_epoch())
                .count();
        return {wall_ + (monotonic_us - begun) / 1000};
    }

  private:
    std::int64_t wall_;
    std::chrono::steady_clock::time_point begun_;
};

}  // namespace tandem::gateway
