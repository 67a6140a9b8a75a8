// SPDX-License-Identifier: Apache-2.0
// Places for work that needs no device.
#include <algorithm>

#include "sched/inside.h"

namespace tandem::sched {

// Nodes without devices first; then where it takes the least from the work that needs devices; at
// last all nodes in turn, which proves that there is no place.
bool Planner::Inside::place_without_devices(const ClassView& view, const Demand& demand,
                                            std::size_t part, Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    const int rule = view.parts[part].rule;
    std::int64_t member = 0;
    const auto put = [&](int node) {
        take(node, no_name, {}, view, demand, part, attempt);
        attempt.placed.back().member = member++;
    };
    while (member < wanted.count && attempt.view == View::now && view.is_scored()) {
        int node = view.pool == shared_pool ? find_bare(wanted.each, rule, plan) : -1;
        RoomChoice best;
        for (int index : capacity.domains_of(view.pool)) {
            if (node >= 0) break;
            const RoomChoice choice = choose_room(index, view, wanted.each, rule, plan);
            if (choice.node < 0) continue;
            if (best.node < 0 || choice.score > best.score ||
                (choice.score == best.score && choice.node < best.node))
                best = choice;
        }
        node = node >= 0 ? node : best.node;
        if (node < 0) break;
        put(node);
    }
    for (int node = 0; node < static_cast<int>(capacity.nodes().size()) && member < wanted.count;
         ++node) {
        const NodeState& state = capacity.node(node);
        plan.steps_used += 1;
        if (!state.usable) continue;
        const bool takes_part =
            view.pool == shared_pool || std::ranges::any_of(state.cells, [&](const Cell& cell) {
                return capacity.domain(cell.domain).pool == view.pool;
            });
        if (!takes_part) continue;
        while (member < wanted.count && fits(node, wanted.each, rule, attempt.view)) put(node);
    }
    if (member == wanted.count) return true;
    attempt.shortages.push_back({.code = model::ReasonCode::no_capacity, .of_cpu_or_memory = true});
    attempt.add_key({WakeOn::pool, view.pool});
    return false;
}

int Planner::Inside::find_bare(const model::Resources& each, int rule, Plan& plan) const {
    const NodeBitmap* within = admitted_nodes(rule);
    for (int node = first_in(capacity.bare(), within, 0); node >= 0;
         node = first_in(capacity.bare(), within, node + 1)) {
        plan.steps_used += 1;
        if (fits(node, each, rule, View::now)) return node;
    }
    return -1;
}

}  // namespace tandem::sched
