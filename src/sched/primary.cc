// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "sched/fingerprint.h"
#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

// A share has at most one device.
bool is_odd(const Slot& slot) {
    return !slot.shares.empty() && slot.shares.front().memory_bytes > 0;
}

// Puts, replaces or removes the facts under a name; what stood there before.
template <class Facts>
std::unique_ptr<Facts> exchange(std::map<int, Facts>& table, int name,
                                std::unique_ptr<Facts> facts) {
    std::unique_ptr<Facts> before;
    if (const auto at = table.find(name); at != table.end()) {
        before = std::make_unique<Facts>(std::move(at->second));
        table.erase(at);
    }
    if (facts) table.emplace(name, std::move(*facts));
    return before;
}

template <class Facts>
bool is_same(const std::map<int, Facts>& table, int name, const std::unique_ptr<Facts>& facts) {
    const auto at = table.find(name);
    return at == table.end() ? !facts : facts && at->second == *facts;
}

bool differs_in_held_alone(const std::unique_ptr<PoolFacts>& a,
                           const std::unique_ptr<PoolFacts>& b) {
    if (!a || !b) return false;
    PoolFacts copy = *a;
    copy.held = b->held;
    return copy == *b;
}

}  // namespace

void Planner::Inside::set_node(int name, std::unique_ptr<NodeFacts> facts) {
    if (is_same(nodes, name, facts)) return;
    const bool gone = !facts;
    if (!dirty) wake_node(name);  // who was held up for the sake of somebody whom it had room for
    std::unique_ptr<NodeFacts> before = exchange(nodes, name, std::move(facts));
    if (before) {
        fingerprint -= fingerprint_of(names, name, *before);
        count_devices(*before, -1);
        tainted_nodes -= before->taints.empty() ? 0 : 1;
        closing_nodes -= before->closes ? 1 : 0;
    }
    if (!gone) {
        fingerprint += fingerprint_of(names, name, nodes.at(name));
        count_devices(nodes.at(name), 1);
        tainted_nodes += nodes.at(name).taints.empty() ? 0 : 1;
        closing_nodes += nodes.at(name).closes ? 1 : 0;
    }
    const bool closes = !gone && nodes.at(name).closes;
    if (closes || (before && before->closes)) views.clear();  // other rules for who stays long
    topologies.clear();
    may_grow = true;
    journal.push_back(NodeBefore{name, std::move(before)});
    if (dirty) return admitted.clear();
    if (gone) {
        readmit(name, nullptr);
        capacity.remove(name);
        profiles_stale = true;
        if (unshown.on) unshown.nodes.push_back(name);
        return;
    }
    reattach(name);
    readmit(name, &nodes.at(name));
    if (!dirty) wake_node(name);
}

void Planner::Inside::set_pool(int name, std::unique_ptr<PoolFacts> facts) {
    if (is_same(pools, name, facts)) return;
    const std::unique_ptr<PoolFacts> after = facts ? std::make_unique<PoolFacts>(*facts) : nullptr;
    std::unique_ptr<PoolFacts> before = exchange(pools, name, std::move(facts));
    if (before) fingerprint -= fingerprint_of(names, name, *before);
    if (after) fingerprint += fingerprint_of(names, name, *after);
    unshown.pools = true;
    if (!differs_in_held_alone(before, after)) dirty = true;
    if (!dirty) change_owners(name, before->held, after->held);
    journal.push_back(PoolBefore{name, std::move(before)});
}

void Planner::Inside::change_owners(int pool, const std::vector<DeviceKey>& before,
                                    const std::vector<DeviceKey>& after) {
    std::vector<DeviceKey> changed;
    std::ranges::set_symmetric_difference(before, after, std::back_inserter(changed));
    std::set<int> touched;
    for (const DeviceKey& key : changed) {
        if (std::ranges::binary_search(after, key))
            owners.insert_or_assign(key, pool);
        else
            owners.erase(key);
        touched.insert(key.node);
    }
    for (int node : touched) {
        reattach(node);
        if (!dirty) wake_node(node);
    }
}

void Planner::Inside::set_queue(int name, std::unique_ptr<QueueFacts> facts) {
    if (is_same(queues, name, facts)) return;
    if (facts) fingerprint += fingerprint_of(names, name, *facts);
    std::unique_ptr<QueueFacts> before = exchange(queues, name, std::move(facts));
    if (before) fingerprint -= fingerprint_of(names, name, *before);
    journal.push_back(QueueBefore{name, std::move(before)});
    dirty = true;
    follow_half_lives();
}

