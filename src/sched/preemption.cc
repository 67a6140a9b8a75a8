// SPDX-License-Identifier: Apache-2.0
// Preemption: who may be asked to leave for a demand that does not fit, and the cheapest set of
// them that is proved to make it fit. Surplus members of elastic jobs first, whoever asks
// (growth.cc); then three rights, in this order:
//   reclaim   the lowest node whose nominal quota covers the demand, from work outside it that is
//             borrowed (prey.h); together with
//   priority  inside its own queue, from work of strictly lower priority; from what a quota
//   protects
//             only for a demand that it would protect as well
//   fair share  of what is borrowed, where the queue asks for it: from the branch that, at the
//   common
//             ancestor, has the larger share before than the demand's own would have with it
// Each queue may forbid each of them to its own work. Victims are whole workloads; the set is
// minimal.
//
// Why this does not go round in circles: reclaim never takes protected work and what it places is
// protected; so the protected work of a queue changes only by arrivals, ends, and priority, each
// time to work of larger precedence. A move for a fair share makes the larger of two shares smaller
// and can't be answered by its opposite: with its victims back, the other branch would have the
// larger share again. What is claimed counts as used from the moment of the plan.
#include <algorithm>
#include <set>

#include "sched/hunt.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

std::vector<Victim> Planner::Inside::Hunt::find_own() {
    std::vector<Victim> victims;
    const auto own = inside.occupants_of_queue.find(inside.quota.nodes()[spot(view.node)].name);
    const bool forbidden = queue.preemption.within_queue == model::WithinQueue::never;
    if (forbidden || own == inside.occupants_of_queue.end() || !has_lower_work()) return victims;
    std::set<RowId> shielded;
    for (const Need& need : needs) {
        const Holding self{demand.workload, true, demand.priority, inside.time, need.milli};
        shielded.merge(inside.judgements->shielded_from(view.node, need, self));
    }
    shields = shields || !shielded.empty();
    judged = judged || !shielded.empty();
    for (RowId workload : own->second) {
        if (inside.workloads.at(workload).occupant->priority >= demand.priority) continue;
        if (shielded.contains(workload)) continue;
        if (auto victim = consider(workload, Group::own, model::ReasonCode::preempted))
            victims.push_back(*victim);
    }
    return victims;
}

// From outside the lowest node whose nominal covers the demand, what no quota there protects.
std::vector<Victim> Planner::Inside::Hunt::find_borrowers() {
    std::vector<Victim> victims;
#if defined(TANDEM_PLANT_RECLAIM_POLICY)
    const bool forbidden = false;
#else
    const bool forbidden = queue.preemption.reclaim == model::ReclaimFrom::never;
#endif
    if (level < 0 || forbidden) return victims;
    judged = true;
    std::map<RowId, bool> chosen;  // and whether it is weightless
    const auto choose = [&](const std::vector<Holding>& holdings) {
        for (const Holding& holding : holdings) {
            if (holding.open && holding.preemptible && !holding.surplus)
                chosen[holding.workload] |= holding.weightless;
        }
    };
    for (const Need& need : needs) {
        for (int node = level; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
            const int parent = inside.quota.nodes()[spot(node)].parent;
            if (parent < 0) break;
            for (int child : inside.quota.nodes()[spot(parent)].children) {
                const QuotaRow& row = inside.quota.row(child, need.flavor_row);
                if (child == node || row.used[at(View::future)] <= row.quota) continue;
                choose(inside.judgements->of(child, need.flavor_row));
            }
            choose(inside.judgements->beside_children(parent, need.flavor_row));
        }
    }
    for (const auto& [workload, weightless] : chosen) {
        if (queue.preemption.reclaim == model::ReclaimFrom::lower_priority &&
            inside.workloads.at(workload).occupant->priority >= demand.priority)
            continue;
        auto victim = consider(workload, weightless ? Group::weightless : Group::borrowed,
                               model::ReasonCode::reclaimed);
        if (!victim) continue;
        if (weightless)
            victim->faded =
                inside.faded_of(inside.quota.find(inside.workloads.at(workload).occupant->queue));
        victims.push_back(*victim);
    }
    return victims;
}

