// SPDX-License-Identifier: Apache-2.0
// In which order queues with waiting work would have their turn, if each had one: the tournament of
// turns.h, on the tables of a snapshot, with those that sleep taking part as well.
#include <algorithm>
#include <map>

#include "sched/snapshot.h"
#include "sched/turns.h"

namespace tandem::sched {
namespace {

class QueueOrder {
  public:
    QueueOrder(const SnapshotTables& tables, std::function<Wide(int)> faded)
        : tables_(tables), faded_(std::move(faded)) {
        tables_.queues.each([&](std::int64_t position, const Card<QueueCard>& queue) {
            if (const int own = first_class(*queue); own >= 0)
                own_[static_cast<int>(position)] = own;
        });
    }

    std::vector<int> list() {
        std::vector<Bid> roots;
        tables_.queues.each([&](std::int64_t position, const Card<QueueCard>& queue) {
            const int node = static_cast<int>(position);
            if (queue->parent < 0 && best_of(node) >= 0)
                roots.push_back(bid_of(node, best_of(node)));
        });
        std::ranges::sort(roots, goes_before);
        std::vector<int> order;
        for (const Bid& root : roots) append(root.node, order);
        return order;
    }

  private:
    const ClassCard& card(int index) const { return **tables_.classes.find(index); }
    const QueueCard& queue(int position) const { return **tables_.queues.find(position); }

    int first_class(const QueueCard& queue) const {
        const auto* classes = tables_.classes_of_queue.find(queue.name);
        if (classes == nullptr || queue.stopped) return -1;
        int first = -1;
        for (int index : **classes) {
            const auto* found = tables_.classes.find(index);
            if (found == nullptr || (*found)->size == 0) continue;
            if (first < 0 || comes_before(**found, card(first))) first = index;
        }
        return first;
    }
    static bool comes_before(const ClassCard& a, const ClassCard& b) {
        if (a.key->priority != b.key->priority) return a.key->priority > b.key->priority;
        return a.members.front()->front() < b.members.front()->front();
    }

    // The only one that it takes, else the first of the pool that it may have: as the planner's own
    // bids.
    int flavor_of(int pool, const FlavorChoice& choice) const {
        if (choice.single() != no_name) return choice.single();
        const auto* card_of_pool = tables_.pools.find(pool);
        if (card_of_pool == nullptr) return no_name;
        for (int domain : (*card_of_pool)->domains)
            if (const int flavor = (*tables_.domains.find(domain))->flavor; choice.admits(flavor))
                return flavor;
        return no_name;
    }
    int flavor_row(int flavor) const {
        const auto at = std::ranges::find(*tables_.flavors, flavor);
        return at == tables_.flavors->end() ? -1 : static_cast<int>(at - tables_.flavors->begin());
    }

    Bid bid_of(int node, int index) const {
        const ClassCard& group = card(index);
        const Member& first = group.members.front()->front();
        Bid bid{.node = node, .class_index = index, .submitted = first.submitted, .id = first.id};
        std::map<int, std::int64_t> needs;  // by row of flavor
        for (std::size_t i = 0; i < group.key->shape.size(); ++i) {
            const ShapePart& part = group.key->shape[i];
            const int row = flavor_row(flavor_of(queue(node).pool, (*group.terms)[i].flavors));
            if (part.devices > 0 && row >= 0)
                needs[row] += bounded_product(part.devices, part.count);
        }
        const QueueCard& here = queue(node);
        const QueueCard& above = here.parent < 0 ? here : queue(here.parent);
        for (const auto& [row, need] : needs) {
            const auto at = static_cast<std::size_t>(row);
            const BorrowShare share = share_of(here.rows[at], above.rows[at], need);
            if (compare(share, bid.share) > 0) bid.share = share;
        }
        if (bid.share.over > 0) bid.faded = faded_(node);
        return bid;
    }

    std::vector<Bid> children_of(int node) {
        std::vector<Bid> children;
        for (int child : queue(node).children)
            if (best_of(child) >= 0) children.push_back(bid_of(child, best_of(child)));
        std::ranges::sort(children, goes_before);
        return children;
    }

    // Class of the node or below it that would be looked at first; -1: nobody waits there.
    int best_of(int node) {
        if (const auto known = best_.find(node); known != best_.end()) return known->second;
        const auto own = own_.find(node);
        const std::vector<Bid> children = children_of(node);
        int best = own == own_.end() ? -1 : own->second;
        if (!children.empty()) {
            const int child = children.front().class_index;
            if (best < 0 || goes_before(bid_of(node, child), bid_of(node, best))) best = child;
        }
        best_[node] = best;
        return best;
    }

    void append(int node, std::vector<int>& order) {
        const auto own = own_.find(node);
        bool listed = own == own_.end();
        for (const Bid& child : children_of(node)) {
            if (!listed &&
                goes_before(bid_of(node, own->second), bid_of(node, child.class_index))) {
                order.push_back(node);
                listed = true;
            }
            append(child.node, order);
        }
        if (!listed) order.push_back(node);
    }

    const SnapshotTables& tables_;
    std::function<Wide(int)> faded_;
    std::map<int, int> own_{};  // first class, by position of its queue
    std::map<int, int> best_{};
};

}  // namespace

std::string Snapshot::queue_of(RowId workload) const {
    const WaitingRef* ref = tables_.waiting.find(workload.value);
    return ref == nullptr ? std::string()
                          : text((*tables_.classes.find(ref->class_index))->key->queue);
}

std::vector<QueueTurn> Snapshot::queue_order() const {
    QueueOrder order(tables_, [this](int position) { return faded_of(position); });
    std::map<std::string, std::int64_t> places;  // given, by pool
    std::vector<QueueTurn> turns;
    for (int position : order.list()) {
        const QueueCard& queue = queue_at(position);
        turns.push_back({.queue = text(queue.name), .pool = text(queue.pool)});
        turns.back().place = ++places[turns.back().pool];
    }
    for (QueueTurn& turn : turns) turn.of = places[turn.pool];
    return turns;
}

}  // namespace tandem::sched
