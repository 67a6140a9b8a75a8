// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

bool admits(const std::vector<int>& projects, int project) {
    return projects.empty() || std::ranges::binary_search(projects, project);
}

}  // namespace

// The oldest shared pool owns what no other pool holds.
int Planner::Inside::find_shared_pool() const {
    int best = no_name;
    for (const auto& [name, facts] : pools) {
        if (facts.form != model::Form::shared) continue;
        if (best != no_name) {
            const RowId other = pools.at(best).id;
            if (other < facts.id || (other == facts.id && names.text(best) < names.text(name)))
                continue;
        }
        best = name;
    }
    return best;
}

std::vector<int> Planner::Inside::list_flavors() const {
    std::set<int> found;
    for (const auto& [name, facts] : nodes) {
        for (const DeviceFacts& device : facts.devices) found.insert(device.flavor);
    }
    for (const auto& [name, facts] : queues) {
        for (const QuotaFacts& quota_facts : facts.quotas) found.insert(quota_facts.flavor);
    }
    for (const Slot& slot : slots) {
        if (slot.live) found.insert(slot.flavor);
    }
    found.erase(no_name);
    std::vector<int> flavors(found.begin(), found.end());
    std::ranges::sort(flavors, {},
                      [this](int flavor) -> const std::string& { return names.text(flavor); });
    return flavors;
}

void Planner::Inside::derive(Owners& new_owners, Capacity& new_capacity,
                             QuotaTree& new_quota) const {
    const int owner_of_rest = find_shared_pool();
    for (const auto& [name, facts] : pools) {
        if (facts.form == model::Form::shared) continue;
        for (const DeviceKey& key : facts.held) new_owners.try_emplace(key, name);
    }
    for (const Slot& slot : slots) {
        if (!slot.live || !is_ownership(slot)) continue;
        for (const Share& share : slot.shares)
            new_owners.try_emplace({slot.node, share.device}, slot.pool);
    }
    std::vector<std::pair<RowId, int>> order;
    for (const auto& [name, facts] : nodes) order.emplace_back(facts.id, name);
    std::ranges::sort(order, [this](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : names.text(a.second) < names.text(b.second);
    });
    for (const auto& [id, name] : order)
        new_capacity.append(name, nodes.at(name), new_owners, owner_of_rest);
    new_quota.build(queues, list_flavors());
    for (const Slot& slot : slots) {
        if (!slot.live) continue;
        if (!is_ownership(slot)) new_capacity.apply(slot);
        if (!is_charged(slot)) continue;
        new_quota.charge(new_quota.find(slot.queue), new_quota.flavor_row(slot.flavor), slot.milli,
                         slot.leaving);
    }
}

void Planner::Inside::build() {
    owners.clear();
    capacity.clear();
    admitted.clear();
    derive(owners, capacity, quota);
    shared_pool = find_shared_pool();
    builds += 1;
    dirty = false;
    may_grow = true;
    profiles_stale = true;
    topologies.clear();
    some_run_least = std::ranges::any_of(
        queues, [](const auto& queue) { return queue.second.min_run_ms > 0; });
    unshown.tables = true;
    waiting.forget_keys();
}

// A hold under the id of a pool that keeps devices, or what a booking keeps of a window: it makes
// the pool their owner, and takes nothing from it.
bool Planner::Inside::is_ownership(const Slot& slot) const {
    if (slot.kind != EntryKind::hold && slot.kind != EntryKind::reservation) return false;
    const auto pool = pools.find(slot.pool);
    return pool != pools.end() && pool->second.id == slot.id &&
           pool->second.form != model::Form::shared;
}

// A window is charged whole, whoever uses it.
bool Planner::Inside::is_charged(const Slot& slot) const {
    if (is_ownership(slot)) return slot.kind == EntryKind::reservation;
    if (bookings.empty()) return true;
    const auto pool = pools.find(slot.pool);
    return pool == pools.end() || !pool->second.windowed;
}

