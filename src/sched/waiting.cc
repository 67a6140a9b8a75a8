// SPDX-License-Identifier: Apache-2.0
#include "sched/waiting.h"

#include <algorithm>

#include "base/assert.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

void add_member(WorkClass& group, const Member& member) {
    if (group.head > 0 && (group.size() == 0 || member < group.first())) {
        group.members[--group.head] = member;  // given back by an undo: its place is still there
        return;
    }
    if (group.head > 64 && group.head > group.size()) {  // those that are gone are the larger part
        group.members.erase(group.members.begin(),
                            group.members.begin() + static_cast<std::ptrdiff_t>(group.head));
        group.head = 0;
    }
    const auto begin = group.members.begin() + static_cast<std::ptrdiff_t>(group.head);
    group.members.insert(std::upper_bound(begin, group.members.end(), member), member);
}

void drop_member(WorkClass& group, const Member& member) {
    const auto begin = group.members.begin() + static_cast<std::ptrdiff_t>(group.head);
    const auto found = std::lower_bound(begin, group.members.end(), member);
    TANDEM_ASSERT(found != group.members.end() && found->id == member.id,
                  "a waiting demand stands in its class");
    if (found == begin) {
        group.head += 1;
        if (group.head == group.members.size()) {
            group.members.clear();
            group.head = 0;
        }
        return;
    }
    group.members.erase(found);
}

}  // namespace

int Waiting::find(RowId workload) const {
    const auto found = by_workload_.find(workload);
    return found == by_workload_.end() ? -1 : found->second;
}

const std::vector<int>& Waiting::classes_of(int queue) const {
    const auto found = by_queue_.find(queue);
    return found == by_queue_.end() ? none_ : found->second;
}

int Waiting::first_class(int queue) const {
    const auto found = turns_.find(queue);
    return found == turns_.end() || found->second.empty() ? -1 : found->second.begin()->index;
}

const std::set<TurnKey>& Waiting::asleep_in(int queue) const {
    const auto found = asleep_.find(queue);
    return found == asleep_.end() ? nobody_ : found->second;
}

TurnKey Waiting::turn_of(int class_index) const {
    const WorkClass& group = classes_[spot(class_index)];
    return {-group.key.priority, group.first().submitted, group.first().id, class_index};
}

// Most often classes come in the order of their turns: the last place is tried first.
std::set<TurnKey>::iterator Waiting::stand_in(std::set<TurnKey>& turns, const TurnKey& turn) {
    if (spare_.empty()) return turns.insert(turns.end(), turn);
    std::set<TurnKey>::node_type place = std::move(spare_.back());
    spare_.pop_back();
    place.value() = turn;
    return turns.insert(turns.end(), std::move(place));
}

void Waiting::step_out(std::set<TurnKey>& turns, std::set<TurnKey>::iterator at) {
    spare_.push_back(turns.extract(at));
}

void Waiting::relist_asleep(int index) {
    WorkClass& group = classes_[spot(index)];
    const bool stands = group.asleep && group.size() > 0;
    if (!stands && !group.blocked) return;
    std::set<TurnKey>& asleep = asleep_[group.key.queue];
    if (stands && group.blocked && *group.turn_asleep == turn_of(index)) return;
    if (group.blocked) step_out(asleep, group.turn_asleep);
    group.blocked = stands;
    if (!stands) return;
    group.turn_asleep = stand_in(asleep, turn_of(index));
    const auto head = held_for_.find(group.key.queue);
    if (head != held_for_.end() && *group.turn_asleep < head->second) wake_held(group.key.queue);
}

void Waiting::hold_behind(int class_index) {
    const TurnKey turn = turn_of(class_index);
    const auto [head, added] =
        held_for_.try_emplace(classes_[spot(class_index)].key.queue, turn);
    if (head->second < turn) head->second = turn;
}

void Waiting::wake_held(int queue) {
    held_for_.erase(queue);
    wake({WakeOn::head_of_queue, queue});
}

int Waiting::need_class(ClassKey key) {
    const auto [entry, added] = by_key_.try_emplace(std::move(key), -1);
    if (!added) return entry->second;
    if (free_classes_.empty()) {
        free_classes_.push_back(static_cast<int>(classes_.size()));
        classes_.emplace_back();
    }
    entry->second = free_classes_.back();
    free_classes_.pop_back();
    classes_[spot(entry->second)] = {.key = entry->first, .serial = next_serial_++, .used = true};
    by_queue_[entry->first.queue].push_back(entry->second);
    return entry->second;
}

int Waiting::put(Demand demand, ClassKey key, std::uint64_t print) {
    const int index = need_class(std::move(key));
    if (free_demands_.empty()) {
        free_demands_.push_back(static_cast<int>(demands_.size()));
        demands_.emplace_back();
    }
    const int slot = free_demands_.back();
    free_demands_.pop_back();
    by_workload_[demand.workload] = slot;
    untold_.push_back(demand.workload);
    if (touched.on) touched.workloads.push_back(demand.workload);
    add_member(classes_[spot(index)], {demand.submitted, demand.workload, slot});
    demands_[spot(slot)] = {std::move(demand), index, print};
    relist(index);
    return slot;
}

Demand Waiting::take(int slot) {
    DemandSlot& held = demands_[spot(slot)];
    const int index = held.class_index;
    WorkClass& group = classes_[spot(index)];
    const auto head = held_for_.find(group.key.queue);
    const bool was_head = head != held_for_.end() && group.first().id == held.demand.workload &&
                          !(head->second < turn_of(index));
    drop_member(group, {held.demand.submitted, held.demand.workload, slot});
    if (group.size() == 0) emptied_.push_back(index);
    relist(index);
    if (was_head) wake_held(group.key.queue);
    by_workload_.erase(held.demand.workload);
    if (touched.on) touched.workloads.push_back(held.demand.workload);
    held.class_index = -1;
    free_demands_.push_back(slot);
    return std::move(held.demand);
}

