// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <map>

#include "sched/hunt.h"

namespace tandem::sched {
namespace {

constexpr std::size_t exact_victims = 12;  // subsets of so many are all looked at

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}
bool is_dearer(const Offer& a, const Offer& b) {  // heaps keep the largest on top
    if (!(a.price == b.price)) return b.price < a.price;
    return a.node > b.node;
}
bool is_whole_free(const Dev& device) {
    return device.healthy && device.claimed == 0 && device.occupied == device.leaving;
}
std::int64_t at_least_zero(std::int64_t amount) {
    return std::max<std::int64_t>(0, amount);
}

}  // namespace

// What the victims of one node would free there.
struct Planner::Inside::Prospect::NodeCase {
    struct Device {
        std::int64_t free = 0;  // for a share of the project; whole ones apart
        std::vector<std::pair<int, std::int64_t>> held{};  // (victim's place, milli)
        std::int32_t stayers = 0;
        bool mine = false;  // of the project that asks, so that a share may stand beside others
    };
    const model::Resources& each;
    std::int64_t wanted = 0;  // members
    std::int64_t whole_free = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::vector<Device> devices{};  // that are not free
    std::vector<int> victims{};     // cheapest first
    std::vector<std::int64_t> victim_cpu{};
    std::vector<std::int64_t> victim_memory{};

    bool suffices(const std::vector<bool>& leaves) const;
};

bool Planner::Inside::Prospect::NodeCase::suffices(const std::vector<bool>& leaves) const {
    std::int64_t room = cpu;
    std::int64_t bytes = memory;
    for (std::size_t v = 0; v < victims.size(); ++v) {
        if (!leaves[v]) continue;
        room += victim_cpu[v];
        bytes += victim_memory[v];
    }
    if (room < each.cpu_milli * wanted || bytes < each.memory_bytes * wanted) return false;
    std::int64_t usable = whole_free;
    for (const Device& device : devices) {
        std::int64_t freed = 0;
        std::int32_t gone = 0;
        for (const auto& [victim, share] : device.held) {
            if (!leaves[spot(victim)]) continue;
            freed += share;
            gone += 1;
        }
        const bool beside =
            each.devices < 1000 && device.mine && device.free + freed >= each.devices;
        usable += gone == device.stayers || beside ? 1 : 0;
    }
    return usable * 1000 >= wanted * std::max<std::int64_t>(1000, each.devices);
}

std::int64_t Planner::Inside::Prospect::members_on(int position) const {
    const NodeState& node = inside.capacity.node(position);
    if (!node.usable || !inside.rule_admits(rule, position)) return 0;
    const Domain& here = inside.capacity.domain(domain);
    std::int64_t usable = 0;
    for (const Dev& device : node.devices) {
        if (device.owner != here.pool || device.flavor != here.flavor) continue;
        const bool beside = each.devices < 1000 && device.healthy && device.stayers > 0 &&
                            device.stay_project == project &&
                            device.free(View::future) >= each.devices;
        usable += is_whole_free(device) || beside ? 1 : 0;
    }
    std::int64_t room = usable * 1000 / std::max<std::int64_t>(1000, each.devices);
    if (each.cpu_milli > 0)
        room = std::min(room, at_least_zero(node.cpu.free(View::future)) / each.cpu_milli);
    if (each.memory_bytes > 0)
        room = std::min(room, at_least_zero(node.memory.free(View::future)) / each.memory_bytes);
    return room;
}

bool Planner::Inside::Prospect::is_gone(const Victim& victim) const {
    const auto found = inside.workloads.find(victim.workload);
    return found == inside.workloads.end() || found->second.slots.empty() ||
           inside.slots[spot(found->second.slots.front())].leaving;
}

