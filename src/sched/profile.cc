// SPDX-License-Identifier: Apache-2.0
#include "sched/profile.h"

#include <algorithm>
#include <iterator>

namespace tandem::sched {

void Profile::split(Ticks at) {
    if (at == no_end) return;
    const auto after = free_.lower_bound(at);
    if (after != free_.end() && after->first == at) return;
    free_.emplace_hint(after, at, std::prev(after)->second);
}

void Profile::merge(Ticks at) {
    const auto step = free_.find(at);
    if (step == free_.end() || step == free_.begin()) return;
    if (std::prev(step)->second == step->second) free_.erase(step);
}

void Profile::add(Ticks from, Ticks to, std::int64_t amount) {
    if (from >= to || amount == 0) return;
    split(from);
    split(to);
    const auto end = to == no_end ? free_.end() : free_.lower_bound(to);
    for (auto step = free_.lower_bound(from); step != end; ++step) step->second += amount;
    merge(from);
    merge(to);
}

bool Profile::fits(Ticks from, Ticks to, std::int64_t amount) const {
    for (auto step = std::prev(free_.upper_bound(from)); step != free_.end() && step->first < to;
         ++step) {
        if (step->second < amount) return false;
    }
    return true;
}

Ticks Profile::earliest(Ticks from, Ticks length, std::int64_t amount) const {
    Ticks start = from;
    for (auto step = std::prev(free_.upper_bound(from)); step != free_.end(); ++step) {
        if (step->first >= end_of(start, length)) return start;
        if (step->second >= amount) continue;
        const auto next = std::next(step);
        if (next == free_.end()) return no_end;
        start = next->first;
    }
    return start;
}

void Profile::forget_before(Ticks now) {
    const auto present = std::prev(free_.upper_bound(now));
    const std::int64_t free = present->second;
    free_.erase(free_.begin(), std::next(present));
    free_.emplace(std::numeric_limits<Ticks>::min(), free);
}

}  // namespace tandem::sched