void Planner::Inside::set_booking(RowId id, std::unique_ptr<BookingFacts> facts) {
    const auto found = bookings.find(id);
    std::unique_ptr<BookingFacts> before;
    if (found != bookings.end()) before = std::make_unique<BookingFacts>(found->second);
    if (before && facts ? *before == *facts : !before && !facts) return;
    if (before) fingerprint -= fingerprint_of(names, id, *before);
    if (facts) fingerprint += fingerprint_of(names, id, *facts);
    for (const BookingFacts* one : {before.get(), facts.get()})
        if (one != nullptr) waiting.wake({WakeOn::pool, one->from});
    if (facts)
        bookings.insert_or_assign(id, *facts);
    else
        bookings.erase(id);
    booking_look = time;
    journal.push_back(BookingBefore{id, std::move(before)});
}

void Planner::Inside::set_occupant(RowId workload, std::unique_ptr<OccupantFacts> facts) {
    touch_release(workload);
    WorkloadState& state = workloads[workload];
    if (facts ? state.occupant == *facts : !state.occupant) {
        if (state.empty()) workloads.erase(workload);
        return;
    }
    std::unique_ptr<OccupantFacts> before;
    const bool pins = facts && !facts->preemptible;
    pin(state, pins);
    if (state.occupant) {
        before = std::make_unique<OccupantFacts>(*state.occupant);
        const std::uint64_t print = fingerprint_of(names, workload, *before);
        fingerprint -= print;
        occupants_fingerprint -= print;
        count_occupant(workload, *before, -1);
    }
    state.occupant.reset();
    if (facts) {
        const std::uint64_t print = fingerprint_of(names, workload, *facts);
        fingerprint += print;
        occupants_fingerprint += print;
        count_occupant(workload, *facts, 1);
        state.occupant = *facts;
    }
    const bool may_leave_now =
        facts && facts->preemptible && facts->standing != Standing::surplus;
    if (may_leave_now && !dirty) {
        waiting.wake_above({WakeOn::occupants_of_queue, facts->queue}, facts->priority);
        if (const int node = quota.find(facts->queue); node >= 0) {
            waiting.wake({WakeOn::borrowers_of_tree, quota.nodes()[spot(node)].root});
        }
    }
    if (state.empty()) workloads.erase(workload);
    if (unshown.on) unshown.workloads.push_back(workload);
    journal.push_back(OccupantBefore{workload, std::move(before)});
}

// Whether a workload may ever be asked to leave counts on each of its devices.
void Planner::Inside::pin(const WorkloadState& state, bool pins) {
    for (int index : state.slots) {
        Slot& slot = slots[spot(index)];
        if (slot.pinned == pins) continue;
        if (!dirty && !is_ownership(slot)) capacity.unapply(slot);
        slot.pinned = pins;
        if (!dirty && !is_ownership(slot)) capacity.apply(slot);
    }
}

int Planner::Inside::add_slot(Slot slot) {
    if (free_slots.empty()) {
        free_slots.push_back(static_cast<int>(slots.size()));
        slots.emplace_back();
    }
    const int index = free_slots.back();
    free_slots.pop_back();
    slot.live = true;
    slot.milli = 0;
    for (const Share& share : slot.shares) slot.milli += share.milli;
    fingerprint += fingerprint_of(names, slot);
    if (slot.provisional)
        provisional.push_back(index);
    else
        entries[{slot.id, slot.part}] = index;
    slot.pinned = false;
    if (slot.workload) {
        WorkloadState& state = workloads[slot.workload];
        state.slots.push_back(index);
        slot.pinned = state.occupant && !state.occupant->preemptible;
    }
    if (slot.node >= 0) {
        if (spot(slot.node) >= slots_of_node.size()) slots_of_node.resize(spot(slot.node) + 1);
        slots_of_node[spot(slot.node)].push_back(index);
    }
    count_asked(slot, 1);
    use(slot, 1);
    touch_release(slot.workload);
    permits.count(slot.workload, slot.permits, 1);
    slots[spot(index)] = std::move(slot);
    touch(slots[spot(index)]);
    if (slots[spot(index)].placing != no_name) social_slots.insert(index);
    odd_slots += is_odd(slots[spot(index)]) ? 1 : 0;
    apply(slots[spot(index)], 1);
    journal.push_back(SlotAdded{index});
    return index;
}

