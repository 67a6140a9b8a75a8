// SPDX-License-Identifier: Apache-2.0
#include "sched/turns.h"

#include <algorithm>

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}
bool goes_after(const Bid& a, const Bid& b) {
    return goes_before(b, a);
}  // heaps keep the largest on top

// By weight, like the shares that they break ties of.
[[maybe_unused]] int compare_faded(const Bid& a, const Bid& b) {
    const Wide left = a.faded * std::max<std::int64_t>(1, b.share.weight);
    const Wide right = b.faded * std::max<std::int64_t>(1, a.share.weight);
    return left < right ? -1 : left > right ? 1 : 0;
}

}  // namespace

bool goes_before(const Bid& a, const Bid& b) {
#if !defined(TANDEM_PLANT_NOMINAL_FIRST)
    if (const int order = compare(a.share, b.share); order != 0) return order < 0;
#endif
#if !defined(TANDEM_PLANT_FADED_ORDER)
    if (a.share.over > 0) {
        if (const int order = compare_faded(a, b); order != 0) return order < 0;
    }
#endif
    if (a.submitted != b.submitted) return a.submitted < b.submitted;
    return a.id < b.id;
}

Bid Turns::bid_of(int node, int class_index) const {
    const Member& first = waiting_.group(class_index).first();
    Bid bid{.node = node, .class_index = class_index, .submitted = first.submitted, .id = first.id};
    for (const Need& need : needs_(class_index)) {
        const BorrowShare share = quota_.share_of(node, need.flavor_row, need.milli);
        if (compare(share, bid.share) > 0) bid.share = share;
    }
    if (bid.share.over > 0) bid.faded = faded_(node);
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
    std::vector<int>& path = path_;
    path.clear();
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
