// SPDX-License-Identifier: Apache-2.0
// Waiting: demands in equivalence classes. A class is all demands of one queue, project, priority
// and shape: what is proved for one of them holds for all. A class that can't be placed sleeps
// under the keys of the counters that could change it, and is looked at again only when one of them
// does. Inside of sched only.
//
// Order inside a queue: priority (larger first), submitted, id.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sched/facts.h"

namespace tandem::sched {

struct ShapePart {
    std::int64_t count = 1;
    std::int64_t devices = 0;
    int flavor = no_name;  // name of what it asks for (flavor_choice.h); no_name: any one
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    int rule = no_name;  // which nodes it may go to
    std::int64_t device_memory = 0;  // of a share; 0: its part of the device's
    bool may_meet = false;           // members may have shares of one device
    auto operator<=>(const ShapePart&) const = default;
};
struct ClassKey {
    int queue = no_name;
    int project = no_name;
    std::int64_t priority = 0;
    bool next_before_borrowing = false;
    bool preempts_before_next = false;
    std::int64_t length = 0;  // stated, in ms; 0: not
    bool preemptible = true;
    int permits = no_name;  // list of permits.h
    bool forced = false;
    int placing = no_name;  // name of what it asks of its places
    std::vector<ShapePart> shape{};
    auto operator<=>(const ClassKey&) const = default;
};

// A counter that may wake a class: a domain's or pool's free capacity, usage of a quota row, those
// who could be asked to leave in a queue or in a tree, anything that may take what leavers of a
// pool give back; a time that a plan said; the one for whose start others of
// its queue wait; a counter of permits.h; work that others select or that keeps them away.
enum class WakeOn : std::uint8_t {
    domain,
    pool,
    quota,
    occupants_of_queue,
    borrowers_of_tree,
    leavers_of_pool,
    time,
    head_of_queue,
    permit,
    company
};
struct WakeKey {
    WakeOn on = WakeOn::domain;
    std::int64_t index = 0;
    bool operator==(const WakeKey&) const = default;
    std::int64_t packed() const { return index * 16 + static_cast<std::int64_t>(on); }
};

// What was found when a class was last looked at, before it slept. `code` none: not looked at yet.
struct Finding {
    model::ReasonCode code = model::ReasonCode::none;
    int queue = no_name;
    int project = no_name;
    int flavor = no_name;
    std::int64_t needed = 0;  // milli-devices, or of the counter
    int counter = no_name;    // the one that is full
    std::int64_t limit = 0;   // of it
    int placing = no_name;    // rules of places that can't be kept, for so many members
    std::int64_t members = 0;
    bool operator==(const Finding&) const = default;
};

struct Member {
    Instant submitted{};
    RowId id{};
    int demand = -1;
    auto operator<=>(const Member& other) const {
        return std::tie(submitted, id) <=> std::tie(other.submitted, other.id);
    }
    bool operator==(const Member& other) const { return (*this <=> other) == 0; }
};
// Place of a class in its queue's order: that of its first member.
struct TurnKey {
    std::int64_t priority_down = 0;
    Instant submitted{};
    RowId id{};
    int index = -1;
    auto operator<=>(const TurnKey&) const = default;
};

struct WorkClass {
    ClassKey key{};
    std::int64_t serial = 0;        // never used twice, though its place is
    std::vector<Member> members{};  // sorted from `head` on
    std::size_t head = 0;
    bool asleep = false;
    bool listed = false;  // stands in its queue's turns, at `turn`
    bool used = false;
    bool blocked = false;  // stands among its queue's sleepers, at `turn_asleep`
    std::set<TurnKey>::iterator turn{};         // while listed
    std::set<TurnKey>::iterator turn_asleep{};  // while blocked
    std::vector<WakeKey> keys{};
    Finding finding{};
    model::ReasonCode told = model::ReasonCode::none;  // to all members but those still to be told
    std::size_t size() const { return members.size() - head; }
    const Member& first() const { return members[head]; }
};

struct DemandSlot {
    Demand demand{};
    int class_index = -1;
    std::uint64_t print = 0;  // its fingerprint
};

// What changed since somebody last looked; may name one thing several times. Kept only while `on`.
struct WaitingTouched {
    bool on = false;
    std::vector<RowId> workloads{};
    std::vector<int> classes{};
};

class Waiting {
  public:
    // The slot it got; RowIds that already wait must be taken first.
    int put(Demand demand, ClassKey key, std::uint64_t print = 0);
    Demand take(int slot);
    int find(RowId workload) const;
    const DemandSlot& demand(int slot) const { return demands_[static_cast<std::size_t>(slot)]; }

    const WorkClass& group(int index) const { return classes_[static_cast<std::size_t>(index)]; }
    const std::vector<int>& classes_of(int queue) const;
    // Queues with a class that is awake, and the first class of such a queue.
    const std::set<int>& awake_queues() const { return awake_queues_; }
    int first_class(int queue) const;
    // Classes of a queue that sleep, in their order.
    const std::set<TurnKey>& asleep_in(int queue) const;
    TurnKey turn_of(int class_index) const;
    // Somebody is about to sleep for the sake of this one's start: wakes those that sleep under its
    // queue's head_of_queue once its first member is taken, or somebody falls asleep before it.
    void hold_behind(int class_index);

