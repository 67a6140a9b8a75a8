// SPDX-License-Identifier: Apache-2.0
#include "sched/judge.h"

#include <algorithm>
#include <numeric>

namespace tandem::sched {
namespace {

using model::ReasonCode;

bool admits(const std::vector<int>& projects, int project) {
    return projects.empty() || std::ranges::binary_search(projects, project);
}

// Sums per domain tell all: nothing but whole devices is asked for.
bool is_plain(const ClassKey& key) {
    return key.shape.size() == 1 && key.shape[0].devices > 0 && key.shape[0].devices % 1000 == 0 &&
           key.shape[0].cpu_milli <= 0 && key.shape[0].memory_bytes <= 0;
}

std::int64_t members_on_empty(const NodeCard& room, int domain, const ShapePart& part) {
    const auto cell = std::ranges::find(room.cells, domain, &RoomCell::domain);
    NodeProfile node{.cpu = room.cpu_total, .memory = room.memory_total};
    if (cell != room.cells.end()) {
        node.devices = cell->devices;
        node.device_memory = cell->device_memory;
    }
    return members_on(node, part);
}

}  // namespace

bool Choice::never() const {
    return std::ranges::any_of(limits, [](const LimitLack& lack) { return !lack.ever; }) ||
           std::ranges::any_of(places, [](const PlaceLack& lack) {
               return lack.possible < lack.part.count;
           });
}

std::int64_t Choice::missing() const {
    std::int64_t sum = 0;
    for (const LimitLack& lack : limits) sum += lack.limit.missing;
    for (const PlaceLack& lack : places)
        sum += bounded_product(std::max<std::int64_t>(lack.part.devices, 1),
                               lack.part.count - lack.fit);
    return sum;
}

Judge::Judge(const SnapshotTables& tables, const ClassCard& card) : tables_(tables), card_(card) {
    const int* position = tables.queue_of_name.find(card.key->queue);
    if (position == nullptr) {
        closed_ = ReasonCode::queue_unavailable;
        return;
    }
    queue_position_ = *position;
    queue_ = tables.queues.find(*position)->get();
    const Card<PoolCard>* pool = tables.pools.find(
        card.key->window == no_name ? queue_->pool : card.key->window);
    if (pool != nullptr) pool_ = pool->get();
    if (queue_->stopped)
        closed_ = ReasonCode::queue_stopped;
    else if (pool == nullptr)
        closed_ = ReasonCode::pool_unavailable;
    else if (!admits(queue_->projects, card.key->project) ||
             !admits(pool_->projects, card.key->project))
        closed_ = ReasonCode::not_allowed_in_pool;
    const auto has_memory = [](const ShapePart& part) { return part.device_memory > 0; };
    by_rules_ = card.placing.rules || std::ranges::any_of(card.key->shape, has_memory);
    if (pool_ != nullptr) list_flavors();
}

// Those that its pool has. If it has none of them: one that would do, if it had it.
std::vector<int> Judge::flavors_for(std::size_t part) const {
    if (card_.key->shape[part].devices == 0) return {no_name};
    const FlavorChoice& accepts = (*card_.terms)[part].flavors;
    std::vector<int> flavors;
    for (int domain : pool_->domains) {
        const int flavor = (*tables_.domains.find(domain))->flavor;
        if (accepts.admits(flavor)) flavors.push_back(flavor);
    }
    if (flavors.empty())
        flavors.push_back(accepts.is_any() ? no_name : accepts.tiers.front().front());
    return flavors;
}

void Judge::list_flavors() {
    std::vector<std::vector<int>> wanted;
    for (std::size_t part = 0; part < card_.key->shape.size(); ++part)
        wanted.push_back(flavors_for(part));
    const std::vector<int> none{no_name};
    const auto first = std::ranges::find_if(wanted, [&](const auto& list) { return list != none; });
    for (int flavor : first == wanted.end() ? none : *first) {
        std::vector<int> flavors;
        for (const std::vector<int>& list : wanted)
            if (list == none || std::ranges::find(list, flavor) != list.end())
                flavors.push_back(list == none ? no_name : flavor);
        if (flavors.size() == wanted.size()) flavors_.push_back(std::move(flavors));
    }
    std::vector<std::size_t> at(wanted.size());
    std::size_t part = 0;
    while (part < wanted.size() && flavors_.size() <= choices_judged) {
        std::vector<int> flavors;
        for (std::size_t i = 0; i < wanted.size(); ++i) flavors.push_back(wanted[i][at[i]]);
        if (std::ranges::find(flavors_, flavors) == flavors_.end())
            flavors_.push_back(std::move(flavors));
        for (part = 0; part < wanted.size() && ++at[part] == wanted[part].size();) at[part++] = 0;
    }
    judges_all_ = flavors_.size() <= choices_judged;
    if (!judges_all_) flavors_.resize(choices_judged);
}

int Judge::flavor_row(int flavor) const {
    const auto found = std::ranges::find(*tables_.flavors, flavor);
    return found == tables_.flavors->end() ? -1 : static_cast<int>(found - tables_.flavors->begin());
}

int Judge::domain_of(int flavor) const {
    for (int domain : pool_->domains)
        if ((*tables_.domains.find(domain))->flavor == flavor) return domain;
    return -1;
}

std::vector<Choice> Judge::choices(View view) const {
    std::vector<Choice> list;
    for (const std::vector<int>& flavors : flavors_) list.push_back(look(flavors, view));
    return list;
}

Choice Judge::look(std::vector<int> flavors, View view) const {
    Choice choice{.flavors = std::move(flavors)};
    const std::vector<ShapePart>& shape = card_.key->shape;
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return shape[a].devices != shape[b].devices ? shape[a].devices > shape[b].devices : a < b;
    });
    std::map<int, Taken> taken;
    for (std::size_t part : order) add_places(part, choice, taken, part == order.front(), view);
    add_limits(choice, view);
    return choice;
}

