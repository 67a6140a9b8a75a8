// SPDX-License-Identifier: Apache-2.0
// Making the next snapshot out of what was touched since the last one. A card that comes out equal is left
// where it is.
#include <algorithm>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

template <class T>
void show(SharedMap<Card<T>>& map, std::int64_t key, T card, std::uint64_t stamp) {
    const Card<T>* before = map.find(key);
    if (before != nullptr && **before == card) return;
    map.put(key, std::make_shared<const T>(std::move(card)), stamp);
}

template <class T>
void make_unique_list(std::vector<T>& list) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

void add_to(std::vector<std::int64_t>& counts, std::int32_t size, std::int64_t sign) {
    if (spot(size) >= counts.size()) counts.resize(spot(size) + 1);
    counts[spot(size)] += sign;
}

void sum_up(DomainCard& sum, const NodeCard& room, const RoomCell& cell, std::int64_t sign) {
    sum.nodes += sign;
    sum.devices += sign * cell.devices;
    sum.used_milli += sign * cell.used_milli;
    sum.healthy += sign * cell.healthy;
    if (!room.usable) return;
    sum.usable += sign;
    sum.free_milli += sign * cell.healthy_free_milli;
    add_to(sum.by_whole[0], cell.whole[0], sign);
    add_to(sum.by_whole[1], cell.whole[1], sign);
}

RoomCell& cell_of(NodeCard& room, int domain) {
    const auto found = std::ranges::find(room.cells, domain, &RoomCell::domain);
    if (found != room.cells.end()) return *found;
    room.cells.push_back({.domain = domain});
    return room.cells.back();
}

void add_device(NodeCard& room, const Dev& device, int domain) {
    RoomCell& cell = cell_of(room, domain);
    cell.device_memory =
        cell.devices == 0 ? device.memory : std::min(cell.device_memory, device.memory);
    cell.devices += 1;
    cell.used_milli += 1000 - device.free(View::now);
    if (!device.healthy) return;
    cell.healthy += 1;
    cell.healthy_free_milli += device.free(View::now);
    const bool claimed = device.claimed != 0;
    if (!claimed && device.occupied == 0) cell.whole[at(View::now)] += 1;
    if (!claimed && device.occupied == device.leaving) cell.whole[at(View::future)] += 1;
    if (device.stayers == 0 || device.unused(View::future) == 0) return;
    const bool own_alone = device.leavers == 0 || device.leave_project == device.stay_project;
    room.shared.push_back({domain,
                           device.stay_project,
                           {own_alone ? device.free(View::now) : 0, device.free(View::future)},
                           {own_alone ? device.unused(View::now) : 0, device.unused(View::future)},
                           {device.free_memory(View::now), device.free_memory(View::future)}});
}

}  // namespace

void Planner::Inside::touch(const Slot& slot) {
    if (!unshown.on) return;
    unshown.workloads.push_back(slot.workload);
    unshown.queues.push_back(slot.queue);
    unshown.nodes.push_back(slot.node);
}

std::shared_ptr<const Snapshot> Planner::Inside::snapshot() {
    ensure_built();
    const bool first = !published.newest;
    const bool same = !unshown.tables && !unshown.pools && unshown.workloads.empty() &&
                      unshown.queues.empty() && unshown.nodes.empty() &&
                      waiting.touched.workloads.empty() && waiting.touched.classes.empty();
    const bool timeless = half_lives.empty() && allowances.empty() && !some_run_least;
    if (!first && same && (timeless || published.tables.time == time)) return published.newest;
    if (first) {
        unshown.on = waiting.touched.on = true;
        unshown.tables = true;
        for (const auto& [workload, state] : workloads) unshown.workloads.push_back(workload);
        for (const Demand* demand : waiting.list())
            waiting.touched.workloads.push_back(demand->workload);
    }
    published.stamp += 1;
    published.tables.time = time;
    published.tables.tainted = tainted_nodes > 0;
    show_names();
    show_tables();
    make_unique_list(unshown.workloads);
    for (RowId workload : unshown.workloads) show_holder(workload);
    show_counters();
    show_waiting();
    unshown = {.on = true, .tables = false, .pools = false};
    waiting.touched = {.on = true};
    published.newest = std::make_shared<const Snapshot>(published.tables);
    return published.newest;
}

