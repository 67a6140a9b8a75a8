// SPDX-License-Identifier: Apache-2.0
// Preemption: who may be asked to leave for a demand that does not fit, and the smallest set of them that is proved
// to make it fit. Two rights:
//   priority  inside its own queue, workloads of strictly lower priority
//   reclaim   a queue that stays within its own quota, from queues that use more than theirs (on every level up to
//             the common ancestor), and only as long as they do
// Victims are whole workloads, cheapest first: lowest priority, least work lost, latest started, latest id.
//
// Why this does not go round in circles: by priority, a placement raises the priority at which a queue's devices are
// used and lets no level borrow more than before (else the victim, back within its quota, would reclaim from it); by
// reclaim, it turns borrowed capacity into capacity within a quota. A victim of either kind never has the same right
// against the one that took its place.
#include <algorithm>
#include <span>

#include "base/assert.h"
#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) { return static_cast<std::size_t>(index); }

struct Victim {
    RowId workload{};
    int queue = -1;          // of the quota tree
    std::int64_t priority = 0;
    std::int64_t lost = 0;   // milli-device-milliseconds since the last checkpoint
    Instant started{};
    bool reclaim = false;
};

bool is_cheaper(const Victim& a, const Victim& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.lost != b.lost) return a.lost < b.lost;
    if (a.started != b.started) return a.started > b.started;
    return a.workload > b.workload;
}

}  // namespace

// One search for victims. Everything it tries is undone through the journal.
struct Planner::Inside::Hunt {
    Inside& inside;
    int class_index;
    const Demand& demand;
    Plan& plan;
    ClassView view;
    Attempt attempt{.view = View::future, .kind = EntryKind::claim};
    std::vector<Need> needs{};
    bool may_reclaim = false;
    std::vector<std::int64_t> borrowed{};  // before, by need and level
    std::vector<Victim> victims{};

    void find_needs();
    void add_keys(Attempt& failed) const;
    void find_victims(Instant now);
    void consider(RowId workload, bool reclaim, Instant now);
    bool is_eligible(const Victim& victim) const;
    void evict(const Victim& victim);
    std::vector<std::int64_t> list_borrowed() const;
    bool try_place();
    bool fits_after(std::span<const Victim> list);
    bool fits_without_victims();
    bool find_leader();
    void narrow_to_touched(std::vector<Victim>& list);
    std::vector<Victim> find_least();
    void drop_unneeded(std::vector<Victim>& list);
    void commit(std::span<const Victim> list, Placement& out);
};

void Planner::Inside::Hunt::find_needs() {
    needs.clear();
    for (const DemandPart& part : demand.parts) {
        if (part.each.devices == 0) continue;
        const int flavor = part.each.flavor.empty() ? attempt.only_flavor : inside.names.find(part.each.flavor);
        const int row = inside.quota.flavor_row(flavor);
        if (row < 0) continue;
        const std::int64_t milli = bounded_product(part.each.devices, part.count);
        const auto same = std::ranges::find(needs, row, &Need::flavor_row);
        if (same == needs.end()) needs.push_back({row, milli});
        else same->milli = bounded_product(same->milli + milli, 1);
    }
    may_reclaim = !needs.empty() && std::ranges::all_of(needs, [this](const Need& need) {
        return inside.quota.is_under_nominal(view.node, need.flavor_row, need.milli);
    });
    borrowed = list_borrowed();
}

std::vector<std::int64_t> Planner::Inside::Hunt::list_borrowed() const {
    std::vector<std::int64_t> amounts;
    for (const Need& need : needs) {
        for (int node = view.node; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
            const QuotaRow& row = inside.quota.row(node, need.flavor_row);
            amounts.push_back(row.limited ? std::max<std::int64_t>(0, row.spill[at(View::future)] - row.quota) : 0);
        }
    }
    return amounts;
}

// Places it if the outcome is one that may be asked for.
bool Planner::Inside::Hunt::try_place() {
    if (!inside.place(class_index, demand, attempt, plan)) return false;
    return may_reclaim || std::ranges::equal(list_borrowed(), borrowed, std::ranges::less_equal{});
}