void Judge::add_limits(Choice& choice, View view) const {
    if (card_.key->forced || card_.key->window != no_name) return;
    std::map<int, std::int64_t> needs;  // by flavor; placed one after the other they add up
    for (std::size_t i = 0; i < choice.flavors.size(); ++i) {
        const ShapePart& part = card_.key->shape[i];
        if (choice.flavors[i] != no_name)
            needs[choice.flavors[i]] += bounded_product(part.devices, part.count);
    }
    for (const auto& [flavor, need] : needs) {
        const int row = flavor_row(flavor);
        if (row < 0) continue;
        const auto row_of = [&](int node) -> const QuotaRow& {
            return queue_at(node).rows[static_cast<std::size_t>(row)];
        };
        const auto parent_of = [&](int node) { return queue_at(node).parent; };
        const std::size_t first = choice.limits.size();
        each_limit(queue_position_, need, view, false, row_of, parent_of, [&](const Limit& limit) {
            choice.limits.push_back({flavor, need, limit, true});
        });
        each_limit(queue_position_, need, view, true, row_of, parent_of, [&](const Limit& never) {
            for (std::size_t i = first; i < choice.limits.size(); ++i) {
                LimitLack& lack = choice.limits[i];
                if (lack.limit.node == never.node && lack.limit.kind == never.kind)
                    lack.ever = false;
            }
        });
    }
}

// On devices in use.
std::int64_t Judge::share_members(const NodeCard& room, const RoomCell& cell,
                                  const ShapePart& part, View view) const {
    std::int64_t sum = 0;
    for (const SharedDevice& shared : room.shared) {
        if (shared.domain != cell.domain || shared.project != card_.key->project) continue;
        const std::int32_t left =
            part.device_memory == 0 ? shared.free[at(view)] : shared.unused[at(view)];
        std::int64_t members = left / part.devices;
        if (part.device_memory > 0)
            members = std::min(members, shared.memory[at(view)] / part.device_memory);
        sum += part.may_meet ? members : std::min<std::int64_t>(members, 1);
    }
    return sum;
}

Judge::Candidate Judge::candidate(int name, const NodeCard& room, int domain, const ShapePart& part,
                                  const std::map<int, Taken>& taken, View view,
                                  bool devices_alone) const {
    Candidate found{.name = name, .order = room.order};
    const auto used = taken.find(name);
    const Taken here = used == taken.end() ? Taken{} : used->second;
    std::int64_t members = std::int64_t{1} << 40;
    if (part.devices > 0) {
        const auto cell = std::ranges::find(room.cells, domain, &RoomCell::domain);
        if (cell == room.cells.end()) return found;
        found.whole = std::max<std::int64_t>(0, cell->whole[at(view)] - here.whole);
        if (part.devices % 1000 == 0) {
            members = found.whole * 1000 / part.devices;
        } else {
            found.shares = share_members(room, *cell, part, view);
            members = found.whole * meeting({.device_memory = cell->device_memory}, part) +
                      found.shares;
        }
    }
    if (!devices_alone && part.cpu_milli > 0)
        members = std::min(members, std::max<std::int64_t>(0, room.cpu_free[at(view)] - here.cpu) /
                                        part.cpu_milli);
    if (!devices_alone && part.memory_bytes > 0)
        members = std::min(
            members, std::max<std::int64_t>(0, room.memory_free[at(view)] - here.memory) /
                         part.memory_bytes);
    found.members = members;
    return found;
}

