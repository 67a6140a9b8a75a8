// SPDX-License-Identifier: Apache-2.0
// Counters beside devices: who sleeps for one, whom a release wakes, and what readers see of them
// (permits.h).
#include <algorithm>

#include "sched/inside.h"
#include "sched/verdict_writer.h"

namespace tandem::sched {

const PermitNeed* Planner::Inside::find_full([[maybe_unused]] int class_index) const {
#if defined(TANDEM_PLANT_PERMITS)
    return nullptr;
#else
    const WorkClass& group = waiting.group(class_index);
    // Looked at again, it waits for what it waited for: others that fill up meanwhile wake nobody.
    for (const PermitNeed& need : permits.needs(group.key.permits))
        if (need.counter == group.finding.counter && !need.fits(permits.used(need.counter)))
            return &need;
    return permits.find_full(group.key.permits);
#endif
}

// Sleeps for the first that is full alone: once that has room, the others are looked at.
void Planner::Inside::sleep_for_permit(int class_index, const PermitNeed& full) {
    const ClassKey& key = waiting.group(class_index).key;
    const Permit& of = permits.counter(full.counter).of;
    waiting.sleep(class_index, {{WakeOn::permit, full.counter}},
                  {.code = code_of_full(of, full.amount, full.limit),
                   .queue = key.queue,
                   .project = key.project,
                   .needed = full.amount,
                   .counter = full.counter,
                   .limit = full.limit});
}

// Before anybody bids: who can't start whatever devices there are has no say in whose turn it is,
// be it awake because a counter has room or because all were woken. Who sleeps for devices and
// would now find a counter full sleeps for that: what a second look would tell is told.
void Planner::Inside::rest_permitted() {
    if (permits.counters().empty()) return;
    for (int index = 0; index < static_cast<int>(waiting.class_slots()); ++index) {
        const WorkClass& group = waiting.group(index);
        if (!group.used || group.size() == 0 || group.key.permits == no_name) continue;
        if (group.asleep && group.finding.counter != no_name) continue;
        if (const PermitNeed* full = find_full(index)) sleep_for_permit(index, *full);
    }
}

// The slot is about to go: wakes those for whom what it gives back is enough.
void Planner::Inside::wake_permitted(const Slot& slot) {
    if (slot.permits == no_name || !permits.is_last(slot.workload, slot.permits)) return;
    for (const PermitNeed& given : permits.needs(slot.permits)) {
        const std::int64_t used = permits.used(given.counter) - given.amount;
        waiting.wake_permitted({WakeOn::permit, given.counter}, [&](int list) {
            return std::ranges::all_of(permits.needs(list), [&](const PermitNeed& need) {
                return need.counter != given.counter || need.fits(used);
            });
        });
    }
}

std::string Planner::Inside::recount_permits() const {
    std::vector<std::pair<RowId, int>> all;
    for (const Slot& slot : slots)
        if (slot.live && slot.permits != no_name) all.emplace_back(slot.workload, slot.permits);
    return permits.compare(all);
}

void Planner::Inside::show_counters() {
    for (int number : permits.take_changed()) {
        const CounterState& state = permits.counter(number);
        CounterCard card{.of = state.of,
                         .used = state.used,
                         .holders = static_cast<std::int64_t>(state.holders.size())};
        for (const auto& [workload, amount] : state.holders)
            card.largest.push_back({workload, amount});
        const auto larger = [](const CounterHolder& a, const CounterHolder& b) {
            return a.amount != b.amount ? a.amount > b.amount : a.workload < b.workload;
        };
        const std::size_t shown = std::min(card.largest.size(), holders_shown);
        std::ranges::partial_sort(
            card.largest, card.largest.begin() + static_cast<std::ptrdiff_t>(shown), larger);
        card.largest.resize(shown);
        published.tables.counters.put(number, std::make_shared<const CounterCard>(std::move(card)),
                                      published.stamp);
    }
}

// All that are full; while one is, devices are not what it waits for.
void VerdictWriter::add_permits(model::Verdict& verdict) const {
    model::Remedy remedy;
    for (const PermitNeed& need : *card_.permits) {
        const Card<CounterCard>* counter = tables_.counters.find(need.counter);
        const std::int64_t used = counter == nullptr ? 0 : (*counter)->used;
        if (need.fits(used)) continue;
        const Permit of = counter == nullptr ? Permit{} : (*counter)->of;
        verdict.constraints.push_back(reason_of_full(of, need.amount, used, need.limit));
        remedy.steps.push_back(remedy_of_full(of, used + need.amount - need.limit));
        if (counter != nullptr) add_counter_holders(**counter, verdict);
    }
    if (verdict.constraints.empty()) return;
    verdict.proved = true;
    verdict.reason = verdict.constraints.front();
    verdict.remedies.push_back(std::move(remedy));
}

void VerdictWriter::add_counter_holders(const CounterCard& counter, model::Verdict& verdict) const {
    if (!verdict.holders.empty()) return;  // of the first that is full
    for (const CounterHolder& held : counter.largest) {
        const Card<HolderCard>* found = tables_.holders.find(held.workload.value);
        if (found == nullptr) continue;
        const HolderCard& holder = **found;
        verdict.holders.push_back({.workload = holder.told_as(held.workload.value),
                                   .queue = text(holder.queue),
                                   .flavor = text(holder.flavor),
                                   .milli = holder.milli,
                                   .priority = holder.priority,
                                   .preemptible = holder.preemptible,
                                   .leaving = holder.leaving,
                                   .units = counter.of.devices ? 0 : held.amount});
    }
    verdict.holders_more = counter.holders - static_cast<std::int64_t>(verdict.holders.size());
}

}  // namespace tandem::sched
