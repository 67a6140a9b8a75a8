// SPDX-License-Identifier: Apache-2.0
// Placement of work that asks more of its places than room: topology, spread, company, preferred
// nodes, sharing inside a gang, memory of a device. Nodes are looked at one by one; all other work
// never comes here. Quota, flavors and the ledger are those of everybody.
//
// The part that is hardest to place chooses the domain, the others follow into it; the first domain
// in which all have room is taken. For a gang of one shape that finds a place whenever there is
// one.
#include <algorithm>
#include <tuple>

#include "sched/affinity.h"
#include "sched/rules.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

std::int64_t by_amount(std::int64_t members, std::int64_t free, std::int64_t each) {
    return each > 0 ? std::min(members, std::max<std::int64_t>(0, free) / each) : members;
}

const model::JobPlacing no_rules{};

}  // namespace

bool Planner::Inside::Rules::may_meet() const {
    return placing.sharing == model::Sharing::allowed;
}

model::ReasonCode binding_rule(const TopologyAsk& ask, std::int64_t room, std::int64_t unsocial,
                               std::int64_t count) {
    if (room < count && unsocial >= count) return model::ReasonCode::no_allowed_company;
    if (room < count || !ask.asks()) return model::ReasonCode::no_capacity;
    return ask.spread != no_level && ask.required == no_level
               ? model::ReasonCode::no_even_spread
               : model::ReasonCode::no_topology_domain;
}

int Planner::Inside::intern_placing(const PlacingRef& placing) {
    if (!placing.rules || *placing.rules == no_rules) return no_name;
    const int number = names.intern(text_of(*placing.rules));
    placings.try_emplace(number, placing);
    return number;
}

bool Planner::Inside::has_company(int placing) const {
    if (placing == no_name) return false;
    const model::JobPlacing& asked = *placings.at(placing).rules;
    return !asked.labels.empty() || !asked.apart.empty();
}

const Topology& Planner::Inside::topology_of(int pool) const {
    const auto [entry, added] = topologies.try_emplace(pool);
    Topology& topology = entry->second;
    if (!added) return topology;
    const auto facts = pools.find(pool);
    if (facts != pools.end()) topology.numbers = DomainNumbers(facts->second.levels);
    topology.domains.reserve(capacity.nodes().size());
    for (std::size_t at = 0; at < capacity.nodes().size(); ++at) {
        const int position = static_cast<int>(at);
        const auto node = nodes.find(capacity.node(position).name);
        static const model::Labels none{};
        topology.domains.push_back(
            topology.numbers.of(node == nodes.end() ? none : node->second.labels, position));
        const std::vector<int>& domains = topology.domains.back();
        for (int level = 0; level < topology.numbers.host(); ++level)
            if (domains[spot(level)] >= 0)
                topology.nodes[{level, domains[spot(level)]}].push_back(position);
    }
    return topology;
}

Planner::Inside::Rules Planner::Inside::rules_for(const ClassView& view, const Demand& demand,
                                                  View when) const {
    const auto known = placings.find(view.placing);
    Rules asked{.view = view,
                .demand = demand,
                .topology = topology_of(view.pool),
                .placing = known == placings.end() ? no_rules : *known->second.rules};
    asked.ask = ask_of(asked.placing, asked.topology.numbers);
    const bool heeds = !asked.placing.near.empty() || view.company != no_name;
    if (!heeds) return asked;
    std::vector<std::pair<Neighbour, const std::vector<int>*>> neighbours;
    for (int index : social_slots) {
        const Slot& slot = slots[spot(index)];
        const int position = capacity.find(slot.node);
        const bool gone =
            slot.leaving && (when == View::future || slot.kind != EntryKind::allocation);
        if (gone || position < 0 || slot.project != view.project ||
            slot.workload == demand.workload)
            continue;
        neighbours.push_back({{position, placings.at(slot.placing).rules.get()},
                              &asked.topology.domains[spot(position)]});
    }
    asked.company = company_of(asked.placing, asked.topology.numbers, neighbours);
    return asked;
}

