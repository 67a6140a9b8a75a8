// SPDX-License-Identifier: Apache-2.0
// The derived counters against ones built anew from the primary tables; and what must hold on each
// device.
#include <algorithm>
#include <map>

#include "sched/fingerprint.h"
#include "sched/inside.h"

namespace tandem::sched {
struct Planner::Inside::Recount {
    const Inside& inside;
    Owners owners{};
    Capacity capacity{inside.names};
    QuotaTree quota{};

    std::string compare_quota() const;
    std::string compare_node(const NodeState& fresh) const;
    std::string compare_domain(const Domain& fresh) const;
    std::string check_device(const std::string& node, const Dev& device) const;
    std::string place_of(const std::string& node, const Dev& device) const {
        return "device " + std::to_string(device.index) + " of node " + node;
    }
};

std::string Planner::Inside::Recount::compare_quota() const {
    for (std::size_t n = 0; n < quota.nodes().size(); ++n) {
        for (int flavor : inside.quota.flavors()) {
            const QuotaRow& kept =
                inside.quota.row(static_cast<int>(n), inside.quota.flavor_row(flavor));
            const int row = quota.flavor_row(flavor);
            const std::array<std::int64_t, 2> none{};
            const std::array<std::int64_t, 2>& used =
                row < 0 ? none : quota.row(static_cast<int>(n), row).used;
            const std::array<std::int64_t, 2>& spill =
                row < 0 ? none : quota.row(static_cast<int>(n), row).spill;
            if (kept.used == used && kept.spill == spill) continue;
            return "queue " + inside.names.text(quota.nodes()[n].name) + ", flavor " +
                   inside.names.text(flavor) + ": " + std::to_string(kept.used[0]) + " kept, " +
                   std::to_string(used[0]) + " counted";
        }
    }
    return {};
}

std::string Planner::Inside::Recount::check_device(const std::string& node,
                                                   const Dev& device) const {
    if (device.occupied > 1000) return place_of(node, device) + " is given out more than once";
    if (device.occupied - device.leaving + device.claimed > 1000)
        return place_of(node, device) + " is promised more than once";
    if (device.leaving > device.occupied || device.leaving < 0)
        return place_of(node, device) + " is left by more than it has";
    return {};
}

std::string Planner::Inside::Recount::compare_node(const NodeState& fresh) const {
    const std::string& name = inside.names.text(fresh.name);
    const int position = inside.capacity.find(fresh.name);
    if (position < 0) return "node " + name + " is missing";
    const NodeState& kept = inside.capacity.node(position);
    if (kept.usable != fresh.usable || !(kept.cpu == fresh.cpu) || !(kept.memory == fresh.memory)) {
        return "node " + name + " differs in CPU, memory or use";
    }
    if (kept.devices.size() != fresh.devices.size()) return "node " + name + " has other devices";
    for (std::size_t i = 0; i < fresh.devices.size(); ++i) {
        Dev a = kept.devices[i];
        Dev b = fresh.devices[i];
        a.cell = b.cell = -1;
        if (!(a == b)) return place_of(name, b) + " differs";
        if (std::string text = check_device(name, b); !text.empty()) return text;
    }
    for (const Cell& cell : fresh.cells) {
        const Domain& domain = capacity.domain(cell.domain);
        const int index = inside.capacity.find_domain(domain.pool, domain.flavor);
        const auto same = std::ranges::find(kept.cells, index, &Cell::domain);
        if (same == kept.cells.end() || same->whole != cell.whole ||
            same->partial != cell.partial) {
            return "free devices of node " + name + " differ";
        }
    }
    return {};
}

std::string Planner::Inside::Recount::compare_domain(const Domain& fresh) const {
    const std::string text =
        "pool " + inside.names.text(fresh.pool) + ", flavor " + inside.names.text(fresh.flavor);
    const int index = inside.capacity.find_domain(fresh.pool, fresh.flavor);
    if (index < 0) return text + " is missing";
    const Domain& kept = inside.capacity.domain(index);
    for (std::size_t view = 0; view < histogram_count; ++view) {
        const Buckets& a = kept.whole[view];
        const Buckets& b = fresh.whole[view];
        for (std::size_t g = 0; g < std::max(a.count.size(), b.count.size()); ++g) {
            const std::int64_t have = g < a.count.size() ? a.count[g] : 0;
            const std::int64_t want = g < b.count.size() ? b.count[g] : 0;
            if (have != want)
                return text + ": nodes with " + std::to_string(g) + " free devices differ";
            if (want == 0) continue;
            for (int at = b.nodes[g].first(); at >= 0; at = b.nodes[g].first(at + 1)) {
                if (a.nodes[g].contains(inside.capacity.find(capacity.node(at).name))) continue;
                return text + ": node " + inside.names.text(capacity.node(at).name) +
                       " stands in another bucket";
            }
        }
    }
    for (const NodeState& node : capacity.nodes()) {
        const int here = inside.capacity.find(node.name);
        if (kept.partial.contains(here) != fresh.partial.contains(capacity.find(node.name)))
            return text + ": shared devices differ";
    }
    return {};
}

std::string Planner::Inside::recount() {
    ensure_built();
    Recount fresh{*this};
    derive(fresh.owners, fresh.capacity, fresh.quota);
    if (fresh.owners != owners) return "the owners of devices differ";
    if (std::string text = fresh.compare_quota(); !text.empty()) return text;
    for (const NodeState& node : fresh.capacity.nodes()) {
        if (std::string text = fresh.compare_node(node); !text.empty()) return text;
    }
    for (const Domain& domain : fresh.capacity.domains()) {
        if (std::string text = fresh.compare_domain(domain); !text.empty()) return text;
    }
    if (std::string text = recount_permits(); !text.empty()) return text;
    std::uint64_t sum = 0;
    for (const Slot& slot : slots) sum += slot.live ? fingerprint_of(names, slot) : 0;
    for (const auto& [name, facts] : nodes) sum += fingerprint_of(names, name, facts);
    for (const auto& [name, facts] : pools) sum += fingerprint_of(names, name, facts);
    for (const auto& [name, facts] : queues) sum += fingerprint_of(names, name, facts);
    for (const auto& [id, facts] : bookings) sum += fingerprint_of(names, id, facts);
    for (const auto& [key, use] : uses) sum += fingerprint_of(names, key.first, key.second, use);
    for (const auto& [name, bucket] : allowances) sum += fingerprint_of(names, name, bucket);
    for (const Demand* demand : waiting.list()) sum += fingerprint_of(names, *demand);
    for (const auto& [workload, wish] : growths) sum += fingerprint_of(names, wish);
    return sum + occupants_fingerprint == fingerprint ? std::string{}
                                                      : "the digest differs from its rows";
}

}  // namespace tandem::sched
