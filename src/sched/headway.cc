// SPDX-License-Identifier: Apache-2.0
// Headway: the first of a queue that has no place keeps the time at which it gets one. That time is
// exact: those who hold capacity of its pool are let go in order of their stated ends, on the real
// tables and undone through the journal, until the whole placement is proved; so places, quotas and
// machines count, not sums. Whoever comes later in its queue and fits now may pass it only if it
//   ends by then, as it states itself;
//   or fits beside it: the head would still get its place at that time;
//   or can be evicted for it: preemptible, of lower priority, where the queue allows that at once.
// If somebody the head waits for stated no end, there is no such time: then whoever is preemptible
// or states a length passes, until the head has waited for `starvation_bound`; from then on nobody
// in its queue starts on what it needs. Between queues the tournament decides, not this; a right to
// evict is no way of passing either. Who would not fit if all left holds nobody up: the next after
// it is the head.
#include <algorithm>
#include <utility>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

constexpr Duration starvation_bound = hours(1);
constexpr int most_looked_at = 4;  // sleepers of a queue, for one that would fit if all left

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

bool Planner::Inside::delays_head(int class_index, const Demand& demand, Attempt& attempt,
                                  Plan& plan) {
    const bool shows = std::exchange(unshown.on, false);  // what is tried leaves nothing to show
    const bool delays = judge_head(class_index, demand, attempt, plan);
    unshown.on = shows;
    return delays;
}

Finding Planner::Inside::find_hold(int class_index) const {
    const ClassKey& key = waiting.group(class_index).key;
    return {.code = model::ReasonCode::behind, .queue = key.queue, .project = key.project};
}

bool Planner::Inside::judge_head(int class_index, const Demand& demand, Attempt& attempt,
                                 Plan& plan) {
    if (waiting.group(class_index).key.forced) return false;
    const int head = find_head(class_index, attempt, plan);
    if (head < 0) return false;
    const Demand& first = waiting.demand(waiting.group(head).first().demand).demand;
    const QueueFacts& queue = queues.at(waiting.group(head).key.queue);
    const bool evictable = demand.preemptible && demand.priority < first.priority &&
                           queue.preemption.within_queue != model::WithinQueue::never &&
                           queue.min_run_ms == 0;
    Headway& headway = headways.at(head);
    const bool stated = demand.length.ms > 0;
    const bool ends_by_then = headway.start && stated && time + demand.length <= *headway.start;
    const bool starves = time - first.submitted >= starvation_bound;
    const bool untimed = !headway.start && !starves && (stated || demand.preemptible);
    if (evictable || ends_by_then || untimed) {
        let_pass(head, demand, attempt);
        return false;
    }
    if (headway.outlook ? fits_beside(*headway.outlook, attempt)
                        : fits_once_gone(head, headway.leavers, attempt, plan))
        return false;
    waiting.hold_behind(head);
    attempt.add_key({WakeOn::head_of_queue, waiting.group(head).key.queue});
    attempt.add_key({WakeOn::pool, view_of(class_index).pool});
    attempt.add_key({WakeOn::leavers_of_pool, view_of(class_index).pool});  // it may start later
    return true;
}

// Will have left by then, unless it is one more replica of a service: then the time is found anew.
void Planner::Inside::let_pass(int head, const Demand& demand, const Attempt& attempt) {
    Headway& headway = headways.at(head);
    const bool whole = workloads.at(demand.workload).slots.size() == attempt.placed.size();
    if (!headway.outlook) {
        if (whole) headway.leavers.push_back(demand.workload);
    } else if (whole) {
        headway.outlook->passers.insert(demand.workload);
    } else {
        headways.erase(head);
    }
}

// Of those without a place whose turn is before this one's, the first that could have one; -1:
// none.
int Planner::Inside::find_head(int class_index, const Attempt& judged, Plan& plan) {
    const TurnKey own = waiting.turn_of(class_index);
    int looked_at = 0;
    for (const TurnKey& turn : waiting.asleep_in(waiting.group(class_index).key.queue)) {
        if (!(turn < own) || looked_at == most_looked_at) return -1;
        if (view_of(turn.index).closed != model::ReasonCode::none) continue;
        // What it lacks is no device: holding devices back would not help it.
        if (find_full(turn.index) != nullptr) continue;
        looked_at += 1;
        const auto known = headways.find(turn.index);
        const bool stands = known != headways.end() &&
                            (!known->second.outlook || !known->second.possible ||
                             catch_up(turn.index, *known->second.outlook));
        if (!stands) find_headway(turn.index, judged, plan);
        if (headways.at(turn.index).possible) return turn.index;
    }
    return -1;
}

