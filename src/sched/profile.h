// SPDX-License-Identifier: Apache-2.0
// Profile: how much of one thing is free at which time to come, exact: a step function with a step
// at each event time and nowhere else. What is said to end late is free from that time on. Amounts
// may be anything that adds up (milli-devices of a flavor, machines); times are ticks of the
// caller's own unit. PURE; one owner.
//
// Invariants
//  1. Free is constant from one step to the next; two neighbouring steps differ.
//  2. take() and give() of the same arguments undo each other.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace tandem::sched {

using Ticks = std::int64_t;
inline constexpr Ticks no_end = std::numeric_limits<Ticks>::max();

class Profile {
  public:
    explicit Profile(std::int64_t free) { free_[std::numeric_limits<Ticks>::min()] = free; }

    // Takes `amount` in [from, to); below zero is possible, and the caller's to avoid.
    void take(Ticks from, Ticks to, std::int64_t amount) { add(from, to, -amount); }
    void give(Ticks from, Ticks to, std::int64_t amount) { add(from, to, amount); }

    // The first step after `at`; no_end when there is none.
    Ticks next_step(Ticks at) const {
        const auto step = free_.upper_bound(at);
        return step == free_.end() ? no_end : step->first;
    }
    std::int64_t free_at(Ticks at) const { return std::prev(free_.upper_bound(at))->second; }
    // Is `amount` free all through [from, to)?
    bool fits(Ticks from, Ticks to, std::int64_t amount) const;
    // The first time not before `from` from which `amount` is free for `length` (no_end: for good);
    // no_end when there is none.
    Ticks earliest(Ticks from, Ticks length, std::int64_t amount) const;
    // Steps before `now` are told no more.
    void forget_before(Ticks now);
    std::size_t steps() const { return free_.size(); }

  private:
    void add(Ticks from, Ticks to, std::int64_t amount);
    void split(Ticks at);
    void merge(Ticks at);

    std::map<Ticks, std::int64_t> free_{};  // from this time on
};

// from + length, no_end for what has none.
inline Ticks end_of(Ticks from, Ticks length) {
    return length >= no_end - from ? no_end : from + length;
}

}  // namespace tandem::sched
