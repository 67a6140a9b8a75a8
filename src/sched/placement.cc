// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

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

void Attempt::add_key(WakeKey key) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
}

bool Planner::Inside::place(int class_index, const Demand& demand, Attempt& attempt, Plan& plan) {
    const std::size_t mark = journal.size();
    const ClassView& view = refresh_parts(class_index);
    attempt.placed.clear();
    if (view.closed != model::ReasonCode::none) return false;
    if (view.by_rules) {
        if (place_by_rules(view, demand, attempt, plan)) return true;
    } else if (demand.parts.size() == 1) {
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

// The domains that work may go to, those of one preference together. Where several flavors will do
// and `only_flavor` is named, it is that one.
std::vector<std::vector<int>> Planner::Inside::list_candidates(int pool, int asked,
                                                               int only_flavor) const {
    const FlavorChoice& choice = choice_of(asked);
    const bool narrowed = choice.single() == no_name && only_flavor != no_name;
    std::vector<std::vector<int>> tiers(std::max<std::size_t>(1, choice.tiers.size()));
    for (int index : capacity.domains_of(pool)) {
        const int flavor = capacity.domain(index).flavor;
        if (narrowed && flavor != only_flavor) continue;
        for (std::size_t t = 0; t < tiers.size(); ++t) {
            if (choice.is_any() ||
                std::ranges::find(choice.tiers[t], flavor) != choice.tiers[t].end())
                tiers[t].push_back(index);
        }
    }
#if defined(TANDEM_PLANT_FLAVOR_FALLBACK)
    tiers.resize(1);
#endif
    return tiers;
}

std::vector<int> Planner::Inside::domains_for(const ClassView& view, const model::Resources& each,
                                              int only_flavor) const {
    std::vector<int> list;
    const int asked = names.find(each.flavor);
    for (const std::vector<int>& tier : list_candidates(view.pool, asked, only_flavor))
        list.insert(list.end(), tier.begin(), tier.end());
    return list;
}

// A node's first device of a flavor in a pool makes a domain, without a build.
const ClassView& Planner::Inside::refresh_parts(int class_index) {
    view_of(class_index);
    ClassView& view = views[spot(class_index)];
    for (PartView& part : view.parts) {
        if (part.domains == capacity.domains().size()) continue;
        part.domains = capacity.domains().size();
        part.tiers = list_candidates(view.pool, part.asked, no_name);
    }
    return view;
}

bool Planner::Inside::place_part(const ClassView& view, const Demand& demand, std::size_t part,
                                 Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    if (wanted.each.devices == 0) return place_without_devices(view, demand, part, attempt, plan);
    const std::int64_t need = bounded_product(wanted.each.devices, wanted.count);
    bool tried = false;
    const std::size_t shortages = attempt.shortages.size();
    const PartView& known = view.parts[part];
    std::vector<std::vector<int>> narrowed;
    if (attempt.only_flavor != no_name)
        narrowed = list_candidates(view.pool, known.asked, attempt.only_flavor);
    for (const std::vector<int>& tier : attempt.only_flavor == no_name ? known.tiers : narrowed) {
        std::vector<int>& open = open_domains;
        open.clear();
        for (int index : tier) {
            tried = true;
            plan.steps_used += 1;
            const int row = quota.flavor_row(capacity.domain(index).flavor);
            if (attempt.within_nominal && quota.would_borrow(view.node, row, need)) continue;
            if (has_quota(view, capacity.domain(index).flavor, need, attempt))
                open.push_back(index);
        }
        if (open.size() > 1 && attempt.view == View::now)
            order_by_score(open, view, wanted, known.rule, plan);
        for (int index : open) {
            const std::size_t mark = journal.size();
            const std::size_t placed = attempt.placed.size();
            if (place_in(index, view, demand, part, attempt, plan)) {
                attempt.shortages.resize(shortages);  // of flavors that it does without
                return true;
            }
            undo_to(mark);
            attempt.placed.resize(placed);
            attempt.add_key({WakeOn::domain, index});
        }
    }
    if (!tried) {
        const int single = choice_of(known.asked).single();
        const int flavor = single == no_name ? attempt.only_flavor : single;
        attempt.shortages.push_back({model::ReasonCode::no_capacity, flavor, need});
    }
    attempt.add_key({WakeOn::pool, view.pool});
    return false;
}

bool Planner::Inside::has_quota(const ClassView& view, int flavor, std::int64_t need,
                                Attempt& attempt) const {
    const int row = quota.flavor_row(flavor);
    if (view.forced || view.windowed) return true;
    const auto bound = quota.find_bound(view.node, row, need, attempt.view);
    if (!bound) return true;
    for (int node = view.node; node >= 0; node = quota.nodes()[spot(node)].parent) {
        attempt.add_key({WakeOn::quota, static_cast<std::int64_t>(quota.row_index(node, row))});
        if (node == bound->node) break;
    }
    attempt.shortages.push_back({model::ReasonCode::quota_exhausted, flavor, need, *bound});
    return false;
}

// Domains where the first replica has the better place come first; of equals the lower node.
void Planner::Inside::order_by_score(std::vector<int>& domains, const ClassView& view,
                                     const DemandPart& part, int rule, Plan& plan) {
    if (!view.is_scored()) return;
    std::vector<std::pair<RoomChoice, std::size_t>> found;
    for (int index : domains)
        found.emplace_back(choose_room(index, view, part.each, rule, plan), found.size());
    std::ranges::sort(found, [](const auto& a, const auto& b) {
        if ((a.first.node >= 0) != (b.first.node >= 0)) return a.first.node >= 0;
        if (a.first.score != b.first.score) return a.first.score > b.first.score;
        if (a.first.node != b.first.node) return a.first.node < b.first.node;
        return a.second < b.second;  // no node has room: in the order of the flavors' names
    });
    const std::vector<int> before = domains;
    for (std::size_t i = 0; i < domains.size(); ++i) domains[i] = before[found[i].second];
}

RoomChoice Planner::Inside::choose_room(int domain, const ClassView& view,
                                        const model::Resources& each, int rule, Plan& plan) {
    RoomAsk ask{.ask = {each.cpu_milli, each.devices},
                .policy = view.placement == model::PlacementPolicy::fgd ? Policy::fgd
                                                                        : Policy::tandem};
    if (ask.ask.is_share()) ask.project = view.project;
    const FlavorMix& flavor_mix = typical_mix().of(capacity.domain(domain).flavor);
    return capacity.rooms_of(domain).choose(
        ask, flavor_mix, admitted_nodes(rule),
        [&](int position) { return has_amounts(position, each, View::now); },
        plan.steps_used);
}

bool Planner::Inside::place_in(int index, const ClassView& view, const Demand& demand,
                               std::size_t part, Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    const Domain& domain = capacity.domain(index);
    const bool whole = wanted.each.devices % 1000 == 0;
    const std::int64_t size = wanted.each.devices / 1000;
    Shortage shortage{model::ReasonCode::no_capacity, domain.flavor,
                      bounded_product(wanted.each.devices, wanted.count)};
    shortage.rule = view.parts[part].rule;
    if (whole && domain.whole[at(attempt.view)].fitting(size) < wanted.count) {
        attempt.shortages.push_back(shortage);
        return false;
    }
    for (std::int64_t member = 0; member < wanted.count; ++member) {
        Found found = find_room(index, view, demand, part, attempt, plan);
        if (found.node < 0) break;
        take(found.node, domain.flavor, std::move(found.shares), view, demand, part, attempt);
        attempt.placed.back().member = member;
        if (member + 1 == wanted.count) return true;
    }
    shortage.of_cpu_or_memory = whole && domain.whole[at(attempt.view)].fitting(size) > 0;
    attempt.shortages.push_back(shortage);
    return false;
}

// A place for one replica. What has to wait for others to leave takes the tightest node: there the
// choice is among what the fewest have to leave for. So do shares of a gang, whose members may not
// meet on a device.
Planner::Inside::Found Planner::Inside::find_room(int index, const ClassView& view,
                                                  const Demand& demand, std::size_t part,
                                                  const Attempt& attempt, Plan& plan) {
    const model::Resources& each = demand.parts[part].each;
    const Domain& domain = capacity.domain(index);
    const bool whole = each.devices % 1000 == 0;
    const int rule = view.parts[part].rule;
    const bool alone = demand.parts.size() == 1 && demand.parts[part].count == 1;
    if (attempt.view == View::now && view.is_scored() && (whole || alone)) {
        const RoomChoice choice = choose_room(index, view, each, rule, plan);
        if (choice.node < 0) return {};
        if (whole)
            return {choice.node,
                    whole_devices(domain, choice.node, each.devices / 1000, View::now)};
        for (const Dev& device : capacity.node(choice.node).devices) {
            if (device.owner != domain.pool || device.flavor != domain.flavor) continue;
            const bool open = choice.device_left == 1000
                                  ? device.is_whole_free(View::now)
                                  : device.free(View::now) == choice.device_left &&
                                        device.takes(each.devices, 0, view.project, View::now);
            if (open) return {choice.node, {{device.index, each.devices}}};
        }
        return {};
    }
    if (!whole) return find_share(domain, view, each, rule, attempt, plan);
    const int node = find_node(domain, each, rule, attempt.view, view.is_spread(), plan);
    if (node < 0) return {};
    return {node, whole_devices(domain, node, each.devices / 1000, attempt.view)};
}

std::vector<Share> Planner::Inside::whole_devices(const Domain& domain, int node,
                                                  std::int64_t count, View view) const {
    std::vector<Share> shares;
    shares.reserve(static_cast<std::size_t>(count));
    for (const Dev& device : capacity.node(node).devices) {
        if (static_cast<std::int64_t>(shares.size()) == count) break;
        if (device.owner != domain.pool || device.flavor != domain.flavor) continue;
        if (device.is_whole_free(view)) shares.push_back({device.index, 1000});
    }
    return shares;
}

// The fewest free devices that suffice (spread: the most), then the oldest node.
int Planner::Inside::find_node(const Domain& domain, const model::Resources& each, int rule,
                               View view, bool spread, Plan& plan) const {
    const Buckets& buckets = domain.whole[at(view)];
    const NodeBitmap* within = admitted_nodes(rule);
    const std::size_t least = static_cast<std::size_t>(each.devices / 1000);
    for (std::size_t step = least; step < buckets.nodes.size(); ++step) {
        const std::size_t g = spread ? buckets.nodes.size() - 1 - (step - least) : step;
        if (buckets.count[g] == 0) continue;
        for (int node = first_in(buckets.nodes[g], within, 0); node >= 0;
             node = first_in(buckets.nodes[g], within, node + 1)) {
            plan.steps_used += 1;
            if (has_amounts(node, each, view)) return node;
        }
    }
    return -1;
}

bool Planner::Inside::has_mine([[maybe_unused]] const Attempt& attempt,
                               [[maybe_unused]] int node_name,
                               [[maybe_unused]] std::int64_t device) const {
#if defined(TANDEM_PLANT_GANG_SHARING)
    return false;
#else
    return std::ranges::any_of(attempt.placed, [&](const Attempt::Placed& placed) {
        const Slot& slot = slots[spot(placed.slot)];
        return slot.node == node_name && std::ranges::any_of(slot.shares, [&](const Share& share) {
                   return share.device == device;
               });
    });
#endif
}

// On the device in use that it fills best, else on a free one (spread: the other way round).
Planner::Inside::Found Planner::Inside::find_share(const Domain& domain, const ClassView& view,
                                                   const model::Resources& each, int rule,
                                                   const Attempt& attempt, Plan& plan) const {
    const bool spread = view.is_spread();
    const auto on_free_device = [&]() -> Found {
        const model::Resources one{
            .devices = 1000, .cpu_milli = each.cpu_milli, .memory_bytes = each.memory_bytes};
        const int node = find_node(domain, one, rule, attempt.view, spread, plan);
        if (node < 0) return {};
        std::vector<Share> shares = whole_devices(domain, node, 1, attempt.view);
        shares.front().milli = each.devices;
        return {node, std::move(shares)};
    };
    if (spread) {
        if (Found found = on_free_device(); found.node >= 0) return found;
    }
    const NodeBitmap* within = admitted_nodes(rule);
    for (int node = first_in(domain.partial, within, 0); node >= 0;
         node = first_in(domain.partial, within, node + 1)) {
        const NodeState& state = capacity.node(node);
        plan.steps_used += 1;
        if (!has_amounts(node, each, attempt.view)) continue;
        const Dev* best = nullptr;
        for (const Dev& candidate : state.devices) {
            if (candidate.owner != domain.pool || candidate.flavor != domain.flavor) continue;
            if (!candidate.takes(each.devices, 0, view.project, attempt.view) ||
                has_mine(attempt, state.name, candidate.index))
                continue;
            if (best == nullptr || candidate.free(attempt.view) < best->free(attempt.view))
                best = &candidate;
        }
        if (best != nullptr) return {node, {{best->index, each.devices}}};
    }
    return spread ? Found{} : on_free_device();
}

void Planner::Inside::take(int node, int flavor, std::vector<Share> shares, const ClassView& view,
                           const Demand& demand, std::size_t part, Attempt& attempt) {
    const DemandPart& wanted = demand.parts[part];
    Slot slot{.part = static_cast<std::int64_t>(attempt.placed.size()),
              .kind = attempt.kind,
              .workload = demand.workload,
              .node = capacity.node(node).name,
              .flavor = flavor,
              .asked = view.parts[part].asked,
              .queue = view.queue,
              .pool = view.pool,
              .project = view.project,
              .permits = view.permits,
              .placing = view.company,
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
            replica.devices.push_back({share.device, share.milli, share.memory_bytes});
    }
}

}  // namespace tandem::sched
