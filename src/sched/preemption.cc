// SPDX-License-Identifier: Apache-2.0
// Preemption: who may be asked to leave for a demand that does not fit, and the smallest set of
// them that is proved to make it fit. Two rights:
//   priority  inside its own queue, workloads of strictly lower priority; those that a quota
//   protects (see reclaim)
//             only for a demand that it would protect as well
//   reclaim   a queue that stays within its own quota, from work of others beyond theirs. On every
//   level up to the
//             common ancestor, a quota protects the work that it can hold, in order of precedence:
//             what can't be asked to leave, then larger priority, earlier start, earlier id
// Victims are whole workloads, cheapest first: lowest priority, least work lost, latest started,
// latest id.
//
// Why this does not go round in circles: reclaim never takes protected work and what it places is
// protected; so the protected work of a queue changes only by arrivals, ends, and priority, each
// time to work of larger precedence.
#include <algorithm>
#include <set>
#include <span>

#include "base/assert.h"
#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

struct Victim {
    RowId workload{};
    std::int64_t priority = 0;
    std::int64_t lost = 0;  // milli-device-milliseconds since the last checkpoint
    Instant started{};
    bool reclaim = false;
};

// What a workload has of one flavor.
struct Holding {
    RowId workload{};
    bool preemptible = true;
    std::int64_t priority = 0;
    Instant started{};
    std::int64_t milli = 0;
};

bool has_precedence(const Holding& a, const Holding& b) {
    if (a.preemptible != b.preemptible) return !a.preemptible;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.started != b.started) return a.started < b.started;
    return a.workload < b.workload;
}

void protect(std::vector<Holding>& holdings, std::int64_t room, std::set<RowId>& protected_work) {
    std::ranges::sort(holdings, has_precedence);
    for (const Holding& holding : holdings) {
        if (holding.milli > room) continue;
        room -= holding.milli;
        protected_work.insert(holding.workload);
    }
}

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
    bool shields = false;  // somebody of lower priority is protected from the demand
    std::vector<Victim> victims{};

    void find_needs();
    void add_keys(Attempt& failed) const;
    void find_victims(Instant now);
    std::set<RowId> find_shielded(Instant now) const;
    void find_reclaimable(Instant now);
    std::vector<Holding> list_holdings(int node, int flavor_row) const;
    std::vector<Holding> judge(int node, int flavor_row, std::set<RowId>& protected_work) const;
    void consider(RowId workload, bool reclaim, Instant now);
    void evict(const Victim& victim);
    bool fits_after(std::span<const Victim> list);
    void narrow_to_touched(std::vector<Victim>& list);
    std::vector<Victim> find_least();
    void drop_unneeded(std::vector<Victim>& list);
    void commit(std::span<const Victim> list, Placement& out);
};

