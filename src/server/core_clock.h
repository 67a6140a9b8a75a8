// SPDX-License-Identifier: Apache-2.0
// CoreClock: gives core its ticks. Core's time is the monotonic clock's progress from a start that lies not before
// the persisted high-water mark; it is slewed to the wall clock by at most 1/16 of the time that passes, so
// that it never jumps and never goes backwards. Thread rule: one owner (the core thread).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "model/input.h"

namespace tandem::server {

// Where time comes from, in milliseconds.
struct ClockSources {
    std::function<std::int64_t()> wall{};       // since the epoch
    std::function<std::int64_t()> monotonic{};  // since anything
};
ClockSources system_clocks();

class CoreClock {
  public:
    // `high_water`: last time that core has made durable.
    explicit CoreClock(Instant high_water, ClockSources sources = system_clocks());

    model::Tick tick();  // time not before any earlier tick; a fresh random seed
    Instant now();
    // How long until core's clock shows `at` (never negative).
    Duration until(Instant at);
    // By how much the wall clock jumped since last asked, a second or more; a start before the
    // high-water mark counts as one.
    std::optional<Duration> take_jump();
    // Wall clock minus core's clock, for metrics.
    Duration skew() const { return skew_; }

  private:
    ClockSources sources_;
    std::int64_t wall_ms_ = 0;
    std::int64_t monotonic_ms_ = 0;
    Instant now_{};
    Duration jump_{};
    Duration skew_{};
};

Instant wall_now();

}  // namespace tandem::server
