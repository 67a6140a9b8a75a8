// SPDX-License-Identifier: Apache-2.0
#include "sched/turns.h"

#include <algorithm>

#include "base/wide.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}
bool goes_after(const Bid& a, const Bid& b) {
    return goes_before(b, a);
}  // heaps keep the largest on top

// Is over_by/weight of a smaller (negative), equal or larger than that of b?
int compare_shares(const Bid& a, const Bid& b) {
    if ((a.weight == 0) != (b.weight == 0)) return a.weight == 0 ? 1 : -1;
    const bool both_unbounded = a.weight == 0;
    const Wide left = static_cast<Wide>(a.over_by) * (both_unbounded ? 1 : b.weight);
    const Wide right = static_cast<Wide>(b.over_by) * (both_unbounded ? 1 : a.weight);
    return left < right ? -1 : left > right ? 1 : 0;
}

}  // namespace

bool goes_before(const Bid& a, const Bid& b) {
    if (a.over != b.over) return b.over;
    if (a.over) {
        if (const int order = compare_shares(a, b); order != 0) return order < 0;
    }
    if (a.submitted != b.submitted) return a.submitted < b.submitted;
    return a.id < b.id;
}

Bid Turns::bid_of(int node, int class_index) const {
    const Member& first = waiting_.group(class_index).first();
    Bid bid{.node = node, .class_index = class_index, .submitted = first.submitted, .id = first.id};
    for (const Need& need : needs_(class_index)) {
        const QuotaRow& row = quota_.row(node, need.flavor_row);
        if (!row.limited) continue;
        const std::int64_t over_by = row.spill[at(View::future)] + need.milli - row.quota;
        if (over_by <= 0) continue;
        const Bid other{.over = true, .over_by = over_by, .weight = row.weight};
        if (bid.over && compare_shares(other, bid) <= 0) continue;
        bid.over = true;  // the flavor it borrows most of decides
        bid.over_by = over_by;
        bid.weight = row.weight;
    }
    return bid;
}

// Of the node's own classes and the best bid of its children.
int Turns::best_class(int node) const {
    const int own = waiting_.first_class(quota_.nodes()[spot(node)].name);
    const std::vector<Bid>& children = below_[spot(node)];
    if (children.empty()) return own;
    if (own < 0) return children.front().class_index;
    const Bid self = bid_of(node, own);
    const Bid child = bid_of(node, children.front().class_index);
    return goes_before(child, self) ? children.front().class_index : own;
}

void Turns::enter(int node) {
    const int parent = quota_.nodes()[spot(node)].parent;
    std::vector<Bid>& heap = parent < 0 ? below_.back() : below_[spot(parent)];
    heap.push_back(bid_of(node, best_class(node)));
    std::ranges::push_heap(heap, goes_after);
}

void Turns::start() {
    below_.assign(quota_.nodes().size() + 1, {});
    // Every node that has somebody awake at or below it, deepest first, so that children stand
    // before parents enter.
    std::vector<std::pair<int, int>> active;  // (-depth, node)
    for (int name : waiting_.awake_queues()) {
        for (int node = quota_.find(name); node >= 0; node = quota_.nodes()[spot(node)].parent) {
            int depth = 0;
            for (int above = node; above >= 0; above = quota_.nodes()[spot(above)].parent) ++depth;
            active.emplace_back(-depth, node);
        }
    }
    std::ranges::sort(active);
    active.erase(std::ranges::unique(active).begin(), active.end());
    for (const auto& [depth, node] : active) enter(node);
}

int Turns::next() const {
    return below_.back().empty() ? -1 : below_.back().front().class_index;
}

// Only the bids on the way from the class's queue to the root have changed, and each of them is on
// top of its heap.
void Turns::settle() {
    std::vector<int> path;
    const std::vector<Bid>* heap = &below_.back();
    const int queue = quota_.find(waiting_.group(next()).key.queue);
    while (!heap->empty()) {
        path.push_back(heap->front().node);
        if (path.back() == queue) break;
        heap = &below_[spot(path.back())];
    }
    for (std::size_t i = path.size(); i-- > 0;) {
        const int node = path[i];
        const int parent = quota_.nodes()[spot(node)].parent;
        std::vector<Bid>& level = parent < 0 ? below_.back() : below_[spot(parent)];
        std::ranges::pop_heap(level, goes_after);
        level.pop_back();
        if (best_class(node) >= 0) enter(node);
    }
}

}  // namespace tandem::sched