void Planner::Inside::own(const Slot& slot, bool gains) {
    const std::vector<DeviceKey>& held = pools.at(slot.pool).held;
    bool changed = false;
    for (const Share& share : slot.shares) {
        const DeviceKey key{slot.node, share.device};
        if (std::ranges::binary_search(held, key)) continue;  // its pool says so already
        changed =
            (gains ? owners.try_emplace(key, slot.pool).second : owners.erase(key) > 0) || changed;
    }
    if (!changed) return;
    reattach(slot.node);
    if (!dirty) wake_node(slot.node);
}

void Planner::Inside::reattach(int node_name) {
    const auto facts = nodes.find(node_name);
    profiles_stale = true;
    if (unshown.on) unshown.nodes.push_back(node_name);
    if (facts == nodes.end()) return;
    for (const DeviceFacts& device : facts->second.devices) {
        if (device.flavor != no_name && quota.flavor_row(device.flavor) < 0)
            dirty = true;  // it gets rows of its own
    }
    const std::size_t domains = capacity.domains().size();
    if (dirty || !capacity.put(node_name, facts->second, owners, shared_pool)) {
        dirty = true;
        return;
    }
    if (capacity.domains().size() != domains) views.clear();  // another flavor to choose from
    if (spot(node_name) >= slots_of_node.size()) return;
    for (int index : slots_of_node[spot(node_name)]) {
        if (!is_ownership(slots[spot(index)])) capacity.apply(slots[spot(index)]);
    }
}

void Planner::Inside::apply(const Slot& slot, int sign) {
    if (dirty) return;
    const bool owns = is_ownership(slot);
    if (owns) own(slot, sign > 0);
    const bool charged = is_charged(slot);
    if (dirty || (owns && !charged)) return;
    const int flavor_row = quota.flavor_row(slot.flavor);
    if (slot.flavor != no_name && flavor_row < 0) {
        dirty = true;
        return;
    }
    if (!owns && sign > 0) capacity.apply(slot);
    if (!owns && sign < 0) capacity.unapply(slot);
    if (!charged) return;
    quota.charge(quota.find(slot.queue), flavor_row, slot.milli * sign, slot.leaving);
}

// Freed capacity wakes whom it may help: the domains and pools that the node takes part in.
void Planner::Inside::wake_node(int node_name) {
    if (quiet) return;
    const int position = capacity.find(node_name);
    if (position < 0) return;
    for (const Cell& cell : capacity.node(position).cells) {
        waiting.wake({WakeOn::domain, cell.domain});
        waiting.wake({WakeOn::pool, capacity.domain(cell.domain).pool});
    }
    if (capacity.node(position).cells.empty()) waiting.wake({WakeOn::pool, shared_pool});
}

void Planner::Inside::wake_after_release(const Slot& slot) {
    if (dirty) return;  // the build will wake everybody
    wake_permitted(slot);
    wake_node(slot.node);
    if (slot.placing != no_name) waiting.wake({WakeOn::company, 0});
    const int flavor_row = quota.flavor_row(slot.flavor);
    if (flavor_row < 0) return;
    for (int node = quota.find(slot.queue); node >= 0; node = quota.nodes()[spot(node)].parent) {
        waiting.wake({WakeOn::quota, static_cast<std::int64_t>(quota.row_index(node, flavor_row))});
    }
}