// As it was before `judged` was placed. The fewest leavers that suffice are found by doubling, then
// between the last two steps: most often few have to leave, of many.
void Planner::Inside::find_headway(int class_index, const Attempt& judged, Plan& plan) {
    if (const auto wanted = countable(class_index))
        return count_headway(class_index, *wanted, judged, plan);
    Headway& headway = headways[class_index];
    const std::size_t mark = journal.size();
    for (const Attempt::Placed& placed : judged.placed) change_leaving(placed.slot);
    const auto ends = list_ends(view_of(class_index).pool);
    std::vector<RowId> order;
    for (const auto& [end, holder] : ends) order.push_back(holder);
    const auto fits = [&](std::size_t count) {
        return fits_once_gone(class_index, std::span(order).first(count), judged, plan);
    };
    std::size_t low = 0;  // fewer do not suffice
    std::size_t high = 0;
    for (headway.possible = fits(high); !headway.possible && high < ends.size();
         headway.possible = fits(high)) {
        low = high + 1;
        high = std::min(ends.size(), high * 2 + 1);
    }
    while (headway.possible && low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fits(middle))
            high = middle;
        else
            low = middle + 1;
    }
    undo_to(mark);
    if (!headway.possible) return;
    order.resize(high);
    headway.leavers = std::move(order);
    headway.start = high == 0 ? time : ends[high - 1].first;
    if (headway.start && *headway.start < time) headway.start = time;
    plan.promises.push_back({waiting.group(class_index).first().id, headway.start});
}

// Leaves nothing changed.
bool Planner::Inside::fits_once_gone(int class_index, std::span<const RowId> leavers,
                                     const Attempt& judged, Plan& plan) {
    const std::size_t mark = journal.size();
    for (RowId workload : leavers) let_leave(workload, judged);
    Attempt attempt{.view = View::future, .kind = EntryKind::claim};
    const Demand& demand = waiting.demand(waiting.group(class_index).first().demand).demand;
    const bool fits = place(class_index, demand, attempt, plan);
    undo_to(mark);
    plan.steps_used += static_cast<std::int64_t>(leavers.size());
    return fits;
}

// With all but what is being judged, which may be one more replica of a service.
void Planner::Inside::let_leave(RowId workload, const Attempt& judged) {
    for (int index : workloads.at(workload).slots) {
        const bool stays = std::ranges::find(judged.placed, index, &Attempt::Placed::slot) !=
                           judged.placed.end();
        if (!stays && !slots[spot(index)].leaving) change_leaving(index);
    }
}

// Who holds something of a pool, soonest end first, those without a stated end last.
std::vector<std::pair<std::optional<Instant>, RowId>> Planner::Inside::list_ends(
    int pool) const {
    std::vector<std::pair<std::optional<Instant>, RowId>> ends;
    for (const auto& [workload, state] : workloads) {
        const bool holds = std::ranges::any_of(state.slots, [&](int index) {
            return !slots[spot(index)].leaving && slots[spot(index)].pool == pool;
        });
        if (!holds) continue;
        const std::int64_t end = end_of(workload);
        ends.emplace_back(end == ends_never ? std::nullopt : std::optional(Instant{end}), workload);
    }
    std::ranges::sort(ends, [](const auto& a, const auto& b) {
        if (a.first.has_value() != b.first.has_value()) return a.first.has_value();
        if (a.first != b.first) return *a.first < *b.first;
        return a.second < b.second;
    });
    return ends;
}

// Who was placed without putting off the first of its own queue leaves its time as it is. Others,
// those before it among them, take what they take; a time that is counted takes that in when it is
// next asked for (outlook.cc).
void Planner::Inside::forget_headways(int placed_class, bool evicts) {
    const int queue = waiting.group(placed_class).key.queue;
    const TurnKey own = waiting.turn_of(placed_class);
    std::erase_if(headways, [&](const auto& entry) {
        if (evicts) return true;
        if (waiting.group(entry.first).key.queue != queue) return !entry.second.outlook;
        return !(waiting.turn_of(entry.first) < own);
    });
}

}  // namespace tandem::sched