void Planner::Inside::Hunt::find_needs() {
    needs.clear();
    for (const DemandPart& part : demand.parts) {
        if (part.each.devices == 0) continue;
        const int single = inside.choice_of(part.each.flavor).single();
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
    may_reclaim = !needs.empty() && std::ranges::all_of(needs, [this](const Need& need) {
        return inside.quota.is_under_nominal(view.node, need.flavor_row, need.milli);
    });
}

// With the right to reclaim, new borrowers count; without, the queue's own use may fall and give
// the right. Whom a quota protects changes with all use at its level.
void Planner::Inside::Hunt::add_keys(Attempt& failed) const {
    if (may_reclaim || shields)
        failed.add_key({WakeOn::borrowers_of_tree, inside.quota.nodes()[spot(view.node)].root});
    for (const Need& need : needs) {
        if (may_reclaim && !shields) break;
        for (int node = view.node; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
            failed.add_key({WakeOn::quota, static_cast<std::int64_t>(
                                               inside.quota.row_index(node, need.flavor_row))});
            if (!shields) break;
        }
    }
}

void Planner::Inside::Hunt::consider(RowId workload, bool reclaim, Instant now) {
    const auto found = inside.workloads.find(workload);
    plan.steps_used += 1;
    if (found == inside.workloads.end() || !found->second.occupant || workload == demand.workload)
        return;
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
    victims.push_back(
        {workload, occupant.priority, bounded_product(since, milli), occupant.started, reclaim});
}

void Planner::Inside::Hunt::find_victims(Instant now) {
    victims.clear();
    shields = false;
    const int own_queue = inside.quota.nodes()[spot(view.node)].name;
    if (const auto own = inside.occupants_of_queue.find(own_queue);
        own != inside.occupants_of_queue.end()) {
        const std::set<RowId> shielded = find_shielded(now);
        shields = !shielded.empty();
        for (RowId workload : own->second) {
            const bool lower = inside.workloads.at(workload).occupant->priority < demand.priority;
            if (lower && !shielded.contains(workload)) consider(workload, false, now);
        }
    }
    if (may_reclaim) find_reclaimable(now);
    std::ranges::sort(victims, is_cheaper);
}

// Work that quotas protect, and would not protect the demand in its place: others could take back
// from the demand what it takes here, and the one that left would come back for it.
std::set<RowId> Planner::Inside::Hunt::find_shielded(Instant now) const {
    std::set<RowId> shielded;
    for (const Need& need : needs) {
        for (int node = view.node; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
            const QuotaRow& row = inside.quota.row(node, need.flavor_row);
            if (!row.limited || inside.quota.nodes()[spot(node)].parent < 0)
                break;  // nobody stands beside a root
            std::set<RowId> protected_work;
            std::vector<Holding> holdings = judge(node, need.flavor_row, protected_work);
            std::int64_t unknown = row.used[at(View::future)];
            for (const Holding& holding : holdings) unknown -= holding.milli;
            holdings.push_back({demand.workload, true, demand.priority, now, need.milli});
            protected_work.clear();
            protect(holdings, row.quota - unknown, protected_work);
            if (!protected_work.contains(demand.workload)) shielded.merge(protected_work);
        }
    }
    return shielded;
}

void Planner::Inside::Hunt::find_reclaimable(Instant now) {
    std::set<RowId> chosen;
    for (const Need& need : needs) {
        std::set<RowId> protected_work;
        std::vector<Holding> holdings;
        for (int node = view.node; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
            const int parent = inside.quota.nodes()[spot(node)].parent;
            if (parent < 0) break;
            for (int child : inside.quota.nodes()[spot(parent)].children) {
                if (child == node) continue;
                const std::vector<Holding> below = judge(child, need.flavor_row, protected_work);
                holdings.insert(holdings.end(), below.begin(), below.end());
            }
            // An inner queue's own work stands beside its children, with what the queue itself is
            // given.
            std::vector<Holding> own = list_holdings(parent, need.flavor_row);
            protect(own, inside.quota.row(parent, need.flavor_row).nominal, protected_work);
            holdings.insert(holdings.end(), own.begin(), own.end());
        }
        for (const Holding& holding : holdings) {
            if (!protected_work.contains(holding.workload)) chosen.insert(holding.workload);
        }
    }
    for (RowId workload : chosen) consider(workload, true, now);
}

std::vector<Holding> Planner::Inside::Hunt::list_holdings(int node, int flavor_row) const {
    std::vector<Holding> holdings;
    const int flavor = inside.quota.flavors()[spot(flavor_row)];
    const auto found = inside.occupants_of_queue.find(inside.quota.nodes()[spot(node)].name);
    if (found == inside.occupants_of_queue.end()) return holdings;
    for (RowId workload : found->second) {
        const WorkloadState& state = inside.workloads.at(workload);
        Holding holding{workload, state.occupant->preemptible, state.occupant->priority,
                        state.occupant->started};
        for (int index : state.slots) {
            const Slot& slot = inside.slots[spot(index)];
            if (!slot.leaving && slot.flavor == flavor) holding.milli += slot.milli;
        }
        plan.steps_used += 1;
        if (holding.milli > 0) holdings.push_back(holding);
    }
    return holdings;
}

// The holdings at and below a node; adds those that its quota, or one below, protects.
std::vector<Holding> Planner::Inside::Hunt::judge(int node, int flavor_row,
                                                  std::set<RowId>& protected_work) const {
    const QuotaRow& row = inside.quota.row(node, flavor_row);
    if (row.used[at(View::future)] == 0) return {};
    std::vector<Holding> holdings = list_holdings(node, flavor_row);
    for (int child : inside.quota.nodes()[spot(node)].children) {
        const std::vector<Holding> below = judge(child, flavor_row, protected_work);
        holdings.insert(holdings.end(), below.begin(), below.end());
    }
    std::int64_t known = 0;
    for (const Holding& holding : holdings) known += holding.milli;
    const std::int64_t unknown =
        row.used[at(View::future)] - known;  // entries that no occupant answers for
    protect(holdings, row.quota - unknown, protected_work);
    return holdings;
}

void Planner::Inside::Hunt::evict(const Victim& victim) {
    const std::vector<int> held = inside.workloads.at(victim.workload).slots;
    for (int index : held) inside.change_leaving(index);
    plan.steps_used += 1;
}

// Leaves nothing changed.
bool Planner::Inside::Hunt::fits_after(std::span<const Victim> list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    const bool fits = inside.place(class_index, demand, attempt, plan);
    inside.undo_to(mark);
    return fits;
}

// The smallest number of cheapest ones that suffices; more never hurt, so it can be halved.
std::vector<Victim> Planner::Inside::Hunt::find_least() {
    std::size_t low = 1;
    std::size_t high = victims.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fits_after(std::span(victims).first(middle)))
            high = middle;
        else
            low = middle + 1;
    }
    return {victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(high)};
}

