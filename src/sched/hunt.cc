// SPDX-License-Identifier: Apache-2.0
#include "sched/hunt.h"

#include <algorithm>

namespace tandem::sched {
namespace {

constexpr Duration eviction_penalty = seconds(60);  // for each that a victim has seen already
constexpr std::size_t exact_victims = 10;           // subsets of so many are all tried

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

Price price_of(std::span<const Victim> list) {
    Price sum;
    for (const Victim& victim : list) sum = sum + victim.price;
    return sum;
}

}  // namespace

void Planner::Inside::Hunt::find_needs() {
    needs.clear();
    for (std::size_t i = 0; i < demand.parts.size(); ++i) {
        const DemandPart& part = demand.parts[i];
        if (part.each.devices == 0) continue;
        const int single = inside.choice_of(view.parts[i].asked).single();
        const int flavor = single == no_name ? attempt.only_flavor : single;
        const int row = inside.quota.flavor_row(flavor);
        if (row < 0) continue;
        const std::int64_t milli = bounded_product(part.each.devices, part.count);
        const auto same = std::ranges::find(needs, row, &Need::flavor_row);
        if (same == needs.end())
            needs.push_back({row, milli});
        else
            same->milli = bounded_product(same->milli + milli, 1);
    }
    level = -1;
    for (int node = view.node; node >= 0 && !needs.empty();
         node = inside.quota.nodes()[spot(node)].parent) {
        const bool covered = std::ranges::all_of(needs, [&](const Need& need) {
            return inside.quota.is_under_nominal(node, need.flavor_row, need.milli);
        });
#if defined(TANDEM_PLANT_COHORT_NOMINAL)
        if (node != view.node) break;
#endif
        if (!covered) continue;
        level = node;
        break;
    }
}

// Counted, not searched: the nodes as they would be if everybody left who may ever be asked to.
bool Planner::Inside::Hunt::is_possible() const {
    for (const DemandPart& part : demand.parts) {
        if (part.each.devices == 0 || part.each.devices % 1000 != 0) continue;
        const std::vector<int> domains = inside.domains_for(view, part.each, attempt.only_flavor);
        const bool fits = std::ranges::any_of(domains, [&](int index) {
            const Buckets& bound = inside.capacity.domain(index).whole[at_most];
            return bound.fitting(part.each.devices / 1000) >= part.count;
        });
        if (!fits) return false;
    }
    return true;
}

// With the right to reclaim, new borrowers count; without, the queue's own use may fall and give
// the right. Whom a quota protects changes with all use at its level.
void Planner::Inside::Hunt::add_keys(Attempt& failed) const {
    const bool shares = queue.preemption.fair_share != model::FairSharing::never;
    if (level >= 0 || shields || shares)
        failed.add_key({WakeOn::borrowers_of_tree, inside.quota.nodes()[spot(view.node)].root});
    for (const Need& need : needs) {
        for (int node = view.node; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
            if (level == view.node && !shields) break;
            failed.add_key({WakeOn::quota, static_cast<std::int64_t>(
                                               inside.quota.row_index(node, need.flavor_row))});
            if (node == level && !shields) break;
        }
    }
}

bool Planner::Inside::Hunt::evict(const Victim& victim) {
    const auto found = inside.workloads.find(victim.workload);
    if (found == inside.workloads.end()) return false;
    const std::vector<int> held = found->second.slots;
    for (int index : held) inside.change_leaving(index);
    plan.steps_used += 1;
    return true;
}

bool Planner::Inside::Hunt::quota_fits() const {
    return std::ranges::all_of(needs, [&](const Need& need) {
        return !inside.quota.find_bound(view.node, need.flavor_row, need.milli, View::future);
    });
}

bool Planner::Inside::Hunt::fits() {
    const std::size_t mark = inside.journal.size();
    const bool placed = inside.place(class_index, demand, attempt, plan);
    inside.undo_to(mark);
    attempt.shortages.clear();
    return placed;
}

// Leaves nothing changed.
bool Planner::Inside::Hunt::fits_after(std::span<const Victim> list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    const bool placed = fits();
    inside.undo_to(mark);
    return placed;
}

// Nodes first, cheapest members first; then quota.
std::optional<std::vector<Victim>> Planner::Inside::Hunt::select(Prospect& prospect) {
    const std::size_t mark = inside.journal.size();
    const std::int64_t count = demand.parts[0].count;
    std::vector<Victim> list;
    std::set<int> touched;
    prospect.refresh();
    bool enough = count - prospect.total <= prospect.most_members;
    while (enough && prospect.total < count) {
        const std::optional<Offer> offer = prospect.take_offer();
        enough = offer.has_value();
        if (!enough) break;
        std::set<int> changed;
        for (int index : offer->victims) {
            const Victim& victim = prospect.victims[spot(index)];
            evict(victim);
            list.push_back(victim);
            add_places(victim, changed);
        }
        for (int node : changed) prospect.touch(node);
        touched.merge(changed);
    }
    enough = enough && free_quota(prospect.victims, list);
    inside.undo_to(mark);
    for (int node : touched) prospect.touch(node);
    if (!enough) return std::nullopt;
    return list;
}

// While a quota binds: the cheapest below the node where it does.
bool Planner::Inside::Hunt::free_quota(std::span<const Victim> victims, std::vector<Victim>& list) {
    for (const Need& need : needs) {
        std::size_t next = 0;
        while (const auto bound =
                   inside.quota.find_bound(view.node, need.flavor_row, need.milli, View::future)) {
            for (bool found = false; !found; ++next) {
                if (next == victims.size()) return false;
                const WorkloadState& state = inside.workloads.at(victims[next].workload);
                if (inside.slots[spot(state.slots.front())].leaving) continue;
                int above = inside.quota.find(state.occupant->queue);
                while (above >= 0 && above != bound->node)
                    above = inside.quota.nodes()[spot(above)].parent;
                if (above < 0) continue;
                evict(victims[next]);
                list.push_back(victims[next]);
                found = true;
            }
        }
    }
    return true;
}

// For what is more than one shape: the shortest of the cheapest first that suffices, by trying;
// more never hurt. Of those, the ones that have something on the nodes it would go to, if they
// suffice.
std::vector<Victim> Planner::Inside::Hunt::select_by_placing(std::span<const Victim> victims) {
    std::size_t high = 1;
    while (high < victims.size() && !fits_after(victims.first(high))) high *= 2;
    high = std::min(high, victims.size());
    if (high == victims.size() && !fits_after(victims)) return {};
    std::size_t low = high / 2 + 1;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fits_after(victims.first(middle)))
            high = middle;
        else
            low = middle + 1;
    }
    std::vector<Victim> list(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(high));
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    inside.place(class_index, demand, attempt, plan);
    std::set<int> used;
    for (const Attempt::Placed& placed : attempt.placed)
        used.insert(inside.slots[spot(placed.slot)].node);
    inside.undo_to(mark);
    std::vector<Victim> touched;
    for (const Victim& victim : list) {
        const std::vector<int>& held = inside.workloads.at(victim.workload).slots;
        if (std::ranges::any_of(
                held, [&](int index) { return used.contains(inside.slots[spot(index)].node); }))
            touched.push_back(victim);
    }
    if (touched.size() < list.size() && fits_after(touched)) list = std::move(touched);
    return list;
}

