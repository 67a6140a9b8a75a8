// SPDX-License-Identifier: Apache-2.0
// Places of work that asks more of them than room, counted as placement does (by_rules.cc).
#include <algorithm>
#include <deque>

#include "sched/affinity.h"
#include "sched/judge.h"
#include "sched/rules.h"

namespace tandem::sched {
namespace {

const model::JobPlacing no_rules{};

// The level that the pool does not have.
std::string unknown_of(const model::JobPlacing& placing, const DomainNumbers& numbers) {
    const model::JobTopology& topology = placing.topology;
    for (const std::string& level :
         {topology.required, topology.preferred, topology.slice.required})
        if (numbers.level(level) == unknown_level) return level;
    return placing.spread.level;
}

std::int64_t room_of_all(std::span<const Site> sites, bool heeding) {
    std::int64_t sum = 0;
    for (const Site& site : sites)
        sum += heeding ? site.members : std::max(site.members, site.shut);
    return sum;
}

}  // namespace

// Nodes that a part may go to: as they are now, the usable ones, and with nothing on them.
struct Judge::Ground {
    DomainNumbers numbers;
    std::deque<std::vector<int>> domains{};
    std::vector<Site> now{};
    std::vector<Site> empty{};
};

bool Judge::takes_part(const NodeCard& room, int domain) const {
    if (domain < 0 && pool_->name == tables_.shared_pool) return true;
    return std::ranges::any_of(room.cells, [&](const RoomCell& cell) {
        return domain >= 0 ? cell.domain == domain
                           : std::ranges::find(pool_->domains, cell.domain) != pool_->domains.end();
    });
}

Company Judge::company(DomainNumbers& numbers, View view) const {
    const model::JobPlacing& own = card_.placing.rules ? *card_.placing.rules : no_rules;
    if (own.near.empty() && own.apart.empty() && own.labels.empty()) return {};
    std::deque<std::vector<int>> domains;
    std::vector<std::pair<Neighbour, const std::vector<int>*>> neighbours;
    tables_.nodes.each([&](std::int64_t name, const Card<NodeCard>& room) {
        if (room->neighbours.empty()) return;
        domains.push_back(numbers.of(room->traits->labels, static_cast<int>(name)));
        for (const NeighbourCard& one : room->neighbours) {
            if (one.project != card_.key->project || (one.leaving && view == View::future))
                continue;
            neighbours.push_back(
                {{static_cast<int>(name), one.placing.rules.get()}, &domains.back()});
        }
    });
    return company_of(own, numbers, neighbours);
}

Judge::Ground Judge::survey(const ShapePart& part, const NodeRule& rule, int domain,
                            const std::map<int, Taken>& taken, View view) const {
    Ground ground{.numbers = DomainNumbers(pool_->levels)};
    const Company heeded = company(ground.numbers, view);
    std::vector<std::pair<int, int>> order;  // among all nodes, and name
    tables_.nodes.each([&](std::int64_t name, const Card<NodeCard>& room) {
        if (rule.admits(room->traits->labels, room->traits->taints) && takes_part(*room, domain))
            order.emplace_back(room->order, static_cast<int>(name));
    });
    std::ranges::sort(order);
    for (const auto& [place, name] : order) {
        const NodeCard& room = **tables_.nodes.find(name);
        ground.domains.push_back(ground.numbers.of(room.traits->labels, name));
        const std::vector<int>& domains = ground.domains.back();
        NodeProfile machine{.cpu = room.cpu_total, .memory = room.memory_total};
        const auto cell = std::ranges::find(room.cells, domain, &RoomCell::domain);
        if (cell != room.cells.end()) {
            machine.devices = cell->devices;
            machine.device_memory = cell->device_memory;
        }
        ground.empty.push_back(
            {.node = name, .members = members_on(machine, part), .domains = &domains});
        if (!room.usable || (cell != room.cells.end() && cell->healthy == 0)) continue;
        const Candidate here = candidate(name, room, domain, part, taken, view, false);
        Site site{.node = name, .members = here.members, .free = here.whole, .domains = &domains};
        site.worth = worth_of(rule.affinity, room.traits->labels);
        if (heeded.asks() && !heeded.admits(domains)) std::swap(site.members, site.shut);
        ground.now.push_back(site);
    }
    return ground;
}

void Judge::add_places_by_rules(std::size_t index, Choice& choice, std::map<int, Taken>& taken,
                                bool first, View view) const {
    const ShapePart& part = card_.key->shape[index];
    const NodeRule& rule = (*card_.terms)[index].nodes;
    PlaceLack lack{.part = part, .some_nodes = true, .selector = &rule.selector};
    lack.part.flavor = choice.flavors[index];
    if (part.devices > 0) lack.domain = domain_of(lack.part.flavor);
    if (lack.domain >= 0 && std::ranges::find(choice.domains, lack.domain) == choice.domains.end())
        choice.domains.push_back(lack.domain);
    if (part.devices > 0 && lack.domain < 0) {
        choice.places.push_back(lack);
        return;
    }
    const Ground ground = survey(part, rule, lack.domain, taken, view);
    const model::JobPlacing& placing = card_.placing.rules ? *card_.placing.rules : no_rules;
    const TopologyAsk ask = ask_of(placing, ground.numbers);
    if (first) {
        const std::vector<Scope> scopes = scopes_for(ask, ground.now, part.count);
        choice.scope = scopes.empty() ? best_scope(ask, ground.now).scope : scopes.front();
        choice.admitted = static_cast<std::int64_t>(ground.now.size());
        for (const Site& site : ground.now) {
            choice.with_room += site.members > 0 ? 1 : 0;
            choice.in_scope += site.members > 0 && choice.scope.holds(site) ? 1 : 0;
        }
    }
    const bool known = ask.is_known();
    const std::int64_t room = known ? room_in(ask, ground.now, choice.scope) : 0;
    lack.fit = std::min(room, part.count);
    if (lack.fit < part.count) return note_places(lack, choice, ground);
    for (const auto& [node, members] : lay_out(ask, ground.now, choice.scope, part.count)) {
        Taken& here = taken[node];
        here.cpu += members * part.cpu_milli;
        here.memory += members * part.memory_bytes;
        here.whole += part.devices % 1000 == 0 ? members * part.devices / 1000 : members;
    }
}

// What binds, in numbers.
void Judge::note_places(PlaceLack& lack, Choice& choice, const Ground& ground) const {
    const model::JobPlacing& placing = card_.placing.rules ? *card_.placing.rules : no_rules;
    TopologyAsk ask = ask_of(placing, ground.numbers);
    const BestScope best = best_scope(ask, ground.now);
    const std::int64_t count = lack.part.count;
    lack.rule =
        binding_rule(ask, room_of_all(ground.now, true), room_of_all(ground.now, false), count);
    lack.of_domains = best.domains;
    lack.in_domain = domain_text(ground, choice.scope);
    if (lack.rule == model::ReasonCode::no_even_spread)
        lack.in_domain = domain_text(ground, narrowest(ask, ground.now, choice.scope));
    ask.spread = ask.spread == unknown_level ? unknown_level : no_level;
    lack.possible = std::min(count, best_scope(ask, ground.empty).room);
    if (lack.possible < count && room_of_all(ground.empty, true) >= count)
        lack.level = ask.is_known() ? ground.numbers.level_name(ask.required >= 0 ? ask.required
                                                                                  : ask.slice_level)
                                    : unknown_of(placing, ground.numbers);
    choice.places.push_back(lack);
}

std::string Judge::domain_text(const Ground& ground, const Scope& scope) const {
    if (scope.level != ground.numbers.host()) return ground.numbers.text(scope.level, scope.domain);
    const Card<std::string>* name = tables_.names.find(scope.domain);
    return name == nullptr ? std::string{} : **name;
}

}  // namespace tandem::sched