void Planner::Inside::show_names() {
    SharedMap<Card<std::string>>& shown = published.tables.names;
    for (int name = static_cast<int>(shown.size()); name < names.size(); ++name)
        shown.put(name, std::make_shared<const std::string>(names.text(name)), published.stamp);
}

void Planner::Inside::show_tables() {
    if (unshown.tables) {  // domains and positions may have other numbers now
        published.sums.clear();
        published.tables.nodes.each([&](std::int64_t name, const Card<NodeCard>&) {
            unshown.nodes.push_back(static_cast<int>(name));
        });
        for (const auto& [name, facts] : nodes) unshown.nodes.push_back(name);
    }
    make_unique_list(unshown.nodes);
    for (int name : unshown.nodes)
        if (name != no_name) show_node(name);
    const bool pools_changed = unshown.tables || unshown.pools ||
                               published.sums.size() != published.tables.domains.size();
    show_domains();
    if (unshown.tables || pools_changed) show_pools();
    show_queues();
}

void Planner::Inside::show_node(int name) {
    const Card<NodeCard>* shown = published.tables.nodes.find(name);
    NodeCard room;
    const int position = capacity.find(name);
    const bool present = position >= 0 && capacity.node(position).present;
    if (present) {
        const NodeState& node = capacity.node(position);
        room = {.order = position,
                .usable = node.usable,
                .cpu_total = node.cpu.total,
                .memory_total = node.memory.total,
                .cpu_free = {node.cpu.free(View::now), node.cpu.free(View::future)},
                .memory_free = {node.memory.free(View::now), node.memory.free(View::future)}};
        const NodeFacts& facts = nodes.at(name);
        const bool kept = shown != nullptr && (*shown)->traits->labels == facts.labels &&
                          (*shown)->traits->taints == facts.taints;
        room.traits = kept ? (*shown)->traits
                           : std::make_shared<const NodeTraits>(
                                 NodeTraits{facts.labels, facts.taints});
        for (const Dev& device : node.devices) {
            if (device.owner == no_name) continue;
            add_device(room, device, capacity.find_domain(device.owner, device.flavor));
        }
        if (!social_slots.empty()) show_neighbours(name, room);
    }
    const auto add = [&](const NodeCard& some, std::int64_t sign) {
        for (const RoomCell& cell : some.cells) {
            if (spot(cell.domain) >= published.sums.size())
                published.sums.resize(spot(cell.domain) + 1);
            sum_up(published.sums[spot(cell.domain)], some, cell, sign);
            published.changed_domains.insert(cell.domain);
        }
    };
    if (shown != nullptr && !unshown.tables) add(**shown, -1);
    if (present) add(room, 1);
    if (present)
        show(published.tables.nodes, name, std::move(room), published.stamp);
    else
        published.tables.nodes.erase(name, published.stamp);
}

void Planner::Inside::show_neighbours(int name, NodeCard& room) const {
    if (spot(name) >= slots_of_node.size()) return;
    for (int index : slots_of_node[spot(name)]) {
        const Slot& slot = slots[spot(index)];
        if (slot.placing == no_name || (slot.leaving && slot.kind != EntryKind::allocation))
            continue;
        room.neighbours.push_back(
            {slot.workload.value, slot.project, slot.leaving, placings.at(slot.placing)});
    }
    std::ranges::sort(room.neighbours, {}, &NeighbourCard::workload);
}

void Planner::Inside::show_domains() {
    if (unshown.tables) {
        std::vector<std::int64_t> old;
        published.tables.domains.each(
            [&](std::int64_t index, const Card<DomainCard>&) { old.push_back(index); });
        for (std::int64_t index : old)
            if (index >= static_cast<std::int64_t>(capacity.domains().size()))
                published.tables.domains.erase(index, published.stamp);
    }
    published.sums.resize(capacity.domains().size());
    if (unshown.tables || published.tables.domains.size() != published.sums.size())
        for (std::size_t i = 0; i < published.sums.size(); ++i)
            published.changed_domains.insert(static_cast<int>(i));
    for (int index : published.changed_domains) {
        DomainCard& sum = published.sums[spot(index)];
        sum.pool = capacity.domain(index).pool;
        sum.flavor = capacity.domain(index).flavor;
        sum.empty = empty_machines().of_domain(index);
        show(published.tables.domains, index, DomainCard(sum), published.stamp);
    }
    published.changed_domains.clear();
}