void Planner::Inside::Prospect::start() {
    members.assign(inside.capacity.nodes().size(), 0);
    versions.assign(inside.capacity.nodes().size(), 0);
    for (std::size_t v = 0; v < victims.size(); ++v) {
        for (int index : inside.workloads.at(victims[v].workload).slots) {
            most_members += static_cast<std::int64_t>(inside.slots[spot(index)].shares.size());
            const int position = inside.capacity.find(inside.slots[spot(index)].node);
            if (position >= 0) on_node.emplace_back(position, static_cast<int>(v));
        }
    }
    // Each further member takes a device that a victim has a share of, unless CPU or memory binds.
    if (each.cpu_milli > 0 || each.memory_bytes > 0) most_members = std::int64_t{1} << 40;
    std::ranges::sort(on_node);
    on_node.erase(std::ranges::unique(on_node).begin(), on_node.end());
    const NodeBitmap& list = inside.capacity.domain(domain).nodes;
    for (int at = list.first(); at >= 0; at = list.first(at + 1)) touch(at);
    seen = inside.changed_nodes.size();
}

void Planner::Inside::Prospect::refresh() {
    for (; seen < inside.changed_nodes.size(); ++seen) touch(inside.changed_nodes[seen]);
}

void Planner::Inside::Prospect::touch(int position) {
    total -= members[spot(position)];
    members[spot(position)] = members_on(position);
    total += members[spot(position)];
    versions[spot(position)] += 1;
    Offer offer = make_offer(position);
    if (offer.victims.empty()) return;
    heap.push_back(std::move(offer));
    std::ranges::push_heap(heap, is_dearer);
}

std::optional<Offer> Planner::Inside::Prospect::take_offer() {
    while (!heap.empty()) {
        std::ranges::pop_heap(heap, is_dearer);
        Offer offer = std::move(heap.back());
        heap.pop_back();
        if (offer.version == versions[spot(offer.node)]) return offer;
    }
    return std::nullopt;
}

std::span<const std::pair<int, int>> Planner::Inside::Prospect::victims_on(int position) const {
    const auto begin = std::ranges::lower_bound(on_node, std::pair{position, -1});
    auto end = begin;
    while (end != on_node.end() && end->first == position) ++end;
    return {begin, end};
}

// A whole device that it alone has.
bool Planner::Inside::Prospect::frees_device(const NodeState& node, const Victim& victim) const {
    const Domain& here = inside.capacity.domain(domain);
    for (int index : inside.workloads.at(victim.workload).slots) {
        const Slot& slot = inside.slots[spot(index)];
        if (slot.node != node.name) continue;
        for (const Share& share : slot.shares) {
            const Dev* device = Capacity::find_device(node, share.device);
            if (device == nullptr || device->owner != here.pool || device->flavor != here.flavor)
                continue;
            if (device->healthy && device->claimed == 0 && device->stayers == 1) return true;
        }
    }
    return false;
}

Offer Planner::Inside::Prospect::make_offer(int position) const {
    Offer offer{.node = position, .version = versions[spot(position)]};
    const NodeState& node = inside.capacity.node(position);
    if (!node.usable || !inside.rule_admits(rule, position)) return offer;
    std::vector<int> candidates;
    for (const auto& [at_node, victim] : victims_on(position)) {
        if (!is_gone(victims[spot(victim)])) candidates.push_back(victim);
    }
    if (candidates.empty()) return offer;
    std::ranges::sort(candidates, [this](int a, int b) {
        const Price& first = victims[spot(a)].price;
        const Price& second = victims[spot(b)].price;
        return first == second ? a < b : first < second;
    });
    const Victim& cheapest = victims[spot(candidates.front())];
    const std::int64_t wanted = members[spot(position)] + 1;
    const bool roomy = node.cpu.free(View::future) >= each.cpu_milli * wanted &&
                       node.memory.free(View::future) >= each.memory_bytes * wanted;
    if (each.devices == 1000 && roomy && frees_device(node, cheapest)) {  // nothing can be cheaper
        offer.price = cheapest.price;
        offer.victims = {candidates.front()};
        return offer;
    }
    choose(describe(position, std::move(candidates)), offer);
    return offer;
}