    void sleep(int class_index, const std::vector<WakeKey>& keys, const Finding& finding);
    void wake(WakeKey key);
    // Of the classes that sleep under `key`, those of a larger priority.
    void wake_above(WakeKey key, std::int64_t priority);
    // Of those that sleep under `key`, whom `wanted(permits)` says that it helps.
    void wake_permitted(WakeKey key, const std::function<bool(int permits)>& wanted);
    void wake_all();
    // Drops keys, whose meaning is about to change, and wakes everybody.
    void forget_keys();
    void drop_empty_classes();
    // While nobody waits: gives back what a crowd has taken.
    void release_room();

    std::int64_t position(int slot) const;  // 1 = next in its queue
    std::int64_t count_in(int queue) const;
    std::size_t size() const { return by_workload_.size(); }
    std::size_t class_count() const { return by_key_.size(); }
    // Demands in order of their workloads' ids.
    std::vector<const Demand*> list() const;
    std::size_t class_slots() const { return classes_.size(); }

    // Workloads whose class was found to wait for another cause than they were told before, at most
    // `limit` of them; `tell` is called for each. True: there are more.
    template <class Tell>
    bool take_news(std::size_t limit, Tell tell);
    // All are told again when their class is next looked at.
    void tell_all_again();

    WaitingTouched touched{};

  private:
    int need_class(ClassKey key);
    std::set<TurnKey>::iterator stand_in(std::set<TurnKey>& turns, const TurnKey& turn);
    void step_out(std::set<TurnKey>& turns, std::set<TurnKey>::iterator at);
    void relist(int class_index);
    void unlist(WorkClass& group);
    void relist_asleep(int class_index);
    void wake_held(int queue);
    void wake_class(int class_index);
    template <class Wanted>
    void wake_some(WakeKey key, Wanted wanted);
    void touch(int class_index) {
        if (touched.on) touched.classes.push_back(class_index);
    }

    std::vector<DemandSlot> demands_{};
    std::vector<int> free_demands_{};
    std::unordered_map<RowId, int> by_workload_{};
    std::vector<WorkClass> classes_{};
    std::vector<int> free_classes_{};
    std::map<ClassKey, int> by_key_{};
    std::unordered_map<int, std::vector<int>> by_queue_{};
    std::unordered_map<int, std::set<TurnKey>> turns_{};
    std::set<int> awake_queues_{};
    std::unordered_map<int, std::set<TurnKey>> asleep_{};
    std::set<TurnKey> nobody_{};
    std::vector<std::set<TurnKey>::node_type> spare_{};  // places in such sets, to be used again
    std::unordered_map<int, TurnKey> held_for_{};  // by queue, the last of them
    std::unordered_map<std::int64_t, std::vector<int>> sleepers_{};
    std::vector<int> emptied_{};
    // A class whose cause changed, told from `from` on.
    struct Retelling {
        int index = -1;
        std::int64_t serial = 0;
        Member from{};
    };
    std::vector<RowId> untold_{};       // came since the news were taken
    std::vector<Retelling> retold_{};
    std::int64_t next_serial_ = 1;
    std::vector<int> none_{};
};

template <class Tell>
bool Waiting::take_news(std::size_t limit, Tell tell) {
    std::size_t left = limit;
    std::vector<RowId> kept;
    std::size_t next = 0;
    for (; next < untold_.size() && left > 0; ++next) {
        const int slot = find(untold_[next]);
        if (slot < 0) continue;
        const WorkClass& group = classes_[static_cast<std::size_t>(
            demands_[static_cast<std::size_t>(slot)].class_index)];
        if (!group.asleep || group.finding.code == model::ReasonCode::none) {
            kept.push_back(untold_[next]);
            continue;
        }
        left -= 1;
        tell(untold_[next], group.finding);
    }
    kept.insert(kept.end(), untold_.begin() + static_cast<std::ptrdiff_t>(next), untold_.end());
    const bool more_untold = next < untold_.size();
    untold_ = std::move(kept);
    while (!retold_.empty() && left > 0) {
        Retelling& retelling = retold_.back();
        const WorkClass& group = classes_[static_cast<std::size_t>(retelling.index)];
        auto at = group.members.end();
        if (group.used && group.serial == retelling.serial) {
            const auto begin = group.members.begin() + static_cast<std::ptrdiff_t>(group.head);
            at = std::lower_bound(begin, group.members.end(), retelling.from);
        }
        for (; at != group.members.end() && left > 0; ++at, --left) tell(at->id, group.finding);
        if (at == group.members.end())
            retold_.pop_back();
        else
            retelling.from = *at;
    }
    return more_untold || !retold_.empty();
}

}  // namespace tandem::sched