void Planner::Inside::remove_slot(int index) {
    Slot& slot = slots[spot(index)];
    TANDEM_ASSERT(slot.live, "an entry is removed once");
    if (!undoing) may_grow = true;
    use(slot, -1);
    touch(slot);
    touch_release(slot.workload);
    apply(slot, -1);
    permits.count(slot.workload, slot.permits, -1);
    count_asked(slot, -1);
    fingerprint -= fingerprint_of(names, slot);
    if (!slot.provisional) entries.erase({slot.id, slot.part});
    if (slot.workload) {
        WorkloadState& state = workloads[slot.workload];
        std::erase(state.slots, index);
        if (state.empty()) workloads.erase(slot.workload);
    }
    if (slot.node >= 0) std::erase(slots_of_node[spot(slot.node)], index);
    if (slot.placing != no_name) social_slots.erase(index);
    odd_slots -= is_odd(slot) ? 1 : 0;
    auto kept = std::make_unique<Slot>(std::move(slot));
    slots[spot(index)] = {};
    free_slots.push_back(index);
    journal.push_back(SlotRemoved{index, std::move(kept)});
}

void Planner::Inside::change_leaving(int index) {
    Slot& slot = slots[spot(index)];
    touch(slot);
    touch_release(slot.workload);
    apply(slot, -1);
    fingerprint -= fingerprint_of(names, slot);
    slot.leaving = !slot.leaving;
    if (slot.shown) slot.shown->leaving = slot.leaving;
    fingerprint += fingerprint_of(names, slot);
    apply(slot, 1);
    journal.push_back(LeavingChanged{index});
}

void Planner::Inside::put_demand(Demand demand) {
    ClassKey key = key_of(demand);  // knows all names of the demand from here on
    const std::uint64_t print = fingerprint_of(names, demand);
    fingerprint += print;
    count_asked(key, 1);
    const RowId workload = demand.workload;
    waiting.put(std::move(demand), std::move(key), print);
    journal.push_back(DemandAdded{workload});
}

void Planner::Inside::take_demand(int slot) {
    if (!undoing) may_grow = true;
    count_asked(waiting.group(waiting.demand(slot).class_index).key, -1);
    fingerprint -= waiting.demand(slot).print;
    journal.push_back(DemandTaken{std::make_unique<Demand>(waiting.take(slot))});
}

void Planner::Inside::undo_to(std::size_t mark) {
    // Runs one step backwards; what that journals itself is cut off again.
    const auto backwards = [this]<class Step>(Step& step) {
        if constexpr (std::is_same_v<Step, SlotAdded>) {
            remove_slot(step.slot);
        } else if constexpr (std::is_same_v<Step, SlotRemoved>) {
            const int index = add_slot(std::move(*step.slot));
            TANDEM_ASSERT(index == step.index, "slots are given back in reverse order");
        } else if constexpr (std::is_same_v<Step, LeavingChanged>) {
            change_leaving(step.slot);
        } else if constexpr (std::is_same_v<Step, DemandAdded>) {
            take_demand(waiting.find(step.workload));
        } else if constexpr (std::is_same_v<Step, DemandTaken>) {
            put_demand(std::move(*step.demand));
        } else if constexpr (std::is_same_v<Step, GrowthBefore>) {
            set_growth(step.workload, std::move(step.wish));
        } else if constexpr (std::is_same_v<Step, OccupantBefore>) {
            set_occupant(step.workload, std::move(step.facts));
        } else if constexpr (std::is_same_v<Step, NodeBefore>) {
            set_node(step.name, std::move(step.facts));
        } else if constexpr (std::is_same_v<Step, PoolBefore>) {
            set_pool(step.name, std::move(step.facts));
        } else if constexpr (std::is_same_v<Step, QueueBefore>) {
            set_queue(step.name, std::move(step.facts));
        } else if constexpr (std::is_same_v<Step, BookingBefore>) {
            set_booking(step.id, std::move(step.facts));
        } else if constexpr (std::is_same_v<Step, UseBefore>) {
            set_use(step.key, step.use);
            if (step.first) remembered.erase(step.key.first);
        } else {
            set_bucket(step.queue, step.bucket);
            if (step.first) remembered.erase(step.queue);
        }
    };
    undoing = true;
    while (journal.size() > mark) {
        Undo step = std::move(journal.back());
        journal.pop_back();
        const std::size_t left = journal.size();
        std::visit(backwards, step);
        journal.resize(left);
    }
    undoing = false;
}

void Planner::Inside::end_call() {
    if (!marked) journal.clear();
}

}  // namespace tandem::sched
