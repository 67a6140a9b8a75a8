// SPDX-License-Identifier: Apache-2.0
#include "sched/quota.h"

#include <algorithm>

#include "base/assert.h"

namespace tandem::sched {
namespace {

std::vector<int> invert(const std::vector<int>& names) {
    int largest = -1;
    for (int name : names) largest = std::max(largest, name);
    std::vector<int> positions(static_cast<std::size_t>(largest + 1), -1);
    for (std::size_t i = 0; i < names.size(); ++i)
        positions[static_cast<std::size_t>(names[i])] = static_cast<int>(i);
    return positions;
}

const QuotaFacts* find_quota(const QueueFacts& facts, int flavor) {
    const QuotaFacts* any = nullptr;
    for (const QuotaFacts& quota : facts.quotas) {
        if (quota.flavor == flavor) return &quota;
        if (quota.flavor == no_name) any = &quota;
    }
    return any;
}

std::int64_t over(std::int64_t amount, std::int64_t limit) {
    return std::max<std::int64_t>(0, amount - limit);
}

}  // namespace

void QuotaTree::build(const std::map<int, QueueFacts>& queues, const std::vector<int>& flavors) {
    nodes_.clear();
    flavors_ = flavors;
    by_flavor_ = invert(flavors);
    link(queues);
    order_by_depth();
    rows_.assign(nodes_.size() * flavors_.size(), {});
    lend_limits_.assign(rows_.size(), model::unlimited);
    for (std::size_t n = nodes_.size(); n-- > 0;) {  // children before parents
        const int node = top_down_[n];
        const QueueFacts& facts = queues.at(nodes_[static_cast<std::size_t>(node)].name);
        for (std::size_t f = 0; f < flavors_.size(); ++f)
            fill_row(node, facts, static_cast<int>(f));
    }
    for (int node : top_down_) {  // limited is a property of the tree: from the root down
        const int root = nodes_[static_cast<std::size_t>(node)].root;
        for (std::size_t f = 0; f < flavors_.size(); ++f) {
            rows_[row_index(node, static_cast<int>(f))].limited =
                rows_[row_index(root, static_cast<int>(f))].limited;
        }
    }
}

void QuotaTree::link(const std::map<int, QueueFacts>& queues) {
    std::vector<int> names;
    for (const auto& [name, facts] : queues) names.push_back(name);
    by_name_ = invert(names);
    for (const auto& [name, facts] : queues) {
        nodes_.push_back({.name = name,
                          .parent = find(facts.parent),
                          .pool = facts.pool,
                          .projects = facts.projects,
                          .stopped = facts.stopped});
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        int above = nodes_[n].parent;
        std::size_t steps = 0;
        while (above >= 0 && steps++ <= nodes_.size())
            above = nodes_[static_cast<std::size_t>(above)].parent;
        if (above >= 0) nodes_[n].parent = -1;  // on or below a cycle
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n].parent >= 0)
            nodes_[static_cast<std::size_t>(nodes_[n].parent)].children.push_back(
                static_cast<int>(n));
    }
}

void QuotaTree::order_by_depth() {
    top_down_.clear();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n].parent >= 0) continue;
        nodes_[n].root = static_cast<int>(n);
        top_down_.push_back(static_cast<int>(n));
    }
    for (std::size_t i = 0; i < top_down_.size(); ++i) {
        const QueueNode node = nodes_[static_cast<std::size_t>(top_down_[i])];
        for (int child : node.children) {
            QueueNode& below = nodes_[static_cast<std::size_t>(child)];
            below.root = node.root;
            below.stopped = below.stopped || node.stopped;
            top_down_.push_back(child);
        }
    }
    TANDEM_ASSERT(top_down_.size() == nodes_.size(), "every queue has a root");
}

void QuotaTree::fill_row(int node, const QueueFacts& facts, int flavor_row) {
    QuotaRow& row = rows_[row_index(node, flavor_row)];
    std::int64_t lend_limit = model::unlimited;
    if (const QuotaFacts* stated =
            find_quota(facts, flavors_[static_cast<std::size_t>(flavor_row)])) {
        row.nominal = stated->nominal;
        row.borrow_limit = stated->borrow_limit;
        row.max = stated->max;
        row.weight = stated->weight;
        row.limited = true;
        lend_limit = stated->lend_limit;
    }
    row.quota = row.nominal;
    for (int child : nodes_[static_cast<std::size_t>(node)].children) {
        const QuotaRow& below = rows_[row_index(child, flavor_row)];
        row.quota += below.quota - below.kept;
        row.limited = row.limited || below.limited;
    }
    row.kept = lend_limit == model::unlimited ? 0 : over(row.quota, lend_limit);
}

template <class RowAt>
void QuotaTree::add(RowAt row_at, int node, std::int64_t milli, View view) const {
    std::int64_t spilled = milli;
    for (; node >= 0; node = nodes_[static_cast<std::size_t>(node)].parent) {
        QuotaRow& row = row_at(node);
        row.used[at(view)] += milli;
        const std::int64_t before = over(row.spill[at(view)], row.kept);
        row.spill[at(view)] += spilled;
        spilled = over(row.spill[at(view)], row.kept) - before;
    }
}