// Room for members of a part on one node, the gang's earlier members and parts taken in.
std::int64_t Planner::Inside::members_at(int position, const Rules& asked, std::size_t part,
                                         int domain, const Attempt& attempt) const {
    const NodeState& node = capacity.node(position);
    const model::Resources& each = asked.demand.parts[part].each;
    std::int64_t members = std::int64_t{1} << 40;
    if (each.devices > 0 && each.devices % 1000 == 0) {
        const auto cell = std::ranges::find(node.cells, domain, &Cell::domain);
        if (cell == node.cells.end()) return 0;
        members = cell->whole[at(attempt.view)] * 1000 / each.devices;
    } else if (each.devices > 0) {
        members = 0;
        for (const Dev& device : node.devices) {
            if (device.cell < 0 || node.cells[spot(device.cell)].domain != domain) continue;
            const bool whole =
                device.is_whole_free(attempt.view) && device.memory >= each.device_memory_bytes;
            if (!whole && !device.takes(each.devices, each.device_memory_bytes, asked.view.project,
                                        attempt.view))
                continue;
            if (!asked.may_meet()) {
                members += whole || !has_mine(attempt, node.name, device.index) ? 1 : 0;
                continue;
            }
            const bool part_of_memory = each.device_memory_bytes == 0;
            const std::int64_t left =
                part_of_memory ? device.free(attempt.view) : device.unused(attempt.view);
            members += by_amount(left / each.devices, device.free_memory(attempt.view),
                                 each.device_memory_bytes);
        }
    }
    members = by_amount(members, node.cpu.free(attempt.view), each.cpu_milli);
    return by_amount(members, node.memory.free(attempt.view), each.memory_bytes);
}

// All nodes that it may go to, those without room among them.
std::vector<Site> Planner::Inside::list_sites(const Rules& asked, std::size_t part, int domain,
                                              const Attempt& attempt, Plan& plan) const {
    std::vector<Site> sites;
    const int rule = asked.view.parts[part].rule;
    const model::NodeAffinity& affinity = rule_of(rule).affinity;
    const auto look = [&](int position) {
        const NodeState& node = capacity.node(position);
        const std::vector<int>& domains = asked.topology.domains[spot(position)];
        plan.steps_used += 1;
        if (!node.usable || !rule_admits(rule, position)) return;
        const auto cell = std::ranges::find(node.cells, domain, &Cell::domain);
        if (domain >= 0 && cell == node.cells.end()) return;
        Site site{.node = position, .domains = &domains};
        if (domain >= 0) site.free = cell->whole[at(attempt.view)];
        site.members = members_at(position, asked, part, domain, attempt);
        if (asked.company.asks() && !asked.company.admits(domains))
            std::swap(site.members, site.shut);
        if (!affinity.preferred.empty())
            site.worth = worth_of(affinity, nodes.at(node.name).labels);
        sites.push_back(site);
    };
    if (attempt.only_scope && attempt.only_scope->level != no_level) {
        const Scope& only = *attempt.only_scope;
        if (only.level == asked.topology.numbers.host()) {
            look(only.domain);
            return sites;
        }
        const auto within = asked.topology.nodes.find({only.level, only.domain});
        if (within != asked.topology.nodes.end())
            for (int position : within->second) look(position);
        return sites;
    }
    if (domain < 0) {
        for (int node = 0; node < static_cast<int>(capacity.nodes().size()); ++node) look(node);
        return sites;
    }
    const NodeBitmap& list = capacity.domain(domain).nodes;
    for (int node = list.first(); node >= 0; node = list.first(node + 1)) look(node);
    return sites;
}