// Keeps those that have something on the nodes the demand would go to, if they suffice.
void Planner::Inside::Hunt::narrow_to_touched(std::vector<Victim>& list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    const bool fits = inside.place(class_index, demand, attempt, plan);
    std::set<int> used;
    for (const Attempt::Placed& placed : attempt.placed)
        used.insert(inside.slots[spot(placed.slot)].node);
    inside.undo_to(mark);
    if (!fits) return;
    std::vector<Victim> touched;
    for (const Victim& victim : list) {
        const std::vector<int>& held = inside.workloads.at(victim.workload).slots;
        if (std::ranges::any_of(
                held, [&](int index) { return used.contains(inside.slots[spot(index)].node); })) {
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
        const bool fits = inside.place(class_index, demand, attempt, plan);
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
    const bool fits = inside.place(class_index, demand, attempt, plan);
    TANDEM_ASSERT(fits, "a placement that was proved holds");
    inside.write(demand, attempt, out);
    for (const Victim& victim : list) {
        out.evictions.push_back({victim.workload, victim.reclaim ? model::ReasonCode::reclaimed
                                                                 : model::ReasonCode::preempted});
    }
}

bool Planner::Inside::preempt(int class_index, const Demand& demand, Instant now, Attempt& failed,
                              Plan& plan, Placement& out) {
    Hunt hunt{*this, class_index, demand, plan, view_of(class_index)};
    const int queue = quota.nodes()[spot(hunt.view.node)].name;
    failed.add_key({WakeOn::occupants_of_queue, queue});
    const bool any_flavor = std::ranges::any_of(demand.parts, [this](const DemandPart& part) {
        return part.each.devices > 0 && choice_of(part.each.flavor).single() == no_name;
    });
    std::vector<int> choices{no_name};
    if (any_flavor) {
        choices.clear();
        for (int index : capacity.domains_of(hunt.view.pool))
            choices.push_back(capacity.domain(index).flavor);
    }
    for (int flavor : choices) {
        hunt.attempt.only_flavor = flavor;
        hunt.find_needs();
        hunt.find_victims(now);
        hunt.add_keys(failed);
        if (hunt.victims.empty() || !hunt.fits_after(hunt.victims)) continue;
        if (hunt.fits_after({})) {  // what is leaving already will do
            failed.add_key(
                {WakeOn::leavers_of_pool, hunt.view.pool});  // unless somebody else takes it
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