template <class RowAt>
std::optional<QuotaBound> QuotaTree::find_bound_in(RowAt row_at, int node, std::int64_t need,
                                                   View view) const {
    std::int64_t rest = need;
    for (; node >= 0; node = nodes_[static_cast<std::size_t>(node)].parent) {
        const QuotaRow& here = row_at(node);
        const std::int64_t used = here.used[at(view)];
        const std::int64_t spill = here.spill[at(view)];
        if (here.max != model::unlimited && used + need > here.max)
            return QuotaBound{node, used, here.max};
        if (rest == 0) continue;
        if (nodes_[static_cast<std::size_t>(node)].parent < 0) {
            if (here.quota - spill < rest) return QuotaBound{node, spill, here.quota};
            continue;
        }
        rest -= std::min(rest, over(here.kept, spill));
        if (here.borrow_limit == model::unlimited) continue;
        const std::int64_t room =
            here.quota - here.kept - over(spill, here.kept) + here.borrow_limit;
        if (rest > room) return QuotaBound{node, used, here.quota + here.borrow_limit};
    }
    return std::nullopt;
}

void QuotaTree::charge(int node, int flavor_row, std::int64_t milli, bool leaving) {
    if (node < 0 || flavor_row < 0 || milli == 0) return;
    const auto row_at = [&](int at_node) -> QuotaRow& {
        return rows_[row_index(at_node, flavor_row)];
    };
    add(row_at, node, milli, View::now);
    if (!leaving) add(row_at, node, milli, View::future);
}

std::optional<QuotaBound> QuotaTree::find_bound(int node, int flavor_row, std::int64_t need,
                                                View view) const {
    if (need == 0 || flavor_row < 0 || !row(node, flavor_row).limited) return std::nullopt;
    return find_bound_in(
        [&](int at_node) -> const QuotaRow& { return row(at_node, flavor_row); }, node, need,
        view);
}

std::vector<QuotaRow> QuotaTree::rows_of(int flavor_row) const {
    std::vector<QuotaRow> rows;
    for (std::size_t node = 0; flavor_row >= 0 && node < nodes_.size(); ++node)
        rows.push_back(row(static_cast<int>(node), flavor_row));
    return rows;
}

void QuotaTree::charge_in(std::vector<QuotaRow>& rows, int node, std::int64_t milli) const {
    if (node < 0 || rows.empty()) return;
    add([&](int at_node) -> QuotaRow& { return rows[static_cast<std::size_t>(at_node)]; }, node,
        milli, View::future);
}

bool QuotaTree::fits_in(const std::vector<QuotaRow>& rows, int node, std::int64_t need) const {
    if (rows.empty() || !rows[static_cast<std::size_t>(node)].limited) return true;
    return !find_bound_in(
        [&](int at_node) -> const QuotaRow& { return rows[static_cast<std::size_t>(at_node)]; },
        node, need, View::future);
}

int compare(const BorrowShare& a, const BorrowShare& b) {
    if (a.unbounded() != b.unbounded()) return a.unbounded() ? 1 : -1;
    if (a.unbounded()) return 0;
    if (a.over <= 0 || b.over <= 0) return (a.over > 0) - (b.over > 0);
    const Wide left = static_cast<Wide>(a.over) * b.lendable * b.weight;
    const Wide right = static_cast<Wide>(b.over) * a.lendable * a.weight;
    return left < right ? -1 : left > right ? 1 : 0;
}

BorrowShare share_of(const QuotaRow& here, const QuotaRow& above, std::int64_t need) {
    BorrowShare share{.weight = here.weight};
    if (!here.limited) return share;
    share.over = over(here.spill[at(View::future)] + need, here.quota);
    share.lendable = above.quota;
    return share;
}

BorrowShare QuotaTree::share_of(int node, int flavor_row, std::int64_t need) const {
    const int above = nodes_[static_cast<std::size_t>(node)].parent;
    return sched::share_of(row(node, flavor_row), row(above < 0 ? node : above, flavor_row), need);
}

BorrowShare QuotaTree::dominant_share(int node, const std::vector<Need>& needs) const {
    BorrowShare largest{};
    for (std::size_t f = 0; f < flavors_.size(); ++f) {
        std::int64_t more = 0;
        for (const Need& need : needs)
            more += need.flavor_row == static_cast<int>(f) ? need.milli : 0;
        const BorrowShare one = share_of(node, static_cast<int>(f), more);
        if (compare(one, largest) > 0) largest = one;
    }
    return largest;
}

bool QuotaTree::is_under_nominal(int node, int flavor_row, std::int64_t need) const {
    if (flavor_row < 0) return false;
    const QuotaRow& here = row(node, flavor_row);
    return here.limited && here.used[at(View::future)] + need <= here.quota;
}

}  // namespace tandem::sched
