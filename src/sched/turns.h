// SPDX-License-Identifier: Apache-2.0
// Turns: whose class is looked at next, as a tournament down the queue tree. At each level,
// children that stay within their own quota with the candidate included come first; then those that
// borrow least by weight, compared exactly; then the older candidate, then its id. Made for one
// plan. Inside of sched only.
#pragma once

#include <functional>
#include <vector>

#include "sched/quota.h"
#include "sched/waiting.h"

namespace tandem::sched {

struct Bid {
    int node = -1;  // of the quota tree
    int class_index = -1;
    bool over = false;  // beyond its own quota with the candidate
    std::int64_t over_by = 0;
    std::int64_t weight = 1;  // 0: an unbounded share as soon as it borrows
    Instant submitted{};
    RowId id{};
};
bool goes_before(const Bid& a, const Bid& b);

// What a demand of the class would add, per row of a flavor.
using NeedsOf = std::function<const std::vector<Need>&(int class_index)>;

class Turns {
  public:
    Turns(const QuotaTree& quota, const Waiting& waiting, NeedsOf needs)
        : quota_(quota), waiting_(waiting), needs_(std::move(needs)) {}

    void start();      // from the classes that are awake now
    int next() const;  // class, -1 when nobody is awake
    void settle();     // after the class that was next was placed or put to sleep

  private:
    Bid bid_of(int node, int class_index) const;
    int best_class(int node) const;
    void enter(int node);

    const QuotaTree& quota_;
    const Waiting& waiting_;
    NeedsOf needs_;
    std::vector<std::vector<Bid>>
        below_{};  // heap of the children of each node; the last one: of all roots
};

}  // namespace tandem::sched