// Devices for one member: of a share the one in use that it fills best, else a free one.
std::vector<Share> Planner::Inside::pick_devices(int position, const Rules& asked, std::size_t part,
                                                 int domain, const Attempt& attempt) const {
    const model::Resources& each = asked.demand.parts[part].each;
    if (domain < 0) return {};
    if (each.devices % 1000 == 0)
        return whole_devices(capacity.domain(domain), position, each.devices / 1000, attempt.view);
    const NodeState& node = capacity.node(position);
    const Dev* best = nullptr;
    const auto rank = [&](const Dev& device) {
        return std::tuple(device.is_whole_free(attempt.view), device.unused(attempt.view),
                          device.free_memory(attempt.view));
    };
    for (const Dev& device : node.devices) {
        if (device.cell < 0 || node.cells[spot(device.cell)].domain != domain) continue;
        const bool whole =
            device.is_whole_free(attempt.view) && device.memory >= each.device_memory_bytes;
        const bool open =
            whole || (device.takes(each.devices, each.device_memory_bytes, asked.view.project,
                                   attempt.view) &&
                      (asked.may_meet() || !has_mine(attempt, node.name, device.index)));
        if (open && (best == nullptr || rank(device) < rank(*best))) best = &device;
    }
    if (best == nullptr) return {};
    return {{best->index, each.devices, each.device_memory_bytes}};
}

bool Planner::Inside::put_members(Rules& asked, std::size_t part, int domain,
                                  const std::vector<Site>& sites, const Scope& scope,
                                  Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = asked.demand.parts[part];
    const int flavor = domain < 0 ? no_name : capacity.domain(domain).flavor;
    std::int64_t member = 0;
    for (const auto& [node, members] : lay_out(asked.ask, sites, scope, wanted.count)) {
        for (std::int64_t i = 0; i < members; ++i) {
            std::vector<Share> shares = pick_devices(node, asked, part, domain, attempt);
            if (domain >= 0 && shares.empty()) return false;
            take(node, flavor, std::move(shares), asked.view, asked.demand, part, attempt);
            attempt.placed.back().member = member++;
            plan.steps_used += 1;
        }
    }
    return member == wanted.count;
}

// Those of one preference that quota lets it have.
std::vector<int> Planner::Inside::open_flavors(const ClassView& view, const Demand& demand,
                                               std::size_t part, const std::vector<int>& tier,
                                               Attempt& attempt, Plan& plan) {
    const DemandPart& wanted = demand.parts[part];
    const std::int64_t need = bounded_product(wanted.each.devices, wanted.count);
    std::vector<int> open;
    for (int index : tier) {
        plan.steps_used += 1;
        const int row = quota.flavor_row(capacity.domain(index).flavor);
        if (attempt.within_nominal && quota.would_borrow(view.node, row, need)) continue;
        if (has_quota(view, capacity.domain(index).flavor, need, attempt)) open.push_back(index);
    }
    if (open.size() > 1 && attempt.view == View::now)
        order_by_score(open, view, wanted, view.parts[part].rule, plan);
    return open;
}

bool Planner::Inside::put_in_scope(Rules& asked, std::size_t part, int domain, const Scope& scope,
                                   Attempt& attempt, Plan& plan) {
    const std::vector<Site> sites = list_sites(asked, part, domain, attempt, plan);
    const DemandPart& wanted = asked.demand.parts[part];
    if (room_in(asked.ask, sites, scope) >= wanted.count &&
        put_members(asked, part, domain, sites, scope, attempt, plan))
        return true;
    attempt.shortages.push_back(shortage_by_rules(asked, part, domain, sites));
    return false;
}

// Of any flavor that it takes, into a domain that another part has chosen.
bool Planner::Inside::put_part(Rules& asked, std::size_t part, const Scope& scope, Attempt& attempt,
                               Plan& plan) {
    const PartView& known = asked.view.parts[part];
    if (asked.demand.parts[part].each.devices == 0)
        return put_in_scope(asked, part, -1, scope, attempt, plan);
    for (const std::vector<int>& tier :
         list_candidates(asked.view.pool, known.asked, attempt.only_flavor)) {
        for (int index : open_flavors(asked.view, asked.demand, part, tier, attempt, plan)) {
            const std::size_t mark = journal.size();
            const std::size_t placed = attempt.placed.size();
            if (put_in_scope(asked, part, index, scope, attempt, plan)) return true;
            undo_to(mark);
            attempt.placed.resize(placed);
        }
    }
    return false;
}

