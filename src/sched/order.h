// SPDX-License-Identifier: Apache-2.0
// Order: who comes first among work of equal priority in one queue. The default order asks what is
// known of the work, and what an eviction could win:
//   rigid       says how long it may run, and can't be evicted: by response ratio, (waited +
//   length) /
//               length, the largest first. Short work goes first, and whoever waits long enough
//               overtakes, so nobody starves. (Highest response ratio next, Brinch Hansen 1971.)
//   estimated   its remaining run time is known, and it can be evicted: least remaining
//               device-time first (SRSF).
//   unknown     nothing is known: by tiers of device-time received so far, fewest first; inside of
//   a
//               tier those who run before those who wait, then the smaller, then first come (after
//               Tiresias, NSDI 2019; the tiers grow by a factor, so that work of like size is not
//               made to take turns).
// A queue may say `fifo` instead. All comparisons are exact; the last tie is the id. Times in ticks
// of the caller's own unit. PURE.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "sched/profile.h"

namespace tandem::sched {

enum class OrderPolicy : std::uint8_t { automatic, fifo };

struct Standing {
    RowId id{};
    Ticks submitted = 0;
    std::int64_t devices = 0;
    Ticks length = 0;    // remaining run time, at most; 0: not known
    Ticks attained = 0;  // device-time received so far
    bool preemptible = true;
    bool running = false;
};

// Device-time of the first tier, and how much larger each further one is.
inline constexpr std::int64_t tier_base_seconds = 10'000;
inline constexpr std::int64_t tier_factor = 16;
// The tier of somebody who received `attained`; and where that tier ends.
int tier_of(Ticks attained, Ticks ticks_per_second);
Ticks tier_end(int tier, Ticks ticks_per_second);

// Does a come before b at `now`? A strict weak order among work of one kind; across kinds rigid
// work comes before estimated, and that before unknown.
class Order {
  public:
    Order(OrderPolicy policy, Ticks now, Ticks ticks_per_second)
        : policy_(policy), now_(now), second_(ticks_per_second) {}
    bool operator()(const Standing& a, const Standing& b) const;
    // May a, which waits, take the place of b, which runs?
    bool may_evict(const Standing& a, const Standing& b) const;

  private:
    int compare(const Standing& a, const Standing& b) const;

    OrderPolicy policy_;
    Ticks now_;
    Ticks second_;
};

}  // namespace tandem::sched