std::vector<Victim> Planner::Inside::Hunt::find_by_right() {
    std::vector<Victim> victims = find_surplus();
    const std::vector<Victim> own = find_own();
    victims.insert(victims.end(), own.begin(), own.end());
    const std::vector<Victim> borrowers = find_borrowers();
    victims.insert(victims.end(), borrowers.begin(), borrowers.end());
    return victims;
}

std::vector<Victim> Planner::Inside::Hunt::find_larger_shares() {
    std::vector<Victim> victims = find_surplus();
    judged = true;
    std::set<RowId> seen;
    for (int node = view.node; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
        const int parent = inside.quota.nodes()[spot(node)].parent;
        if (parent < 0) break;
        [[maybe_unused]] const BorrowShare own = inside.quota.dominant_share(node, needs);
        for (int child : inside.quota.nodes()[spot(parent)].children) {
#if defined(TANDEM_PLANT_FAIR_SHARE)
            const bool larger = inside.share_of_branch(child).over > 0;
#else
            const bool larger = compare(inside.share_of_branch(child), own) > 0;
#endif
            if (child == node || !larger) continue;
            for (const Need& need : needs) {
                for (const Holding& holding : inside.judgements->of(child, need.flavor_row)) {
                    if (!holding.open || !holding.preemptible || holding.surplus ||
                        !seen.insert(holding.workload).second)
                        continue;
                    auto victim = consider(holding.workload,
                                           holding.weightless ? Group::weightless : Group::borrowed,
                                           model::ReasonCode::gave_fair_share);
                    if (!victim) continue;
                    victim->branch = child;
                    victims.push_back(*victim);
                }
            }
        }
    }
    return victims;
}

// Before the last of them leaves, its branch still has the larger share. Changes nothing.
bool Planner::Inside::Hunt::keeps_shares(std::span<const Victim> list) {
    const std::size_t mark = inside.journal.size();
    for (const Victim& victim : list) evict(victim);
    bool all = true;
    for (const Victim& victim : list) {
        if (victim.group == Group::surplus) continue;
        evict(victim);  // as the last of its branch
        int own = view.node;
        const int ancestor = inside.quota.nodes()[spot(victim.branch)].parent;
        while (inside.quota.nodes()[spot(own)].parent != ancestor)
            own = inside.quota.nodes()[spot(own)].parent;
        all = all && compare(inside.share_of_branch(victim.branch),
                             inside.quota.dominant_share(own, needs)) > 0;
        evict(victim);
    }
    inside.undo_to(mark);
#if defined(TANDEM_PLANT_FAIR_SHARE)
    all = true;
#endif
    return all;
}

std::optional<std::vector<Victim>> Planner::Inside::Hunt::choose(Prospect& prospect) {
    if (prospect.victims.empty()) return std::nullopt;
    if (view.by_rules) return choose_by_rules(prospect);
    std::optional<std::vector<Victim>> list{std::vector<Victim>{}};
    if (is_structural()) list = select(prospect);
    if (!list) return std::nullopt;
    // Something else than devices, CPU and memory of its nodes binds, or there are several shapes.
    const bool by_nodes = !list->empty();
    if (!by_nodes) *list = select_by_placing(prospect.victims);
    drop_unneeded(*list, by_nodes ? &prospect : nullptr);
    return list;
}

// The larger of two shares becomes smaller with each that leaves.
bool Planner::Inside::Hunt::take_fair_share(Prospect& prospect, Placement& out) {
    const auto list = choose(prospect);
    return list && !list->empty() && keeps_shares(*list) && leave(prospect, *list, out);
}

bool Planner::Inside::Hunt::take(Prospect& prospect, Placement& out) {
    auto list = choose(prospect);
    if (!list || list->empty()) return false;
    improve(prospect.victims, *list);
    if (leave(prospect, *list, out)) return true;
    if (limited) return false;
    *list = select_by_placing(prospect.victims);
    drop_unneeded(*list, nullptr);
    return !list->empty() && leave(prospect, *list, out);
}

