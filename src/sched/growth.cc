// SPDX-License-Identifier: Apache-2.0
// Growth: members that elastic work has beyond what it needs. They have the lowest claim of all.
//
// They are placed when a plan has looked at everything else: one at a time, in turns, the older
// work first, so that idle devices are spread evenly. Each only where
//   it fits without anybody's leaving, within quotas and limits;
//   nobody waits for room in its pool who would take that flavor, whatever else they lack;
//   nobody in its tree waits for quota of that flavor, unless it stays within nominal quotas.
// Who comes later and finds no place may have theirs, whoever asks and whatever quotas say of its
// own rights: they count as if they weren't there (Hunt::find_surplus).
#include <algorithm>

#include "sched/fingerprint.h"
#include "sched/hunt.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

bool waits_for_quota(model::ReasonCode code) {
    return code == model::ReasonCode::quota_exhausted;
}

// Of no use to it, or there is no hope for it: idle devices wouldn't help.
bool waits_in_vain(model::ReasonCode code) {
    switch (code) {
        case model::ReasonCode::never_fits:
        case model::ReasonCode::quota_too_small:
        case model::ReasonCode::pool_unavailable:
        case model::ReasonCode::queue_unavailable:
        case model::ReasonCode::queue_stopped:
        case model::ReasonCode::not_allowed_in_pool: return true;
        default: return false;
    }
}

}  // namespace

// What others wait for.
struct Wanting {
    std::set<std::pair<int, int>> room{};   // pool, flavor; no_name: CPU and memory
    std::set<std::pair<int, int>> quota{};  // root of the tree, row of the flavor
};

struct Planner::Inside::Growing {
    Inside& inside;
    Plan& plan;
    std::optional<Wanting> wanting{};  // once somebody has a place

    void list_wanting();
    bool place_beside(int class_index, const Demand& one, Attempt& attempt);
    bool add_member(const Demand& wish, std::size_t part, std::int64_t member, Placement& out);
};

void Planner::Inside::Growing::list_wanting() {
    wanting.emplace();
    for (int index = 0; index < static_cast<int>(inside.waiting.class_slots()); ++index) {
        const WorkClass& group = inside.waiting.group(index);
        if (!group.used || group.size() == 0 || !group.asleep) continue;
        if (waits_in_vain(group.finding.code) || inside.find_full(index) != nullptr) continue;
        const ClassView& view = inside.view_of(index);
        if (view.closed != model::ReasonCode::none) continue;
        if (waits_for_quota(group.finding.code)) {
            const int row = inside.quota.flavor_row(group.finding.flavor);
            wanting->quota.insert({inside.quota.nodes()[spot(view.node)].root, row});
            continue;
        }
        for (const ShapePart& part : group.key.shape) {
            if (part.devices == 0) wanting->room.insert({view.pool, no_name});
            const FlavorChoice& choice = inside.choice_of(part.flavor);
            for (int domain : inside.capacity.domains_of(view.pool)) {
                const int flavor = inside.capacity.domain(domain).flavor;
                if (part.devices > 0 && choice.admits(flavor))
                    wanting->room.insert({view.pool, flavor});
            }
        }
    }
}

void Planner::Inside::set_growth(RowId workload, std::unique_ptr<Demand> wish) {
    const auto known = growths.find(workload);
    if (known == growths.end() && !wish) return;
    if (wish) key_of(*wish);  // knows all its names from here on
    if (wish && known != growths.end() &&
        fingerprint_of(names, *wish) == fingerprint_of(names, known->second))
        return;
    std::unique_ptr<Demand> before;
    if (known != growths.end()) {
        before = std::make_unique<Demand>(std::move(known->second));
        fingerprint -= fingerprint_of(names, *before);
        growths.erase(known);
    }
    if (wish) {
        fingerprint += fingerprint_of(names, *wish);
        growths.emplace(workload, std::move(*wish));
        may_grow = true;
    }
    journal.push_back(GrowthBefore{workload, std::move(before)});
}