void Planner::Inside::Hunt::add_places(const Victim& victim, std::set<int>& places) const {
    for (int index : inside.workloads.at(victim.workload).slots) {
        const int position = inside.capacity.find(inside.slots[spot(index)].node);
        if (position >= 0) places.insert(position);
    }
}

// One at a time, the dearest first, is let stay when the demand fits all the same.
void Planner::Inside::Hunt::drop_unneeded([[maybe_unused]] std::vector<Victim>& list,
                                          [[maybe_unused]] Prospect* prospect) {
#if !defined(TANDEM_PLANT_MINIMAL_VICTIMS)
    const std::size_t mark = inside.journal.size();
    std::ranges::sort(list, [](const Victim& a, const Victim& b) {
        return a.price == b.price ? b.workload < a.workload : b.price < a.price;
    });
    for (const Victim& victim : list) evict(victim);
    std::int64_t room = prospect != nullptr ? room_now(*prospect, list) : 0;
    std::vector<Victim> needed;
    for (const Victim& victim : list) {
        if (!is_needed(victim, prospect, room)) continue;
        evict(victim);
        needed.push_back(victim);
    }
    inside.undo_to(mark);
    list.assign(needed.rbegin(), needed.rend());
#endif
}

// Members that fit with all of the list gone.
std::int64_t Planner::Inside::Hunt::room_now(const Prospect& prospect,
                                             std::span<const Victim> list) const {
    std::set<int> places;
    for (const Victim& victim : list) add_places(victim, places);
    std::int64_t room = prospect.total;
    for (int place : places) room += prospect.members_on(place) - prospect.members_of(place);
    return room;
}