// With the right to reclaim, new borrowers count; without, the queue's own use may fall and give the right.
void Planner::Inside::Hunt::add_keys(Attempt& failed) const {
    if (may_reclaim) failed.add_key({WakeOn::borrowers_of_tree, inside.quota.nodes()[spot(view.node)].root});
    for (const Need& need : needs) {
        if (may_reclaim) break;
        failed.add_key({WakeOn::quota, static_cast<std::int64_t>(inside.quota.row_index(view.node, need.flavor_row))});
    }
}

void Planner::Inside::Hunt::consider(RowId workload, bool reclaim, Instant now) {
    const auto found = inside.workloads.find(workload);
    plan.steps_used += 1;
    if (found == inside.workloads.end() || !found->second.occupant || workload == demand.workload) return;
    const OccupantFacts& occupant = *found->second.occupant;
    if (!occupant.preemptible) return;
    std::int64_t milli = 0;
    bool stays = false;
    for (int index : found->second.slots) {
        const Slot& slot = inside.slots[spot(index)];
        if (slot.leaving || slot.provisional) return;  // already asked, or placed a moment ago
        stays = stays || slot.pool == view.pool || reclaim;
        milli += slot.milli;
    }
    if (!stays) return;
    const std::int64_t since = std::max<std::int64_t>(0, (now - occupant.safe_at).ms);
    victims.push_back({workload, inside.quota.find(occupant.queue), occupant.priority, bounded_product(since, milli),
                       occupant.started, reclaim});
}

void Planner::Inside::Hunt::find_victims(Instant now) {
    victims.clear();
    const auto list_of = [this](int queue) -> const std::set<RowId>* {
        const auto found = inside.occupants_of_queue.find(queue);
        return found == inside.occupants_of_queue.end() ? nullptr : &found->second;
    };
    const int own_queue = inside.quota.nodes()[spot(view.node)].name;
    if (const std::set<RowId>* own = list_of(own_queue)) {
        for (RowId workload : *own) {
            const auto& occupant = inside.workloads.at(workload).occupant;
            if (occupant->priority < demand.priority) consider(workload, false, now);
        }
    }
    if (may_reclaim) {
        for (std::size_t node = 0; node < inside.quota.nodes().size(); ++node) {
            const std::set<RowId>* others = list_of(inside.quota.nodes()[node].name);
            const bool lends = std::ranges::any_of(needs, [&](const Need& need) {
                return inside.quota.borrows_against(static_cast<int>(node), view.node, need.flavor_row);
            });
            if (others == nullptr || !lends) continue;
            for (RowId workload : *others) consider(workload, true, now);
        }
    }
    std::ranges::sort(victims, is_cheaper);
}

bool Planner::Inside::Hunt::is_eligible(const Victim& victim) const {
    if (!victim.reclaim) return true;
    return std::ranges::any_of(needs, [&](const Need& need) {
        return inside.quota.borrows_against(victim.queue, view.node, need.flavor_row);
    });
}

void Planner::Inside::Hunt::evict(const Victim& victim) {
    const std::vector<int> held = inside.workloads.at(victim.workload).slots;
    for (int index : held) inside.change_leaving(index);
    plan.steps_used += 1;
}

// Leaves nothing changed.
bool Planner::Inside::Hunt::fits_after(std::span<const Victim> list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) {
        if (is_eligible(victim)) evict(victim);
    }
    const bool fits = try_place();
    inside.undo_to(mark);
    return fits;
}

bool Planner::Inside::Hunt::fits_without_victims() {
    const std::size_t mark = inside.journal.size();
    const bool fits = inside.place(class_index, demand, attempt, plan);
    inside.undo_to(mark);
    return fits;
}

// A queue gives back no more than it borrows, so its cheapest victim may be one too few and in the wrong place, and
// the next is protected then. Each of the first ones is tried as the one to begin with.
bool Planner::Inside::Hunt::find_leader() {
    constexpr std::size_t leaders_max = 32;
    const std::vector<Victim> cheapest_first = victims;
    for (std::size_t i = 1; i < std::min(cheapest_first.size(), leaders_max); ++i) {
        if (!cheapest_first[i].reclaim) continue;
        victims = cheapest_first;
        std::rotate(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(i),
                    victims.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        if (fits_after(victims)) return true;
    }
    return false;
}

// The smallest number of cheapest ones that suffices; more never hurt, so it can be halved.
std::vector<Victim> Planner::Inside::Hunt::find_least() {
    std::size_t low = 1;
    std::size_t high = victims.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fits_after(std::span(victims).first(middle))) high = middle;
        else low = middle + 1;
    }
    std::vector<Victim> least;
    const std::size_t mark = inside.journal.size();
    for (std::size_t i = 0; i < high; ++i) {
        if (!is_eligible(victims[i])) continue;
        evict(victims[i]);
        least.push_back(victims[i]);
    }
    inside.undo_to(mark);
    return least;
}