void Planner::Inside::show_pools() {
    std::vector<std::int64_t> gone;
    published.tables.pools.each([&](std::int64_t name, const Card<PoolCard>&) {
        if (!pools.contains(static_cast<int>(name))) gone.push_back(name);
    });
    for (std::int64_t name : gone) published.tables.pools.erase(name, published.stamp);
    for (const auto& [name, facts] : pools) {
        show(published.tables.pools, name,
             PoolCard{.id = facts.id,
                      .name = name,
                      .form = facts.form,
                      .flavor = facts.flavor,
                      .devices = facts.devices,
                      .held = static_cast<std::int64_t>(facts.held.size()),
                      .projects = facts.projects,
                      .domains = capacity.domains_of(name),
                      .levels = facts.levels,
                      .empty = empty_machines().of_pool(name)},
             published.stamp);
    }
    published.tables.shared_pool = shared_pool;
}

void Planner::Inside::show_queue(int node) {
    const QueueNode& queue = quota.nodes()[spot(node)];
    QueueCard card{.name = queue.name,
                   .parent = queue.parent,
                   .pool = queue.pool,
                   .stopped = queue.stopped,
                   .projects = queue.projects};
    for (std::size_t f = 0; f < quota.flavors().size(); ++f)
        card.rows.push_back(quota.row(node, static_cast<int>(f)));
    card.children = queue.children;
    card.preemption = queues.at(queue.name).preemption;
    card.min_run_ms = queues.at(queue.name).min_run_ms;
    if (const auto bucket = allowances.find(queue.name); bucket != allowances.end())
        card.bucket = bucket->second;
    if (const auto half_life = half_lives.find(queue.name); half_life != half_lives.end()) {
        card.half_life = half_life->second;
        for (auto at = uses.lower_bound({queue.name, no_name});
             at != uses.end() && at->first.first == queue.name; ++at)
            card.uses.push_back(at->second);
    }
    show(published.tables.queues, node, std::move(card), published.stamp);
}

void Planner::Inside::show_queues() {
    SnapshotTables& tables = published.tables;
    if (unshown.tables) {
        tables.flavors = std::make_shared<const std::vector<int>>(quota.flavors());
        std::vector<std::int64_t> gone;
        tables.queues.each([&](std::int64_t node, const Card<QueueCard>&) {
            if (node >= static_cast<std::int64_t>(quota.nodes().size())) gone.push_back(node);
        });
        for (std::int64_t node : gone) tables.queues.erase(node, published.stamp);
        tables.queue_of_name = {};
        for (std::size_t n = 0; n < quota.nodes().size(); ++n) {
            show_queue(static_cast<int>(n));
            tables.queue_of_name.put(quota.nodes()[n].name, static_cast<int>(n), published.stamp);
        }
        return;
    }
    std::vector<int> positions;
    make_unique_list(unshown.queues);
    for (int name : unshown.queues)
        for (int node = quota.find(name); node >= 0; node = quota.nodes()[spot(node)].parent)
            positions.push_back(node);
    make_unique_list(positions);
    for (int node : positions) show_queue(node);
}

