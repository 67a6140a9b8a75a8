// SPDX-License-Identifier: Apache-2.0
#include "server/core_clock.h"

#include <algorithm>
#include <chrono>

#include "crypto/random_bytes.h"

namespace tandem::server {
namespace {

std::int64_t monotonic_now() {
    using namespace std::chrono;
    return duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Instant wall_now() {
    using namespace std::chrono;
    return {duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count()};
}

CoreClock::CoreClock(Instant high_water) : now_(std::max(high_water, wall_now())), monotonic_ms_(monotonic_now()) {}

Instant CoreClock::now() {
    const std::int64_t monotonic = monotonic_now();
    const std::int64_t passed = monotonic - monotonic_ms_;
    monotonic_ms_ = monotonic;
    skew_ = wall_now() - now_;
    const std::int64_t ahead = skew_.ms - passed;  // by how much the wall clock leads after this step
    const std::int64_t slew = std::clamp(ahead, -(passed / 16), passed / 16);
    now_.ms += passed + slew;
    return now_;
}

model::Tick CoreClock::tick() {
    return {.now = now(), .seed = crypto::draw_seed()};
}

Duration CoreClock::until(Instant at) { return {std::max<std::int64_t>(0, (at - now()).ms)}; }

}  // namespace tandem::server