ClassKey Planner::Inside::key_of(const Demand& demand) {
    ClassKey key{.queue = names.intern(demand.queue),
                 .project = names.intern(demand.project),
                 .priority = demand.priority,
                 .next_before_borrowing = demand.when_borrow == model::WhenBorrow::next,
                 .preempts_before_next = demand.when_preempt == model::WhenPreempt::preempt,
                 .length = demand.length.ms,
                 .preemptible = demand.preemptible,
                 .permits = permits.intern(names, demand.permits),
                 .forced = demand.forced,
                 .placing = intern_placing(demand.placing),
                 .window = names.intern(demand.window)};
    const bool may_meet =
        demand.placing.rules && demand.placing.rules->sharing == model::Sharing::allowed;
    key.shape.reserve(demand.parts.size());
    for (const DemandPart& part : demand.parts) {
        key.shape.push_back({part.count, part.each.devices, intern_choice(part.each.flavor),
                             part.each.cpu_milli, part.each.memory_bytes,
                             intern_rule(part.each), part.each.device_memory_bytes, may_meet});
    }
    return key;
}

int Planner::Inside::intern_choice(const std::string& text) {
    const int number = names.intern(text);
    if (number != no_name && !flavor_choices.contains(number))
        flavor_choices.emplace(number, parse_choice(names, text));
    return number;
}

const FlavorChoice& Planner::Inside::choice_of(int asked) const {
    static const FlavorChoice any{};
    const auto known = flavor_choices.find(asked);
    return known == flavor_choices.end() ? any : known->second;
}

const ClassView& Planner::Inside::view_of(int class_index) {
    if (spot(class_index) >= views.size()) views.resize(spot(class_index) + 1);
    ClassView& view = views[spot(class_index)];
    const WorkClass& group = waiting.group(class_index);
    if (view.built == builds && view.serial == group.serial) return view;
    view = {.built = builds,
            .serial = group.serial,
            .node = quota.find(group.key.queue),
            .queue = group.key.queue,
            .project = group.key.project,
            .permits = group.key.permits,
            .forced = group.key.forced};
    if (view.node < 0 || quota.nodes()[spot(view.node)].stopped) {
        view.closed = model::ReasonCode::queue_unavailable;
        return view;
    }
    const QueueNode& queue = quota.nodes()[spot(view.node)];
    view.windowed = group.key.window != no_name;
    view.pool = view.windowed ? group.key.window : queue.pool;
    const auto pool = pools.find(view.pool);
    if (pool != pools.end()) view.placement = pool->second.placement;
    if (pool == pools.end())
        view.closed = model::ReasonCode::pool_unavailable;
    else if (!admits(queue.projects, group.key.project) ||
             !admits(pool->second.projects, group.key.project)) {
        view.closed = model::ReasonCode::not_allowed_in_pool;
    }
    view.placing = group.key.placing;
    view.company = has_company(view.placing) ? view.placing : no_name;
    view.by_rules = view.placing != no_name;
    const std::vector<int>& domains = capacity.domains_of(view.pool);
    for (const ShapePart& part : group.key.shape) {
        view.by_rules = view.by_rules || part.device_memory > 0 ||
                        !rule_of(part.rule).affinity.preferred.empty();
        const std::int64_t lasts = group.key.length > 0 ? group.key.length : ends_never;
        const bool closes = closing_nodes > 0 && group.key.lasts();
        view.parts.push_back({.asked = part.flavor,
                              .rule = closes ? intern_lasting(part.rule, lasts) : part.rule});
        const FlavorChoice& choice = choice_of(part.flavor);
        int flavor = choice.single();
        if (flavor == no_name) {
            const auto first = std::ranges::find_if(domains, [&](int index) {
                return choice.admits(capacity.domain(index).flavor);
            });
            if (first != domains.end()) flavor = capacity.domain(*first).flavor;
        }
        const int flavor_row = quota.flavor_row(flavor);
        if (flavor_row < 0 || part.devices == 0 || view.windowed) continue;
        const std::int64_t milli = bounded_product(part.devices, part.count);
        const auto same = std::ranges::find(view.needs, flavor_row, &Need::flavor_row);
        if (same == view.needs.end())
            view.needs.push_back({flavor_row, milli});
        else
            same->milli = std::min(same->milli + milli, bounded_product(milli, 1'000'000));
    }
    return view;
}

}  // namespace tandem::sched
