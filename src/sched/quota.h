// SPDX-License-Identifier: Apache-2.0
// QuotaTree: usage and limits of every (queue, flavor), with nominal lent and borrowed exactly over
// any number of levels. Amounts in milli-devices. Inside of sched only.
//
//   quota(q)      = nominal(q) + sum over children of what they lend
//   kept(q)       = what q never lends = max(0, quota(q) - lendLimit(q))     (0 without a lend
//   limit) spill(q)      = own entries + sum over children c of max(0, spill(c) - kept(c)) need
//   fits at q: what kept(q) - spill(q) does not cover must fit at the parent, within
//   borrowLimit(q);
//                   at the root within quota - spill; and used + need <= max on every level.
//   (The arithmetic of hierarchical cohorts: a child's use inside what it keeps is invisible above
//   it.)
//   share(q)      = borrowed(q) / (what the cohort above can lend x weight(q)), exact
// A flavor that nobody in a tree states a quota for is not limited in that tree.
//
// Two views: now counts every entry, future leaves out entries that are leaving.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sched/facts.h"

namespace tandem::sched {

enum class View : std::uint8_t { now, future };
constexpr std::size_t at(View view) {
    return static_cast<std::size_t>(view);
}

// What is borrowed of what could be lent, by weight; compared exactly (products below 2^90).
struct BorrowShare {
    std::int64_t over = 0;
    std::int64_t lendable = 1;
    std::int64_t weight = 1;
    bool unbounded() const { return over > 0 && (weight == 0 || lendable <= 0); }
};
// Negative, zero or positive as a is smaller, equal or larger.
int compare(const BorrowShare& a, const BorrowShare& b);

struct QuotaRow {
    std::int64_t nominal = 0;
    std::int64_t borrow_limit = model::unlimited;
    std::int64_t max = model::unlimited;
    std::int64_t weight = 1;
    std::int64_t quota = 0;
    std::int64_t kept = 0;
    std::array<std::int64_t, 2> used{};  // plain subtree sum
    std::array<std::int64_t, 2> spill{};
    bool limited = false;  // somebody in the tree states a quota for the flavor
    bool operator==(const QuotaRow&) const = default;
};

struct QueueNode {
    int name = no_name;
    int parent = -1;  // position
    int root = 0;     // position
    int pool = no_name;
    std::vector<int> children{};
    std::vector<int> projects{};
    bool stopped = false;  // itself or one above it
};

struct Need {
    int flavor_row = -1;
    std::int64_t milli = 0;
    bool operator==(const Need&) const = default;
};

// Where a need did not fit: everything from the queue up to here may make it fit when it changes.
// Of what entries that stay use and a need more; `above`: its cohort's row, of a root its own.
BorrowShare share_of(const QuotaRow& here, const QuotaRow& above, std::int64_t need);

struct QuotaBound {
    int node = -1;
    std::int64_t used = 0;
    std::int64_t limit = 0;
};

class QuotaTree {
  public:
    // `flavors` in order of their rows. A parent that does not exist counts as none; so does one in
    // a cycle.
    void build(const std::map<int, QueueFacts>& queues, const std::vector<int>& flavors);

    int find(int name) const {
        return name < 0 || static_cast<std::size_t>(name) >= by_name_.size()
                   ? -1
                   : by_name_[static_cast<std::size_t>(name)];
    }
    int flavor_row(int flavor) const {
        return flavor < 0 || static_cast<std::size_t>(flavor) >= by_flavor_.size()
                   ? -1
                   : by_flavor_[static_cast<std::size_t>(flavor)];
    }
    const std::vector<QueueNode>& nodes() const { return nodes_; }
    const std::vector<int>& flavors() const { return flavors_; }
    std::size_t row_index(int node, int flavor_row) const {
        return static_cast<std::size_t>(node) * flavors_.size() +
               static_cast<std::size_t>(flavor_row);
    }
    const QuotaRow& row(int node, int flavor_row) const {
        return rows_[row_index(node, flavor_row)];
    }

    // Adds `milli` (negative: takes) to the views that the entry counts in.
    void charge(int node, int flavor_row, std::int64_t milli, bool leaving);

    std::optional<QuotaBound> find_bound(int node, int flavor_row, std::int64_t need,
                                         View view) const;
    // One flavor's rows by queue, to be tried out on: what would bind if somebody left.
    std::vector<QuotaRow> rows_of(int flavor_row) const;
    void charge_in(std::vector<QuotaRow>& rows, int node, std::int64_t milli) const;
    bool fits_in(const std::vector<QuotaRow>& rows, int node, std::int64_t need) const;

    // Its share with a need more, of what entries that stay use: of one flavor, and of the flavor
    // that it then borrows most of.
    BorrowShare dominant_share(int node, const std::vector<Need>& needs) const;
    BorrowShare share_of(int node, int flavor_row, std::int64_t need) const;
    // used + need within the queue's own quota: the right to reclaim.
    bool is_under_nominal(int node, int flavor_row, std::int64_t need) const;

    // Beyond it, in a tree that limits the flavor.
    bool would_borrow(int node, int flavor_row, std::int64_t need) const {
        return flavor_row >= 0 && row(node, flavor_row).limited &&
               !is_under_nominal(node, flavor_row, need);
    }

    bool operator==(const QuotaTree& other) const { return rows_ == other.rows_; }

  private:
    void link(const std::map<int, QueueFacts>& queues);
    void order_by_depth();
    void fill_row(int node, const QueueFacts& facts, int flavor_row);
    // `row_at(node)` is the row of the flavor.
    template <class RowAt>
    void add(RowAt row_at, int node, std::int64_t milli, View view) const;
    template <class RowAt>
    std::optional<QuotaBound> find_bound_in(RowAt row_at, int node, std::int64_t need,
                                            View view) const;

    std::vector<QueueNode> nodes_{};
    std::vector<int> top_down_{};
    std::vector<int> by_name_{};
    std::vector<int> flavors_{};
    std::vector<int> by_flavor_{};
    std::vector<QuotaRow> rows_{};
    std::vector<std::int64_t> lend_limits_{};  // beside rows_, for build alone
};

}  // namespace tandem::sched
