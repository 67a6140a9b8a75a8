// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

bool fits_beside(const NodeState& node, const model::Resources& each, View view) {
    return node.cpu.free(view) >= each.cpu_milli && node.memory.free(view) >= each.memory_bytes;
}

// The parts that are hardest to place come first; the order is kept where they are alike.
std::vector<std::size_t> order_of(const Demand& demand) {
    std::vector<std::size_t> order(demand.parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        const std::int64_t first = demand.parts[a].each.devices;
        const std::int64_t second = demand.parts[b].each.devices;
        return first != second ? first > second : a < b;
    });
    return order;
}

bool is_whole_free(const Dev& device, View view) {
    return device.healthy && device.claimed == 0 &&
           (view == View::now ? device.occupied == 0 : device.occupied == device.leaving);
}

// A device in use that takes `milli` more of this project: nobody of another project on it, nor on
// its way to it.
bool takes_share(const Dev& device, std::int64_t milli, int project, View view) {
    if (!device.healthy || device.stayers == 0 || device.stay_project != project) return false;
    if (device.free(view) < milli) return false;
    return view == View::future || device.leavers == 0 || device.leave_project == project;
}

}  // namespace

void Attempt::add_key(WakeKey key) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
}

bool Planner::Inside::place(int class_index, const Demand& demand, Attempt& attempt, Plan& plan) {
    const std::size_t mark = journal.size();
    const ClassView view = view_of(class_index);
    attempt.placed.clear();
    if (view.closed != model::ReasonCode::none) return false;
    if (demand.parts.size() == 1) {
        if (place_part(view, demand, 0, attempt, plan)) return true;
    } else {
        bool all = true;
        for (std::size_t part : order_of(demand))
            all = all && place_part(view, demand, part, attempt, plan);
        if (all) return true;
    }
    undo_to(mark);
    attempt.placed.clear();
    return false;
}

bool Planner::Inside::place_part(const ClassView& view, const Demand& demand, std::size_t part,
                                 Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    if (wanted.each.devices == 0) return place_without_devices(view, demand, part, attempt, plan);
    const int flavor =
        wanted.each.flavor.empty() ? attempt.only_flavor : names.find(wanted.each.flavor);
    const bool any = flavor == no_name && wanted.each.flavor.empty();
    const std::int64_t need = bounded_product(wanted.each.devices, wanted.count);
    bool tried = false;
    for (int index : capacity.domains_of(view.pool)) {
        const Domain& domain = capacity.domain(index);
        if (!any && domain.flavor != flavor) continue;
        tried = true;
        plan.steps_used += 1;
        const int row = quota.flavor_row(domain.flavor);
        if (const auto bound = quota.find_bound(view.node, row, need, attempt.view)) {
            for (int node = view.node; node >= 0; node = quota.nodes()[spot(node)].parent) {
                attempt.add_key(
                    {WakeOn::quota, static_cast<std::int64_t>(quota.row_index(node, row))});
                if (node == bound->node) break;
            }
            attempt.shortages.push_back(
                {model::ReasonCode::quota_exhausted, domain.flavor, need, *bound});
            continue;
        }
        const std::size_t mark = journal.size();
        const std::size_t placed = attempt.placed.size();
        if (place_in(index, demand, part, attempt, plan)) return true;
        undo_to(mark);
        attempt.placed.resize(placed);
        attempt.add_key({WakeOn::domain, index});
    }
    if (!tried) attempt.shortages.push_back({model::ReasonCode::no_capacity, flavor, need});
    attempt.add_key({WakeOn::pool, view.pool});
    return false;
}

bool Planner::Inside::place_in(int index, const Demand& demand, std::size_t part, Attempt& attempt,
                               Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    const std::int64_t need = bounded_product(wanted.each.devices, wanted.count);
    const Domain& domain = capacity.domain(index);
    const bool whole = wanted.each.devices % 1000 == 0;
    const std::int64_t size = wanted.each.devices / 1000;
    Shortage shortage{model::ReasonCode::no_capacity, domain.flavor, need};
    if (whole && domain.whole[at(attempt.view)].fitting(size) < wanted.count) {
        attempt.shortages.push_back(shortage);
        return false;
    }
    for (std::int64_t member = 0; member < wanted.count; ++member) {
        int node = -1;
        std::vector<Share> shares;
        if (whole) {
            node = find_node(domain, wanted.each, attempt.view, plan);
            if (node < 0) break;
            for (const Dev& device : capacity.node(node).devices) {
                if (static_cast<std::int64_t>(shares.size()) == size) break;
                if (device.owner != domain.pool || device.flavor != domain.flavor) continue;
                if (is_whole_free(device, attempt.view)) shares.push_back({device.index, 1000});
            }
        } else {
            shares.push_back({0, wanted.each.devices});
            if (!find_share(domain, demand, wanted.each, attempt, node, shares.front().device,
                            plan))
                break;
        }
        take(node, domain.flavor, std::move(shares), demand, part, attempt);
        attempt.placed.back().member = member;
        if (member + 1 == wanted.count) return true;
    }
    shortage.of_cpu_or_memory = whole && domain.whole[at(attempt.view)].fitting(size) > 0;
    attempt.shortages.push_back(shortage);
    return false;
}

