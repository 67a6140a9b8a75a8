// SPDX-License-Identifier: Apache-2.0
// Backfill: who starts now, out of a line of waiting work, without delaying those at its head. The
// first `protect` that can't start get the earliest time at which they could, by the exact profile
// of stated ends, and keep it: whoever is started past them must be gone by then or fit beside
// them. What has no stated end may pass only where it can be evicted for them. Pure counting of one
// divisible amount; places are judged by the planner. PURE.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/profile.h"

namespace tandem::sched {

struct Waiter {
    std::int64_t amount = 0;
    Ticks length = no_end;  // no_end: not stated
    bool preemptible = false;
};

struct Promise {
    std::size_t waiter = 0;  // its place in the line
    Ticks start = no_end;
};
struct Starts {
    std::vector<std::size_t> now{};   // places in the line, in its order
    std::vector<Promise> promises{};  // of the protected, in their order
};

// `profile` says what is free from `now` on; it has those who start taken out of it afterwards.
Starts choose_starts(Profile& profile, Ticks now, std::span<const Waiter> line,
                     std::size_t protect);

}  // namespace tandem::sched