// Within the limits on evictions.
bool Planner::Inside::Hunt::leave(Prospect& prospect, std::span<const Victim> list,
                                  Placement& out) {
    const std::int64_t evictions = rationed(list);
    [[maybe_unused]] const auto allowed =
        evictions == 0 ? std::nullopt : inside.when_allowed(view.node, evictions);
#if !defined(TANDEM_PLANT_EVICTION_RATE)
    if (allowed) {
        inside.look_again(*allowed);
        limited = waits_for_time = true;
        return false;
    }
#endif
    if (!commit(list, out)) return false;
    // What was judged still holds where all that left was borrowed, by branches of one root:
    // nobody's protection counted on it. What this class knows holds as well: it did not look at
    // its own branch.
    const bool plain = std::ranges::all_of(
        list, [&](const Victim& victim) { return inside.is_of_one_flavor(victim.workload); });
    const bool borrowed =
        std::ranges::all_of(list, [](const Victim& victim) { return victim.group != Group::own; });
    const int root = inside.quota.nodes()[spot(view.node)].root;
    const bool flat = level >= 0 && inside.quota.nodes()[spot(level)].parent == root;
    if (plain && borrowed && flat) return true;
    inside.forget_judgements();
    if (plain && !shields && prospect.protection >= 0) prospect.protection = inside.protection;
    return true;
}

// Kept for the class as long as it stays true within this plan.
std::shared_ptr<Planner::Inside::Prospect> Planner::Inside::Hunt::prospect(
    std::vector<Victim> (Hunt::*find)(), int flavor, bool fair) {
    const WorkClass& group = inside.waiting.group(class_index);
    std::shared_ptr<Prospect>& kept = inside.prospects[{class_index, flavor, fair}];
    const bool current = kept && kept->serial == group.serial && kept->level == level &&
                         (kept->protection < 0 || kept->protection == inside.protection);
    if (current && !fair) {
        shields = kept->shields;
        waits_for_time = waits_for_time || kept->waits_for_time;
        return kept;
    }
    const DemandPart& part = demand.parts.front();
    kept = std::make_shared<Prospect>(Prospect{.inside = inside, .each = part.each});
    kept->victims = (this->*find)();
    order_victims(kept->victims);
    kept->project = inside.names.find(demand.project);
    kept->rule = view.parts.empty() ? no_name : view.parts.front().rule;
    kept->serial = group.serial;
    kept->level = level;
    kept->shields = shields;
    kept->waits_for_time = waits_for_time;
    kept->protection = judged ? inside.protection : -1;
    if (kept->victims.empty() || !is_structural()) return kept;
    const std::vector<int> domains = inside.domains_for(view, part.each, flavor);
    if (domains.empty()) kept->victims.clear();
    if (kept->victims.empty()) return kept;
    kept->domain = domains.front();
    kept->start();
    return kept;
}

void Planner::Inside::start_hunting() {
    prospects.clear();
    changed_nodes.clear();
    forget_judgements();
}

void Planner::Inside::count_occupant(RowId workload, const OccupantFacts& occupant,
                                     std::int64_t sign) {
    const bool surplus = occupant.standing == Standing::surplus;
    std::set<RowId>& list =
        surplus ? surplus_of_queue[occupant.queue] : occupants_of_queue[occupant.queue];
    if (sign > 0)
        list.insert(workload);
    else
        list.erase(workload);
    if (surplus && list.empty()) surplus_of_queue.erase(occupant.queue);
    if (surplus || !occupant.preemptible) return;
    std::map<std::int64_t, std::int64_t>& counts = urgencies[occupant.queue];
    if ((counts[occupant.priority] += sign) == 0) counts.erase(occupant.priority);
    if (counts.empty()) urgencies.erase(occupant.queue);
}

// Priority of what may be asked to leave; those that leave already only make it larger.
std::optional<std::int64_t> Planner::Inside::lowest_in(int queue_name) const {
    const auto counts = urgencies.find(queue_name);
    if (counts == urgencies.end()) return std::nullopt;
    return counts->second.begin()->first;
}