// Best fit: the fewest free devices that suffice, then the oldest node.
int Planner::Inside::find_node(const Domain& domain, const model::Resources& each, View view,
                               Plan& plan) const {
    const Buckets& buckets = domain.whole[at(view)];
    for (std::size_t g = static_cast<std::size_t>(each.devices / 1000); g < buckets.nodes.size();
         ++g) {
        if (buckets.count[g] == 0) continue;
        for (int node = buckets.nodes[g].first(); node >= 0;
             node = buckets.nodes[g].first(node + 1)) {
            plan.steps_used += 1;
            if (fits_beside(capacity.node(node), each, view)) return node;
        }
    }
    return -1;
}

bool Planner::Inside::find_share(const Domain& domain, const Demand& demand,
                                 const model::Resources& each, const Attempt& attempt, int& node,
                                 std::int64_t& device, Plan& plan) const {
    const int project = names.find(demand.project);
    const auto is_mine = [&](int name, std::int64_t index) {  // members of one gang share no device
        return std::ranges::any_of(attempt.placed, [&](const Attempt::Placed& placed) {
            const Slot& slot = slots[spot(placed.slot)];
            return slot.node == name && std::ranges::any_of(slot.shares, [&](const Share& s) {
                       return s.device == index;
                   });
        });
    };
    for (int at_node = domain.partial.first(); at_node >= 0;
         at_node = domain.partial.first(at_node + 1)) {
        const NodeState& state = capacity.node(at_node);
        plan.steps_used += 1;
        if (!fits_beside(state, each, attempt.view)) continue;
        const Dev* best = nullptr;
        for (const Dev& candidate : state.devices) {
            if (candidate.owner != domain.pool || candidate.flavor != domain.flavor) continue;
            if (!takes_share(candidate, each.devices, project, attempt.view) ||
                is_mine(state.name, candidate.index))
                continue;
            if (best == nullptr || candidate.free(attempt.view) < best->free(attempt.view))
                best = &candidate;
        }
        if (best == nullptr) continue;
        node = at_node;
        device = best->index;
        return true;
    }
    const model::Resources one{
        .devices = 1000, .cpu_milli = each.cpu_milli, .memory_bytes = each.memory_bytes};
    node = find_node(domain, one, attempt.view, plan);
    if (node < 0) return false;
    for (const Dev& candidate : capacity.node(node).devices) {
        if (candidate.owner != domain.pool || candidate.flavor != domain.flavor) continue;
        if (!is_whole_free(candidate, attempt.view)) continue;
        device = candidate.index;
        return true;
    }
    return false;
}

bool Planner::Inside::place_without_devices(const ClassView& view, const Demand& demand,
                                            std::size_t part, Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    std::int64_t member = 0;
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
        while (member < wanted.count &&
               fits_beside(capacity.node(node), wanted.each, attempt.view)) {
            take(node, no_name, {}, demand, part, attempt);
            attempt.placed.back().member = member++;
        }
    }
    if (member == wanted.count) return true;
    attempt.shortages.push_back({.code = model::ReasonCode::no_capacity, .of_cpu_or_memory = true});
    attempt.add_key({WakeOn::pool, view.pool});
    return false;
}

void Planner::Inside::take(int node, int flavor, std::vector<Share> shares, const Demand& demand,
                           std::size_t part, Attempt& attempt) {
    const DemandPart& wanted = demand.parts[part];
    const int queue = names.find(demand.queue);
    Slot slot{.part = static_cast<std::int64_t>(attempt.placed.size()),
              .kind = attempt.kind,
              .workload = demand.workload,
              .node = capacity.node(node).name,
              .flavor = flavor,
              .queue = queue,
              .pool = quota.nodes()[spot(quota.find(queue))].pool,
              .project = names.find(demand.project),
              .cpu_milli = wanted.each.cpu_milli,
              .memory_bytes = wanted.each.memory_bytes,
              .provisional = true,
              .shares = std::move(shares)};
    attempt.placed.push_back({add_slot(std::move(slot)), part, 0});
}

void Planner::Inside::write(const Demand& demand, Attempt& attempt, Placement& out) const {
    std::ranges::sort(attempt.placed, [](const Attempt::Placed& a, const Attempt::Placed& b) {
        return a.part != b.part ? a.part < b.part : a.member < b.member;
    });
    out.workload = demand.workload;
    out.replicas.reserve(attempt.placed.size());
    for (const Attempt::Placed& placed : attempt.placed) {
        const Slot& slot = slots[spot(placed.slot)];
        const DemandPart& part = demand.parts[placed.part];
        PlacedReplica& replica = out.replicas.emplace_back();
        replica.role = part.role;
        replica.rank = part.first_rank + placed.member;
        replica.node = names.text(slot.node);
        replica.flavor = names.text(slot.flavor);
        replica.devices.reserve(slot.shares.size());
        for (const Share& share : slot.shares)
            replica.devices.push_back({share.device, share.milli});
    }
}

}  // namespace tandem::sched