void Planner::Inside::show_holder(RowId workload) {
    if (!workload) return;
    SnapshotTables& tables = published.tables;
    const auto found = workloads.find(workload);
    HolderCard card;
    if (found != workloads.end()) {
        if (const auto& occupant = found->second.occupant) {
            card.queue = occupant->queue;
            card.priority = occupant->priority;
            card.preemptible = occupant->preemptible;
            card.occupant = true;
            card.started = occupant->started;
            const bool is_part = occupant->standing != Standing::whole;
            if (is_part && !found->second.slots.empty())
                card.owner = slots[spot(found->second.slots.front())].id;
        }
        for (int index : found->second.slots) {
            const Slot& slot = slots[spot(index)];
            card.queue = slot.queue;
            card.pool = slot.pool;
            if (slot.flavor != no_name) card.flavor = slot.flavor;
            card.milli += slot.milli;
            card.claims = card.claims || (slot.kind == EntryKind::claim && !slot.leaving);
            card.leaving = card.leaving || slot.leaving;
            card.nodes.push_back(slot.node);
        }
        make_unique_list(card.nodes);
    }
    const bool holds = found != workloads.end() && !found->second.slots.empty();
    const Card<HolderCard>* before = tables.holders.find(workload.value);
    if (before != nullptr && holds && **before == card) return;
    const auto change_queue = [&](int name, const Card<HolderCard>* put) {
        const auto* inner = tables.holders_of_queue.find(name);
        SharedMap<Card<HolderCard>> list = inner ? *inner : SharedMap<Card<HolderCard>>{};
        if (put != nullptr)
            list.put(workload.value, *put, published.stamp);
        else
            list.erase(workload.value, published.stamp);
        tables.holders_of_queue.put(name, std::move(list), published.stamp);
    };
    if (before != nullptr && (!holds || (*before)->queue != card.queue))
        change_queue((*before)->queue, nullptr);
    if (card.leaving && holds)
        tables.leavers.put(workload.value, true, published.stamp);
    else
        tables.leavers.erase(workload.value, published.stamp);
    if (!holds) return tables.holders.erase(workload.value, published.stamp);
    const Card<HolderCard> made = std::make_shared<const HolderCard>(std::move(card));
    change_queue(made->queue, &made);
    tables.holders.put(workload.value, made, published.stamp);
}

void Planner::Inside::show_class(int class_index, MemberChanges& changes) {
    SnapshotTables& tables = published.tables;
    const WorkClass& group = waiting.group(class_index);
    const Card<ClassCard>* before = tables.classes.find(class_index);
    ClassCard card = before != nullptr ? **before : ClassCard{};
    if (!changes.gone.empty()) {
        MemberChanges leaves{.gone = std::move(changes.gone)};
        change_members(card.members, leaves);
    }
    const auto list_anew = [&](int queue) {
        tables.classes_of_queue.put(
            queue, std::make_shared<const std::vector<int>>(waiting.classes_of(queue)),
            published.stamp);
    };
    if (card.serial != group.serial || !group.used) {
        if (card.key) list_anew(card.key->queue);
        if (!group.used) return tables.classes.erase(class_index, published.stamp);
        card.key = std::make_shared<const ClassKey>(group.key);
        std::vector<PartTerms> terms;
        for (const ShapePart& part : group.key.shape)
            terms.push_back({choice_of(part.flavor), rule_of(part.rule)});
        card.terms = std::make_shared<const std::vector<PartTerms>>(std::move(terms));
        card.permits =
            std::make_shared<const std::vector<PermitNeed>>(permits.needs(group.key.permits));
        const auto placing = placings.find(group.key.placing);
        card.placing = placing == placings.end() ? PlacingRef{} : placing->second;
        card.serial = group.serial;
        list_anew(group.key.queue);
    }
    const bool same = before != nullptr && (*before)->serial == group.serial &&
                      (*before)->asleep == group.asleep && (*before)->finding == group.finding &&
                      (*before)->size == static_cast<std::int64_t>(group.size()) &&
                      changes.come.empty() && card.members == (*before)->members;
    if (same) return;
    if (!changes.come.empty()) change_members(card.members, changes);
    card.asleep = group.asleep;
    card.finding = group.finding;
    card.size = static_cast<std::int64_t>(group.size());
    tables.classes.put(class_index, std::make_shared<const ClassCard>(std::move(card)),
                       published.stamp);
}

void Planner::Inside::show_waiting() {
    SnapshotTables& tables = published.tables;
    std::map<int, MemberChanges> changes;
    for (int index : waiting.touched.classes) changes[index];
    make_unique_list(waiting.touched.workloads);
    for (RowId workload : waiting.touched.workloads) {
        const WaitingRef* before = tables.waiting.find(workload.value);
        const int slot = waiting.find(workload);
        if (before != nullptr)
            changes[before->class_index].gone.push_back({before->submitted, workload});
        if (slot < 0) {
            tables.waiting.erase(workload.value, published.stamp);
            continue;
        }
        const DemandSlot& held = waiting.demand(slot);
        changes[held.class_index].come.push_back({held.demand.submitted, workload});
        tables.waiting.put(workload.value, {held.class_index, held.demand.submitted},
                           published.stamp);
    }
    for (auto& [index, change] : changes) show_class(index, change);
}

}  // namespace tandem::sched