bool Planner::Inside::place_by_rules(const ClassView& view, const Demand& demand, Attempt& attempt,
                                     Plan& plan) {
    Rules asked = rules_for(view, demand, attempt.view);
    const std::vector<std::size_t> order = order_of(demand);
    const std::size_t first = order.front();
    const PartView& known = view.parts[first];
    attempt.add_key({WakeOn::pool, view.pool});
    if (!asked.placing.near.empty() || view.company != no_name)
        attempt.add_key({WakeOn::company, 0});
    std::vector<std::vector<int>> tiers{{-1}};
    const bool devices = demand.parts[first].each.devices > 0;
    if (devices) tiers = list_candidates(view.pool, known.asked, attempt.only_flavor);
    const std::size_t shortages = attempt.shortages.size();
    for (const std::vector<int>& tier : tiers) {
        const std::vector<int> open =
            devices ? open_flavors(view, demand, first, tier, attempt, plan) : tier;
        for (int index : open) {
            const std::vector<Site> sites = list_sites(asked, first, index, attempt, plan);
            const std::int64_t count = demand.parts[first].count;
            std::vector<Scope> scopes = scopes_for(asked.ask, sites, count);
            if (attempt.only_scope)
                std::erase_if(scopes, [&](const Scope& s) { return s != *attempt.only_scope; });
            for (const Scope& scope : scopes) {
                const std::size_t mark = journal.size();
                bool all = put_members(asked, first, index, sites, scope, attempt, plan);
                for (std::size_t part : order)
                    all = all && (part == first || put_part(asked, part, scope, attempt, plan));
                if (all) {
                    attempt.shortages.resize(shortages);
                    return true;
                }
                undo_to(mark);
                attempt.placed.clear();
            }
            if (scopes.empty())
                attempt.shortages.push_back(shortage_by_rules(asked, first, index, sites));
            if (index >= 0) attempt.add_key({WakeOn::domain, index});
        }
    }
    if (attempt.shortages.size() == shortages)
        attempt.shortages.push_back(
            {model::ReasonCode::no_capacity, choice_of(known.asked).single(),
             bounded_product(demand.parts[first].each.devices, demand.parts[first].count)});
    return false;
}

Shortage Planner::Inside::shortage_by_rules(const Rules& asked, std::size_t part, int domain,
                                            const std::vector<Site>& sites) const {
    const DemandPart& wanted = asked.demand.parts[part];
    Shortage shortage{.code = model::ReasonCode::no_capacity,
                      .flavor = domain < 0 ? no_name : capacity.domain(domain).flavor,
                      .needed = bounded_product(wanted.each.devices, wanted.count),
                      .rule = asked.view.parts[part].rule,
                      .placing = asked.view.placing,
                      .members = wanted.count};
    std::int64_t unsocial = 0;
    for (const Site& site : sites) unsocial += std::max(site.members, site.shut);
    shortage.code = binding_rule(asked.ask, room_in({}, sites, {}), unsocial, wanted.count);
    return shortage;
}

// Proved by the part alone: even on empty machines its members have no place.
bool Planner::Inside::never_by_rules(const ClassView& view, const ShapePart& part) {
    const auto known = placings.find(view.placing);
    if (known == placings.end()) return false;
    const Topology& topology = topology_of(view.pool);
    TopologyAsk ask = ask_of(*known->second.rules, topology.numbers);
    if (!ask.asks()) return false;
    if (!ask.is_known()) return true;
    ask.spread = no_level;  // who is eligible for it changes with the nodes that are ready
    const FlavorChoice& choice = choice_of(part.flavor);
    const Lent lent = lent_pools();
    std::vector<int> domains{-1};
    if (part.devices > 0) domains = capacity.domains_of(view.pool);
    for (int domain : domains) {
        if (domain >= 0 && !choice.admits(capacity.domain(domain).flavor)) continue;
        std::vector<Site> sites;
        for (std::size_t at = 0; at < capacity.nodes().size(); ++at) {
            const NodeState& node = capacity.nodes()[at];
            if (!node.present || !rule_admits(part.rule, static_cast<int>(at))) continue;
            const NodeProfile profile = profile_of(node, domain, capacity, lent);
            sites.push_back({.node = static_cast<int>(at),
                             .members = members_on(profile, part),
                             .domains = &topology.domains[at]});
        }
        if (best_scope(ask, sites).room >= part.count) return false;
    }
    return true;
}

}  // namespace tandem::sched