Planner::Inside::Prospect::NodeCase Planner::Inside::Prospect::describe(
    int position, std::vector<int> candidates) const {
    const NodeState& node = inside.capacity.node(position);
    const Domain& here = inside.capacity.domain(domain);
    NodeCase one{.each = each,
                 .wanted = members[spot(position)] + 1,
                 .cpu = node.cpu.free(View::future),
                 .memory = node.memory.free(View::future),
                 .victims = std::move(candidates)};
    std::map<std::int64_t, NodeCase::Device> held;
    for (const Dev& device : node.devices) {
        if (device.owner != here.pool || device.flavor != here.flavor) continue;
        if (is_whole_free(device)) {
            one.whole_free += 1;
        } else if (device.healthy && device.claimed == 0) {
            held[device.index] = {.free = device.free(View::future),
                                  .stayers = device.stayers,
                                  .mine = device.stay_project == project};
        }
    }
    one.victim_cpu.resize(one.victims.size());
    one.victim_memory.resize(one.victims.size());
    for (std::size_t v = 0; v < one.victims.size(); ++v) {
        for (int index : inside.workloads.at(victims[spot(one.victims[v])].workload).slots) {
            const Slot& slot = inside.slots[spot(index)];
            if (slot.node != node.name) continue;
            one.victim_cpu[v] += slot.cpu_milli;
            one.victim_memory[v] += slot.memory_bytes;
            for (const Share& share : slot.shares) {
                if (const auto at = held.find(share.device); at != held.end())
                    at->second.held.emplace_back(static_cast<int>(v), share.milli);
            }
        }
    }
    for (auto& [index, device] : held) one.devices.push_back(std::move(device));
    return one;
}

void Planner::Inside::Prospect::choose(const NodeCase& one, Offer& offer) const {
    std::vector<bool> leaves(one.victims.size(), true);
    if (!one.suffices(leaves)) return;
    if (one.victims.size() <= exact_victims)
        choose_among_all(one, offer);
    else
        choose_stepwise(one, offer);
}

void Planner::Inside::Prospect::choose_among_all(const NodeCase& one, Offer& offer) const {
    const std::size_t sets = std::size_t{1} << one.victims.size();
    std::vector<Price> prices(sets);
    std::size_t best = 0;
    std::vector<bool> leaves(one.victims.size());
    for (std::size_t set = 1; set < sets; ++set) {
        const auto lowest = static_cast<std::size_t>(std::countr_zero(set));
        prices[set] = prices[set & (set - 1)] + victims[spot(one.victims[lowest])].price;
        if (best != 0 && !(prices[set] < prices[best])) continue;
        for (std::size_t v = 0; v < leaves.size(); ++v) leaves[v] = ((set >> v) & 1) != 0;
        if (one.suffices(leaves)) best = set;
    }
    offer.price = prices[best];
    for (std::size_t v = 0; v < leaves.size(); ++v) {
        if (((best >> v) & 1) != 0) offer.victims.push_back(one.victims[v]);
    }
}

// Cheapest first until it suffices; then the dearest first is let stay where it is not needed.
void Planner::Inside::Prospect::choose_stepwise(const NodeCase& one, Offer& offer) const {
    std::vector<bool> leaves(one.victims.size());
    std::size_t count = 0;
    while (!one.suffices(leaves)) leaves[count++] = true;
    while (count-- > 0) {
        leaves[count] = false;
        if (!one.suffices(leaves)) leaves[count] = true;
    }
    for (std::size_t v = 0; v < leaves.size(); ++v) {
        if (!leaves[v]) continue;
        offer.price = offer.price + victims[spot(one.victims[v])].price;
        offer.victims.push_back(one.victims[v]);
    }
}

}  // namespace tandem::sched
