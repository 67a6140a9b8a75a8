// SPDX-License-Identifier: Apache-2.0
#include "sched/prey.h"

#include <algorithm>
#include <iterator>

namespace tandem::sched {
namespace {

constexpr int grave_levels = 4;
constexpr int grave_bits = 28;

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

bool has_precedence(const Holding& a, const Holding& b) {
    if (a.surplus != b.surplus) return !a.surplus;
    if (a.preemptible != b.preemptible) return !a.preemptible;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.started != b.started) return a.started < b.started;
    return a.workload < b.workload;
}

// The first in order of precedence that the room can hold are no longer open.
void protect(std::vector<Holding>& holdings, std::int64_t room) {
    std::ranges::sort(holdings, has_precedence);
    for (Holding& holding : holdings) {
        if (holding.milli > room) continue;
        room -= holding.milli;
        holding.open = false;
    }
}

bool is_same_group(const Victim& a, const Victim& b) {
    return a.group == b.group && a.spare == b.spare &&
           (a.group != Group::own || a.priority == b.priority);
}

bool is_cheaper(const Victim& a, const Victim& b) {
    if (a.group != b.group) return a.group < b.group;
    if (a.group == Group::own && a.priority != b.priority) return a.priority < b.priority;
    if (a.spare != b.spare) return a.spare;
    if (a.group == Group::surplus && a.started != b.started) return a.started > b.started;
    if (a.group == Group::weightless && a.faded != b.faded) return a.faded > b.faded;
    if (a.group != Group::weightless && a.lost != b.lost) return a.lost < b.lost;
    if (a.started != b.started) return a.started > b.started;
    return a.workload > b.workload;
}

}  // namespace

std::int64_t rationed(std::span<const Victim> list) {
    return std::ranges::count_if(
        list, [](const Victim& victim) { return victim.group != Group::surplus; });
}

void order_victims(std::vector<Victim>& victims) {
    std::ranges::sort(victims, is_cheaper);
    int groups = victims.empty() ? 0 : 1;
    for (std::size_t i = 1; i < victims.size(); ++i)
        groups += is_same_group(victims[i - 1], victims[i]) ? 0 : 1;
    int rank = 0;
    const bool surplus = !victims.empty() && victims.front().group == Group::surplus;
    for (std::size_t i = 0; i < victims.size(); ++i) {
        if (i > 0 && !is_same_group(victims[i - 1], victims[i])) rank += 1;
        // Nothing else is as light as surplus.
        const int least = surplus && victims[i].group != Group::surplus ? 1 : 0;
        const int level = std::max(least, rank - std::max(0, groups - grave_levels));
        victims[i].price = {
            level == 0 ? Wide{0} : Wide{victims[i].milli} << (grave_bits * (level - 1)),
            victims[i].lost};
    }
}

std::vector<Holding> Planner::Inside::Judgements::own_of(int node, int flavor_row) const {
    std::vector<Holding> holdings;
    const int flavor = inside.quota.flavors()[spot(flavor_row)];
    const auto found = inside.occupants_of_queue.find(inside.quota.nodes()[spot(node)].name);
    const auto add = [&](RowId workload) {
        const WorkloadState& state = inside.workloads.at(workload);
        Holding holding{.workload = workload,
                        .preemptible = state.occupant->preemptible,
                        .priority = state.occupant->priority,
                        .started = state.occupant->started,
                        .open = true,
                        .surplus = state.occupant->standing == Standing::surplus};
        for (int index : state.slots) {
            const Slot& slot = inside.slots[spot(index)];
            if (!slot.leaving && slot.flavor == flavor && inside.is_charged(slot))
                holding.milli += slot.milli;
        }
        if (holding.milli > 0) holdings.push_back(holding);
    };
    if (found != inside.occupants_of_queue.end()) std::ranges::for_each(found->second, add);
    const auto surplus = inside.surplus_of_queue.find(inside.quota.nodes()[spot(node)].name);
    if (surplus != inside.surplus_of_queue.end()) std::ranges::for_each(surplus->second, add);
    return holdings;
}

const std::vector<Holding>& Planner::Inside::Judgements::of(int node, int flavor_row) {
    const auto [entry, added] = judged.try_emplace({node, flavor_row});
    std::vector<Holding>& holdings = entry->second;
    const QuotaRow& row = inside.quota.row(node, flavor_row);
    if (!added || row.used[at(View::future)] == 0) return holdings;
    std::vector<Holding> list = own_of(node, flavor_row);
    for (int child : inside.quota.nodes()[spot(node)].children) {
        const std::vector<Holding>& below = of(child, flavor_row);
        list.insert(list.end(), below.begin(), below.end());
    }
    std::int64_t known = 0;
    for (const Holding& holding : list) known += holding.milli;
    [[maybe_unused]] const std::int64_t unknown =
        row.used[at(View::future)] - known;  // of no occupant
    const bool weightless = row.weight == 0 && row.spill[at(View::future)] > row.quota;
    for (Holding& holding : list) holding.weightless = holding.weightless || weightless;
#if !defined(TANDEM_PLANT_PROTECTED_NOMINAL)
    protect(list, row.quota - unknown);
#endif
    return judged[{node, flavor_row}] = std::move(list);
}

std::vector<Holding> Planner::Inside::Judgements::beside_children(int node, int flavor_row) const {
    std::vector<Holding> own = own_of(node, flavor_row);
    protect(own, inside.quota.row(node, flavor_row).nominal);
    return own;
}

std::set<RowId> Planner::Inside::Judgements::shielded_from(int node, const Need& need,
                                                           const Holding& demand) {
    std::set<RowId> shielded;
    for (; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
        const QuotaRow& row = inside.quota.row(node, need.flavor_row);
        if (!row.limited || inside.quota.nodes()[spot(node)].parent < 0)
            break;  // nobody stands beside a root
        if (row.used[at(View::future)] + need.milli <= row.quota)
            continue;  // all of it is protected
        std::vector<Holding> holdings = of(node, need.flavor_row);
        std::int64_t unknown = row.used[at(View::future)];
        for (Holding& holding : holdings) {
            unknown -= holding.milli;
            holding.open = true;
        }
        holdings.push_back(demand);
        holdings.back().milli = need.milli;
        holdings.back().open = true;
        protect(holdings, row.quota - unknown);
        const auto own = std::ranges::find(holdings, demand.workload, &Holding::workload);
        if (!own->open) continue;
        for (const Holding& holding : holdings) {
            if (!holding.open) shielded.insert(holding.workload);
        }
    }
    return shielded;
}

}  // namespace tandem::sched
