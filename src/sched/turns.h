// SPDX-License-Identifier: Apache-2.0
// Turns: whose class is looked at next, as a tournament down the queue tree. At each level,
// children that stay within their own quota with the candidate included come first; then those that
// borrow least by weight (of the flavor that they borrow most of), compared exactly; those of
// weight 0 last; then those who used least of late, the older candidate, its id. Made for one plan.
// Inside of sched only.
#pragma once

#include <functional>
#include <vector>

#include "sched/quota.h"
#include "sched/waiting.h"

namespace tandem::sched {

struct Bid {
    int node = -1;  // of the quota tree
    int class_index = -1;
    BorrowShare share{};  // with the candidate; nothing within its own quota
    Wide faded = 0;       // decayed use of the whole subtree
    Instant submitted{};
    RowId id{};
};
bool goes_before(const Bid& a, const Bid& b);

// What a demand of the class would add, per row of a flavor.
using NeedsOf = std::function<const std::vector<Need>&(int class_index)>;
using FadedOf = std::function<Wide(int node)>;

class Turns {
  public:
    Turns(const QuotaTree& quota, const Waiting& waiting, NeedsOf needs, FadedOf faded)
        : quota_(quota), waiting_(waiting), needs_(std::move(needs)), faded_(std::move(faded)) {}

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
    FadedOf faded_;
    std::vector<std::vector<Bid>>
        below_{};               // heap of the children of each node; the last one: of all roots
    std::vector<int> path_{};  // while settling
};

}  // namespace tandem::sched