void Waiting::unlist(WorkClass& group) {
    if (!group.listed) return;
    std::set<TurnKey>& turns = turns_[group.key.queue];
    step_out(turns, group.turn);
    if (turns.empty()) awake_queues_.erase(group.key.queue);
    group.listed = false;
}

void Waiting::relist(int index) {
    WorkClass& group = classes_[spot(index)];
    relist_asleep(index);
    if (group.asleep || group.size() == 0) return unlist(group);
    const TurnKey turn = turn_of(index);
    if (group.listed && turn == *group.turn) return;
    std::set<TurnKey>& turns = turns_[group.key.queue];
    if (group.listed)
        step_out(turns, group.turn);
    else
        awake_queues_.insert(group.key.queue);
    group.listed = true;
    group.turn = stand_in(turns, turn);
}

void Waiting::sleep(int index, const std::vector<WakeKey>& keys, const Finding& finding) {
    WorkClass& group = classes_[spot(index)];
    group.asleep = true;
    touch(index);
    group.finding = finding;
    if (finding.code != group.told) {
        if (group.told != model::ReasonCode::none)  // else all of them are still to be told
            retold_.push_back({.index = index, .serial = group.serial});
        group.told = finding.code;
    }
    relist(index);
    for (const WakeKey& key : keys) {
        if (std::ranges::find(group.keys, key) != group.keys.end()) continue;
        group.keys.push_back(key);
        sleepers_[key.packed()].push_back(index);
    }
}

void Waiting::wake_class(int index) {
    WorkClass& group = classes_[spot(index)];
    if (!group.asleep) return;
    group.asleep = false;
    touch(index);
    relist(index);
}

template <class Wanted>
void Waiting::wake_some(WakeKey key, Wanted wanted) {
    const auto found = sleepers_.find(key.packed());
    if (found == sleepers_.end()) return;
    std::vector<int> kept;
    for (int index : found->second) {
        WorkClass& group = classes_[spot(index)];
        if (!wanted(group)) {
            kept.push_back(index);
            continue;
        }
        std::erase(group.keys, key);
        wake_class(index);
    }
    found->second = std::move(kept);
}

void Waiting::wake([[maybe_unused]] WakeKey key) {
#if !defined(TANDEM_PLANT_WAKE_KEYS)
    wake_some(key, [](const WorkClass&) { return true; });
#endif
}

void Waiting::wake_above(WakeKey key, std::int64_t priority) {
    wake_some(key, [priority](const WorkClass& group) { return group.key.priority > priority; });
}

void Waiting::wake_permitted(WakeKey key, const std::function<bool(int permits)>& wanted) {
    wake_some(key, [&](const WorkClass& group) { return wanted(group.key.permits); });
}

void Waiting::wake_all() {
    for (std::size_t i = 0; i < classes_.size(); ++i) wake_class(static_cast<int>(i));
}

void Waiting::forget_keys() {
    sleepers_.clear();
    for (WorkClass& group : classes_) group.keys.clear();
    wake_all();
}

void Waiting::tell_all_again() {
    untold_.clear();
    retold_.clear();
    for (const Demand* demand : list()) untold_.push_back(demand->workload);
    for (WorkClass& group : classes_) group.told = model::ReasonCode::none;
}

void Waiting::release_room() {
    constexpr std::size_t kept = 1024;
    if (!by_workload_.empty() || demands_.capacity() <= kept) return;
    std::vector<DemandSlot>().swap(demands_);
    std::vector<int>().swap(free_demands_);
    std::unordered_map<RowId, int>().swap(by_workload_);
    std::vector<std::set<TurnKey>::node_type>().swap(spare_);
}

void Waiting::drop_empty_classes() {
    for (int index : emptied_) {
        WorkClass& group = classes_[spot(index)];
        if (!group.used || group.size() != 0) continue;
        for (const WakeKey& key : group.keys) std::erase(sleepers_[key.packed()], index);
        std::erase(by_queue_[group.key.queue], index);
        by_key_.erase(group.key);
        touch(index);
        group = {};
        free_classes_.push_back(index);
    }
    emptied_.clear();
}

std::int64_t Waiting::position(int slot) const {
    const DemandSlot& held = demands_[spot(slot)];
    const WorkClass& own = classes_[spot(held.class_index)];
    const Member self{held.demand.submitted, held.demand.workload, slot};
    std::int64_t before = 0;
    for (int index : classes_of(own.key.queue)) {
        const WorkClass& group = classes_[spot(index)];
        if (group.key.priority < own.key.priority) continue;
        if (group.key.priority > own.key.priority) {
            before += static_cast<std::int64_t>(group.size());
            continue;
        }
        const auto begin = group.members.begin() + static_cast<std::ptrdiff_t>(group.head);
        before += std::lower_bound(begin, group.members.end(), self) - begin;
    }
    return before + 1;
}

std::int64_t Waiting::count_in(int queue) const {
    std::int64_t count = 0;
    for (int index : classes_of(queue))
        count += static_cast<std::int64_t>(classes_[spot(index)].size());
    return count;
}

std::vector<const Demand*> Waiting::list() const {
    std::vector<const Demand*> demands;
    for (const DemandSlot& slot : demands_) {
        if (slot.class_index >= 0) demands.push_back(&slot.demand);
    }
    std::ranges::sort(demands, {}, [](const Demand* demand) { return demand->workload; });
    return demands;
}

}  // namespace tandem::sched