// Without borrowing, else with it where nobody waits for what is borrowed.
bool Planner::Inside::Growing::place_beside(int class_index, const Demand& one, Attempt& attempt) {
    if (inside.view_of(class_index).closed != model::ReasonCode::none ||
        inside.find_full(class_index) != nullptr)
        return false;
    attempt.within_nominal = true;
    bool placed = inside.place(class_index, one, attempt, plan);
    const bool borrows = !placed;
    if (!placed) {
        attempt.within_nominal = false;
        placed = inside.place(class_index, one, attempt, plan);
    }
    if (!placed) return false;
    if (!wanting) list_wanting();
    const Slot& slot = inside.slots[spot(attempt.placed.front().slot)];
#if defined(TANDEM_PLANT_GROWTH_IN_IDLE_MOMENTS)
    const bool wanted = false;
#else
    const bool wanted = wanting->room.contains({slot.pool, slot.flavor});
#endif
    const int root = inside.quota.nodes()[spot(inside.view_of(class_index).node)].root;
    const int row = inside.quota.flavor_row(slot.flavor);
    return !wanted && !(borrows && wanting->quota.contains({root, row}));
}

// One more of a part; stands placed when true.
bool Planner::Inside::Growing::add_member(const Demand& wish, std::size_t part,
                                          std::int64_t member, Placement& out) {
    Demand one = wish;
    one.parts = {wish.parts[part]};
    one.parts.front().first_rank += member;
    one.parts.front().count = 1;
    const std::size_t mark = inside.journal.size();
    inside.put_demand(one);
    const int slot = inside.waiting.find(one.workload);
    Attempt attempt;
    plan.steps_used += 1;
    if (!place_beside(inside.waiting.demand(slot).class_index, one, attempt)) {
        inside.undo_to(mark);
        return false;
    }
    inside.note_changes(attempt);
    inside.write(one, attempt, out);
    inside.take_demand(slot);
    return true;
}

void Planner::Inside::grow(Plan& plan, std::int64_t step_budget) {
    if (growths.empty() || !may_grow || plan.exhausted) return;
    struct Grower {
        const Demand* wish = nullptr;
        std::vector<std::int64_t> members{};  // placed, by part
        Placement out{.grows = true};
        bool full = false;
    };
    std::vector<Grower> growers;
    for (const auto& [workload, wish] : growths) {
        if (waiting.find(workload) >= 0) continue;
        growers.push_back({.wish = &wish, .members = std::vector<std::int64_t>(wish.parts.size())});
    }
    std::ranges::sort(growers, {}, [](const Grower& one) {
        return std::pair(one.wish->submitted, one.wish->workload);
    });
    Growing growing{*this, plan};
    for (bool some = true; some;) {
        some = false;
        for (Grower& grower : growers) {
            if (grower.full) continue;
            plan.exhausted = plan.exhausted || plan.steps_used >= step_budget;
            if (plan.exhausted) break;
            grower.full = true;
            for (std::size_t part = 0; part < grower.members.size() && grower.full; ++part) {
                if (grower.members[part] == grower.wish->parts[part].count) continue;
                if (!growing.add_member(*grower.wish, part, grower.members[part], grower.out))
                    continue;
                grower.members[part] += 1;
                grower.full = false;
                some = true;
            }
        }
    }
    for (Grower& grower : growers) {
        if (!grower.out.replicas.empty()) plan.placements.push_back(std::move(grower.out));
    }
    may_grow = plan.exhausted;
}

std::vector<Victim> Planner::Inside::Hunt::find_surplus() {
    std::vector<Victim> victims;
#if !defined(TANDEM_PLANT_SURPLUS_FIRST)
    const int root = inside.quota.nodes()[spot(view.node)].root;
    for (const auto& [name, list] : inside.surplus_of_queue) {
        const int node = inside.quota.find(name);
        const bool same_tree = node >= 0 && inside.quota.nodes()[spot(node)].root == root;
        for (RowId workload : list) {
            const std::vector<int>& held = inside.workloads.at(workload).slots;
            const bool same_pool = std::ranges::any_of(
                held, [&](int index) { return inside.slots[spot(index)].pool == view.pool; });
            if (!same_pool && !same_tree) continue;
            if (auto victim = consider(workload, Group::surplus, model::ReasonCode::gave_surplus))
                victims.push_back(*victim);
        }
    }
#endif
    return victims;
}

// What a queue's own members have beyond their need takes no right from it.
void Planner::Inside::Hunt::find_needs_without_surplus() {
    const std::size_t mark = inside.journal.size();
    for (const auto& [name, list] : inside.surplus_of_queue) {
        for (RowId workload : list) {
            for (int index : inside.workloads.at(workload).slots) {
                if (!inside.slots[spot(index)].leaving) inside.change_leaving(index);
            }
        }
    }
    find_needs();
    inside.undo_to(mark);
}

}  // namespace tandem::sched
