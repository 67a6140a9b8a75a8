// SPDX-License-Identifier: Apache-2.0
// Victims for work that must be inside one domain: domain by domain, the cheapest of what is there
// and suffices; then the cheapest domain. The proof is the placement itself.
#include <algorithm>

#include "sched/hunt.h"
#include "sched/rules.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

Price price_of(std::span<const Victim> list) {
    Price sum;
    for (const Victim& victim : list) sum = sum + victim.price;
    return sum;
}

}  // namespace

// Domains of the level that is required; else one that is everything.
std::vector<Scope> Planner::Inside::Hunt::scopes_to_clear() const {
    const Topology& topology = inside.topology_of(view.pool);
    const auto known = inside.placings.find(view.placing);
    if (known == inside.placings.end()) return {Scope{}};
    const TopologyAsk ask = ask_of(*known->second.rules, topology.numbers);
    if (!ask.is_known()) return {};
    if (ask.required < 0) return {Scope{}};
    std::vector<Scope> scopes;
    if (ask.required == topology.numbers.host()) {
        for (std::size_t at = 0; at < topology.domains.size(); ++at)
            scopes.push_back({ask.required, static_cast<int>(at)});
        return scopes;
    }
    for (const auto& [domain, positions] : topology.nodes)
        if (domain.first == ask.required) scopes.push_back({domain.first, domain.second});
    return scopes;
}

// Counted, not searched: if everybody left who may ever be asked to.
bool Planner::Inside::Hunt::could_hold(const Scope& scope) const {
    const Topology& topology = inside.topology_of(view.pool);
    if (scope.level == no_level) return true;
    std::vector<int> positions{scope.domain};
    if (scope.level != topology.numbers.host())
        positions = topology.nodes.at({scope.level, scope.domain});
    for (const DemandPart& part : demand.parts) {
        if (part.each.devices == 0 || part.each.devices % 1000 != 0) continue;
        const std::vector<int> domains = inside.domains_for(view, part.each, attempt.only_flavor);
        const bool holds = std::ranges::any_of(domains, [&](int domain) {
            std::int64_t members = 0;
            for (int position : positions) {
                for (const Cell& cell : inside.capacity.node(position).cells)
                    if (cell.domain == domain)
                        members += cell.whole[at_most] * 1000 / part.each.devices;
            }
            return members >= part.count;
        });
        if (!holds) return false;
    }
    return true;
}

// Work elsewhere only where without it a quota still binds.
std::vector<Victim> Planner::Inside::Hunt::clear(std::span<const Victim> here,
                                                 std::span<const Victim> victims) {
    std::vector<Victim> candidates(here.begin(), here.end());
    if (!fits_after(candidates)) {
        for (const Victim& victim : victims)
            if (std::ranges::find(here, victim.workload, &Victim::workload) == here.end())
                candidates.push_back(victim);
        if (candidates.size() == here.size() || !fits_after(candidates)) return {};
    }
    std::vector<Victim> list = select_by_placing(candidates);
    if (list.empty()) return list;
    drop_unneeded(list, nullptr);
    improve(candidates, list);
    return list;
}

std::optional<std::vector<Victim>> Planner::Inside::Hunt::choose_by_rules(
    const Prospect& prospect) {
    const Topology& topology = inside.topology_of(view.pool);
    const std::vector<Scope> scopes = scopes_to_clear();
    const bool anywhere = scopes.size() == 1 && scopes.front().level == no_level;
    std::map<int, std::vector<Victim>> in_domain;
    for (const Victim& victim : prospect.victims) {
        if (anywhere || scopes.empty()) break;
        std::set<int> domains;
        for (int index : inside.workloads.at(victim.workload).slots) {
            const int position = inside.capacity.find(inside.slots[spot(index)].node);
            if (position >= 0)
                domains.insert(topology.domains[spot(position)][spot(scopes.front().level)]);
        }
        for (int domain : domains) in_domain[domain].push_back(victim);
    }
    std::optional<std::vector<Victim>> best;
    std::optional<Scope> chosen;
    for (const Scope& scope : scopes) {
        attempt.only_scope = anywhere ? std::nullopt : std::optional(scope);
        if (!could_hold(scope)) continue;
        std::vector<Victim> list =
            clear(anywhere ? std::span<const Victim>(prospect.victims)
                           : std::span<const Victim>(in_domain[scope.domain]),
                  prospect.victims);
        if (list.empty() || (best && !(price_of(list) < price_of(*best)))) continue;
        best = std::move(list);
        chosen = attempt.only_scope;
    }
    attempt.only_scope = chosen;
    return best;
}

}  // namespace tandem::sched
