// SPDX-License-Identifier: Apache-2.0
#include "sched/backfill.h"

namespace tandem::sched {

Starts choose_starts(Profile& profile, Ticks now, std::span<const Waiter> line,
                     std::size_t protect) {
    Starts starts;
    Profile promised = profile;  // with the promises taken out as well
    for (std::size_t i = 0; i < line.size(); ++i) {
        const Waiter& waiter = line[i];
        const Ticks end = end_of(now, waiter.length);
        const bool evictable = waiter.preemptible && waiter.length == no_end;
        const bool free_now = profile.free_at(now) >= waiter.amount;
        if (free_now && (promised.fits(now, end, waiter.amount) || evictable)) {
            if (!evictable) promised.take(now, end, waiter.amount);
            profile.take(now, end, waiter.amount);
            starts.now.push_back(i);
        } else if (starts.promises.size() < protect) {
            const Ticks start = promised.earliest(now, waiter.length, waiter.amount);
            starts.promises.push_back({i, start});
            if (start != no_end) promised.take(start, end_of(start, waiter.length), waiter.amount);
        }
    }
    return starts;
}

}  // namespace tandem::sched