// Keeps those that have something on the nodes the demand would go to, if they suffice.
void Planner::Inside::Hunt::narrow_to_touched(std::vector<Victim>& list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    const bool fits = try_place();
    std::set<int> used;
    for (const Attempt::Placed& placed : attempt.placed) used.insert(inside.slots[spot(placed.slot)].node);
    inside.undo_to(mark);
    if (!fits) return;
    std::vector<Victim> touched;
    for (const Victim& victim : list) {
        const std::vector<int>& held = inside.workloads.at(victim.workload).slots;
        if (std::ranges::any_of(held, [&](int index) { return used.contains(inside.slots[spot(index)].node); })) {
            touched.push_back(victim);
        }
    }
    if (touched.size() < list.size() && fits_after(touched)) list = std::move(touched);
}

// One at a time, the dearest first, is let stay when the demand fits all the same.
void Planner::Inside::Hunt::drop_unneeded(std::vector<Victim>& list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    std::vector<Victim> needed;
    for (const Victim& victim : std::vector<Victim>(list.rbegin(), list.rend())) {
        evict(victim);  // a second time: it stays
        const std::size_t before = inside.journal.size();
        const bool fits = try_place();
        inside.undo_to(before);
        if (fits) continue;
        evict(victim);
        needed.push_back(victim);
    }
    inside.undo_to(mark);
    list.assign(needed.rbegin(), needed.rend());
}

void Planner::Inside::Hunt::commit(std::span<const Victim> list, Placement& out) {
    for (const Victim& victim : list) {
        evict(victim);
        const std::vector<int>& held = inside.workloads.at(victim.workload).slots;
        inside.released.insert(inside.released.end(), held.begin(), held.end());
    }
    const bool fits = try_place();
    TANDEM_ASSERT(fits, "a placement that was proved holds");
    inside.write(demand, attempt, out);
    for (const Victim& victim : list) {
        out.evictions.push_back({victim.workload, victim.reclaim ? model::ReasonCode::reclaimed : model::ReasonCode::preempted});
    }
}

bool Planner::Inside::preempt(int class_index, const Demand& demand, Instant now, Attempt& failed, Plan& plan,
                              Placement& out) {
    Hunt hunt{*this, class_index, demand, plan, view_of(class_index)};
    const int queue = quota.nodes()[spot(hunt.view.node)].name;
    failed.add_key({WakeOn::occupants_of_queue, queue});
    const bool any_flavor = std::ranges::any_of(demand.parts, [](const DemandPart& part) {
        return part.each.devices > 0 && part.each.flavor.empty();
    });
    std::vector<int> choices{no_name};
    if (any_flavor) {
        choices.clear();
        for (int index : capacity.domains_of(hunt.view.pool)) choices.push_back(capacity.domain(index).flavor);
    }
    for (int flavor : choices) {
        hunt.attempt.only_flavor = flavor;
        hunt.find_needs();
        hunt.add_keys(failed);
        hunt.find_victims(now);
        if (hunt.victims.empty() || !(hunt.fits_after(hunt.victims) || hunt.find_leader())) continue;
        if (hunt.fits_without_victims()) {  // what is leaving already will do
            failed.add_key({WakeOn::leavers_of_pool, hunt.view.pool});  // unless somebody else takes it
            continue;
        }
        std::vector<Victim> list = hunt.find_least();
        hunt.narrow_to_touched(list);
        hunt.drop_unneeded(list);
        hunt.commit(list, out);
        return true;
    }
    for (const WakeKey& key : hunt.attempt.keys) failed.add_key(key);
    return false;
}

}  // namespace tandem::sched