// It is let stay. Of one shape, only the nodes that it stands on count: `room` is told what
// changes.
bool Planner::Inside::Hunt::is_needed(const Victim& victim, const Prospect* prospect,
                                      std::int64_t& room) {
    if (prospect == nullptr) {
        evict(victim);
        return !fits();
    }
    std::set<int> places;
    add_places(victim, places);
    std::int64_t change = 0;
    for (int place : places) change -= prospect->members_on(place);
    evict(victim);
    for (int place : places) change += prospect->members_on(place);
    if (room + change < demand.parts[0].count || !quota_fits()) return true;
    room += change;
    return false;
}

// Among few, the cheapest set of all is found by trying.
void Planner::Inside::Hunt::improve(std::span<const Victim> victims, std::vector<Victim>& list) {
    if (victims.size() > exact_victims || (list.size() < 2 && is_structural())) return;
    Price best = price_of(list);
    for (std::size_t set = 1; set < (std::size_t{1} << victims.size()); ++set) {
        std::vector<Victim> some;
        for (std::size_t v = 0; v < victims.size(); ++v) {
            if (((set >> v) & 1) != 0) some.push_back(victims[v]);
        }
        if (!(price_of(some) < best) || !fits_after(some)) continue;
        best = price_of(some);
        list = std::move(some);
    }
}

bool Planner::Inside::Hunt::commit(std::span<const Victim> list, Placement& out) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    if (!inside.place(class_index, demand, attempt, plan)) {
        inside.undo_to(mark);
        return false;
    }
    for (const Victim& victim : list) {
        const std::vector<int>& held = inside.workloads.at(victim.workload).slots;
        inside.released.insert(inside.released.end(), held.begin(), held.end());
        for (int index : held) inside.note_change(inside.slots[spot(index)].node);
        out.evictions.push_back({victim.workload, victim.why, victim.work});
    }
    inside.spend(view.node, rationed(list));
    inside.write(demand, attempt, out);
    inside.note_changes(attempt);
    return true;
}

std::optional<Victim> Planner::Inside::Hunt::consider(RowId workload, Group group,
                                                      model::ReasonCode why) {
    const auto found = inside.workloads.find(workload);
    plan.steps_used += 1;
    if (found == inside.workloads.end() || !found->second.occupant || workload == demand.workload)
        return std::nullopt;
    const OccupantFacts& occupant = *found->second.occupant;
    if (!occupant.preemptible) return std::nullopt;
    Victim victim{.workload = workload,
                  .group = group,
                  .why = why,
                  .priority = occupant.priority,
                  .started = occupant.started,
                  .spare = occupant.standing == Standing::spare};
    bool stays = false;
    for (int index : found->second.slots) {
        const Slot& slot = inside.slots[spot(index)];
        if (slot.leaving || slot.provisional)
            return std::nullopt;  // already asked, or placed a moment ago
        stays = stays || slot.pool == view.pool || group != Group::own;
        victim.milli += slot.milli;
    }
    if (!stays) return std::nullopt;
    const QueueFacts* home = inside.find_queue(occupant.queue);
    if (home != nullptr && home->min_run_ms > 0 && group != Group::surplus) {
        [[maybe_unused]] const Instant until{occupant.started.ms + home->min_run_ms};
#if !defined(TANDEM_PLANT_MIN_RUN_TIME)
        if (until > inside.time) {
            inside.look_again(until);
            waits_for_time = true;
            return std::nullopt;
        }
#endif
    }
#if defined(TANDEM_PLANT_LOST_WORK)
    const Instant safe_at = occupant.started;
#else
    const Instant safe_at = occupant.safe_at;
#endif
    const std::int64_t since = std::max<std::int64_t>(0, (inside.time - safe_at).ms);
    const std::int64_t seen = bounded_product(occupant.evictions, eviction_penalty.ms);
    victim.work = bounded_product(since, victim.milli);
    if (group == Group::surplus) {  // the youngest first
        const Duration age{std::clamp<std::int64_t>((inside.time - occupant.started).ms, 0,
                                                    std::int64_t{1} << 50)};
        victim.lost = bounded_product(age.ms, victim.milli);
        return victim;
    }
    victim.lost = bounded_product(
        std::min(since + occupant.restart_ms + seen, std::int64_t{1} << 50), victim.milli);
    return victim;
}

}  // namespace tandem::sched