void Planner::Inside::forget_judgements() {
    judgements = std::make_shared<Judgements>(Judgements{*this});
    protection += 1;
}

void Planner::Inside::note_change(int node_name) {
    if (const int position = capacity.find(node_name); position >= 0)
        changed_nodes.push_back(position);
}

void Planner::Inside::note_changes(const Attempt& attempt) {
    for (const Attempt::Placed& placed : attempt.placed) note_change(slots[spot(placed.slot)].node);
}

const QueueFacts* Planner::Inside::find_queue(int name) const {
    const auto found = queues.find(name);
    return found == queues.end() ? nullptr : &found->second;
}

bool Planner::Inside::is_of_one_flavor(RowId workload) const {
    const std::vector<int>& held = workloads.at(workload).slots;
    return std::ranges::all_of(held, [&](int index) {
        return slots[spot(index)].flavor == slots[spot(held.front())].flavor;
    });
}

BorrowShare Planner::Inside::share_of_branch(int node) const {
    return quota.dominant_share(node, {});
}

bool Planner::Inside::preempt(int class_index, const Demand& demand, int flavor, Attempt& failed,
                              Plan& plan, Placement& out) {
    const ClassView& view = view_of(class_index);
    const int name = quota.nodes()[spot(view.node)].name;
    Hunt hunt{*this, class_index, demand, plan, view, queues.at(name)};
    failed.add_key({WakeOn::occupants_of_queue, name});
    hunt.attempt.only_flavor = flavor;
    hunt.find_needs_without_surplus();
    const bool taken = hunt.run(flavor, failed, out);
    hunt.add_keys(failed);
    if (hunt.waits_for_time) failed.add_key({WakeOn::time, 0});
    for (const WakeKey& key : hunt.attempt.keys) failed.add_key(key);
    return taken;
}

bool Planner::Inside::Hunt::has_lower_work() const {
    const auto least = inside.lowest_in(inside.quota.nodes()[spot(view.node)].name);
    return least && *least < demand.priority;
}

bool Planner::Inside::Hunt::has_evictable(int node) const {
    const QueueNode& here = inside.quota.nodes()[spot(node)];
    return inside.urgencies.contains(here.name) ||
           std::ranges::any_of(here.children, [this](int child) { return has_evictable(child); });
}

// Who borrows, among those of whom somebody may be asked to leave.
bool Planner::Inside::Hunt::has_borrowers() const {
    for (int node = level; node >= 0; node = inside.quota.nodes()[spot(node)].parent) {
        const int parent = inside.quota.nodes()[spot(node)].parent;
        if (parent < 0) return false;
        for (int child : inside.quota.nodes()[spot(parent)].children) {
            for (const Need& need : needs) {
                const QuotaRow& row = inside.quota.row(child, need.flavor_row);
                const bool borrows = child != node && row.used[at(View::future)] > row.quota;
                if (borrows && has_evictable(parent)) return true;
            }
        }
    }
    return false;
}

bool Planner::Inside::Hunt::run(int flavor, Attempt& failed, Placement& out) {
    const bool lower =
        queue.preemption.within_queue != model::WithinQueue::never && has_lower_work();
    const bool shares = queue.preemption.fair_share != model::FairSharing::never;
    const bool surplus = !inside.surplus_of_queue.empty();
    if (!lower && !shares && !surplus && !has_borrowers()) return false;
    if (!is_possible()) return false;
    const std::shared_ptr<Prospect> right = prospect(&Hunt::find_by_right, flavor, false);
    if (right->victims.empty() && !shares) return false;
    if (fits()) {  // what is leaving already will do, unless somebody else takes it
        failed.add_key({WakeOn::leavers_of_pool, view.pool});
        return false;
    }
    if (take(*right, out)) return true;
    if (!shares) return false;
    return take_fair_share(*prospect(&Hunt::find_larger_shares, flavor, true), out);
}

}  // namespace tandem::sched
