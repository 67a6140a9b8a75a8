// SPDX-License-Identifier: Apache-2.0
#include "server/core_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "crypto/random_bytes.h"

namespace tandem::server {
namespace {

// The wall clock was set this far; less is the work of one that is kept in step.
constexpr std::int64_t jump_min = 1'000;

std::int64_t monotonic_now() {
    using namespace std::chrono;
    return duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Instant wall_now() {
    using namespace std::chrono;
    return {duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count()};
}

ClockSources system_clocks() {
    return {.wall = [] { return wall_now().ms; }, .monotonic = monotonic_now};
}

CoreClock::CoreClock(Instant high_water, ClockSources sources)
    : sources_(std::move(sources)),
      wall_ms_(sources_.wall()),
      monotonic_ms_(sources_.monotonic()),
      now_(std::max(high_water, Instant{wall_ms_})) {
    if (now_.ms - wall_ms_ >= jump_min) jump_ = {wall_ms_ - now_.ms};
}

Instant CoreClock::now() {
    const std::int64_t monotonic = sources_.monotonic();
    const std::int64_t wall = sources_.wall();
    const std::int64_t passed = monotonic - monotonic_ms_;
    const std::int64_t apart = wall - wall_ms_ - passed;
    if (apart >= jump_min || apart <= -jump_min) jump_.ms += apart;
    monotonic_ms_ = monotonic;
    wall_ms_ = wall;
    skew_ = Instant{wall} - now_;
    const std::int64_t ahead = skew_.ms - passed;  // how far the wall clock leads after this step
    const std::int64_t slew = std::clamp(ahead, -(passed / 16), passed / 16);
    now_.ms += passed + slew;
    return now_;
}

std::optional<Duration> CoreClock::take_jump() {
    const Duration jump = std::exchange(jump_, {});
    return jump.ms == 0 ? std::nullopt : std::optional(jump);
}

model::Tick CoreClock::tick() {
    return {.now = now(), .seed = crypto::draw_seed()};
}

Duration CoreClock::until(Instant at) { return {std::max<std::int64_t>(0, (at - now()).ms)}; }

}  // namespace tandem::server