// What its members use up on the nodes, before the next part is looked at.
void Judge::take(const std::vector<Candidate>& candidates, const ShapePart& part,
                 std::map<int, Taken>& taken) const {
    std::int64_t left = part.count;
    for (const Candidate& chosen : candidates) {
        const std::int64_t takes = std::min(left, chosen.members);
        if (takes == 0) break;
        Taken& here = taken[chosen.name];
        here.cpu += takes * part.cpu_milli;
        here.memory += takes * part.memory_bytes;
        if (part.devices % 1000 == 0)
            here.whole += takes * part.devices / 1000;
        else
            here.whole += std::max<std::int64_t>(0, takes - chosen.shares);
        left -= takes;
    }
}

void Judge::add_places(std::size_t index, Choice& choice, std::map<int, Taken>& taken, bool first,
                       View view) const {
    if (by_rules_) return add_places_by_rules(index, choice, taken, first, view);
    const ShapePart& part = card_.key->shape[index];
    PlaceLack lack{.part = part};
    std::int64_t by_devices = 0;
    lack.part.flavor = choice.flavors[index];
    const NodeRule& rule = (*card_.terms)[index].nodes;
    lack.some_nodes = tables_.tainted || rule.selects_some();
    lack.selector = &rule.selector;
    if (part.devices > 0) lack.domain = domain_of(lack.part.flavor);
    const DomainCard* domain =
        lack.domain < 0 ? nullptr : tables_.domains.find(lack.domain)->get();
    if (domain != nullptr && std::ranges::find(choice.domains, lack.domain) == choice.domains.end())
        choice.domains.push_back(lack.domain);
    if (domain != nullptr && is_plain(*card_.key) && !lack.some_nodes) {
        const auto& counts = domain->by_whole[at(view)];
        const auto size = static_cast<std::size_t>(part.devices / 1000);
        for (std::size_t g = size; g < counts.size(); ++g) {
            lack.fit += counts[g] * static_cast<std::int64_t>(g / size);
            choice.with_room += counts[g];
        }
        if (first) choice.admitted = domain->usable;
    } else if (domain != nullptr || part.devices == 0) {
        std::vector<Candidate> candidates;
        tables_.nodes.each([&](std::int64_t name, const Card<NodeCard>& room) {
            if (lack.some_nodes && !rule.admits(room->traits->labels, room->traits->taints)) return;
            if (part.devices == 0 && !takes_part(*room, -1)) return;
            if (lack.some_nodes)
                lack.possible =
                    std::min(part.count, lack.possible + members_on_empty(*room, lack.domain, part));
            if (!room->usable) return;
            const bool has_cell = lack.domain < 0 || std::ranges::find(room->cells, lack.domain,
                                                                      &RoomCell::domain) !=
                                                         room->cells.end();
            choice.admitted += first && has_cell ? 1 : 0;
            const int node = static_cast<int>(name);
            const Candidate found =
                candidate(node, *room, lack.domain, part, taken, view, false);
            by_devices = std::min(part.count,
                                  by_devices + candidate(node, *room, lack.domain, part, taken,
                                                         view, true)
                                                   .members);
            if (found.members == 0) return;
            choice.with_room += first ? 1 : 0;
            lack.fit += std::min(found.members, part.count);
            if (card_.key->shape.size() > 1) candidates.push_back(found);
        });
        std::ranges::sort(candidates, [&](const Candidate& a, const Candidate& b) {
            if ((a.shares > 0) != (b.shares > 0)) return a.shares > 0;
            return a.whole != b.whole && part.devices > 0 ? a.whole < b.whole : a.order < b.order;
        });
        take(candidates, part, taken);
    }
    lack.fit = std::min(lack.fit, part.count);
    if (lack.fit == part.count) return;
    if (!lack.some_nodes) {
        const auto& machines = part.devices == 0 ? pool_->empty : domain ? domain->empty : nullptr;
        lack.possible = machines ? members_on_all(*machines, part) : 0;
    }
    lack.of_cpu_or_memory = part.devices == 0 || by_devices >= part.count;
    choice.places.push_back(lack);
}

}  // namespace tandem::sched
