// SPDX-License-Identifier: Apache-2.0
// Verdicts: why a workload waits, with the numbers of this moment, by trying it on the real tables
// and undoing that.
#include <algorithm>

#include "base/quantity.h"
#include "sched/inside.h"

namespace tandem::sched {
namespace {

using model::Reason;
using model::ReasonCode;

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}
std::string number(std::int64_t value) {
    return std::to_string(value);
}

struct Supply {
    std::int64_t free = 0;
    std::int64_t total = 0;
    std::int64_t members = 0;  // that would fit on empty machines
};

}  // namespace

// One look at one waiting workload.
struct Planner::Inside::Inquiry {
    Inside& inside;
    int slot;
    const Demand& demand;
    ClassView view;

    Reason closed() const;
    Supply supply_of(int flavor, const model::Resources& each, int rule) const;
    std::optional<Reason> never() const;
    Reason shortage(const Shortage& shortage) const;
    Reason waiting_for_leavers() const;
    void add_remedies(const Attempt& attempt, std::vector<Reason>& remedies) const;
    std::optional<std::int64_t> lowest_priority_held() const;
};

Reason Planner::Inside::Inquiry::closed() const {
    const std::string pool = inside.names.text(view.pool);
    switch (view.closed) {
        case ReasonCode::queue_unavailable:
            return {view.closed, {{"queue", demand.queue}}};
        case ReasonCode::pool_unavailable:
            return {view.closed, {{"pool", pool}}};
        default:
            return {view.closed, {{"pool", pool}, {"project", demand.project}}};
    }
}

Supply Planner::Inside::Inquiry::supply_of(int flavor, const model::Resources& each, int rule) const {
    Supply supply;
    for (const NodeState& node : inside.capacity.nodes()) {
        if (!node.present || !inside.rule_admits(rule, inside.capacity.find(node.name))) continue;
        std::int64_t here = 0;
        std::int64_t idle = 0;
        for (const Dev& device : node.devices) {
            if (device.owner != view.pool || device.flavor != flavor) continue;
            here += 1000;
            if (node.usable && device.healthy) idle += device.free(View::now);
        }
        const bool takes_part = here > 0 || (each.devices == 0 && view.pool == inside.shared_pool);
        if (!takes_part) continue;
        supply.total += here;
        supply.free += idle;
        std::int64_t members = std::int64_t{1} << 40;
        if (each.devices >= 1000)
            members = here / each.devices;
        else if (each.devices > 0)
            members = here / 1000;  // members of a gang share no device
        if (each.cpu_milli > 0) members = std::min(members, node.cpu.total / each.cpu_milli);
        if (each.memory_bytes > 0)
            members = std::min(members, node.memory.total / each.memory_bytes);
        supply.members += members;
    }
    return supply;
}

// Proved by each part alone: even on empty machines its members have no place.
std::optional<Reason> Planner::Inside::Inquiry::never() const {
    const PoolFacts& pool = inside.pools.at(view.pool);
    for (const DemandPart& part : demand.parts) {
        const FlavorChoice& choice = inside.choice_of(part.each.flavor);
        std::vector<int> flavors{choice.single()};
        if (flavors.front() == no_name && part.each.devices > 0) {
            flavors.clear();
            for (int index : inside.capacity.domains_of(view.pool)) {
                const int flavor = inside.capacity.domain(index).flavor;
                if (choice.admits(flavor)) flavors.push_back(flavor);
            }
        }
        Supply best;
        for (int flavor : flavors) {
            const Supply supply = supply_of(flavor, part.each, inside.intern_rule(part.each));
            if (supply.members >= best.members) best = supply;
        }
        if (best.members >= part.count) continue;
        const bool filling = pool.form != model::Form::shared &&
                             static_cast<std::int64_t>(pool.held.size()) < pool.devices;
        if (filling) {
            return Reason{ReasonCode::pool_unavailable,
                          {{"pool", inside.names.text(view.pool)},
                           {"held", number(static_cast<std::int64_t>(pool.held.size()))},
                           {"wanted", number(pool.devices)}}};
        }
        const std::int64_t per_member = part.each.devices;
        return Reason{ReasonCode::never_fits,
                      {{"flavor", part.each.flavor.empty() ? "*" : part.each.flavor},
                       {"needed", render_milli(bounded_product(per_member, part.count))},
                       {"largest", render_milli(bounded_product(per_member, best.members))},
                       {"members", number(part.count)},
                       {"membersThatFit", number(best.members)}}};
    }
    return std::nullopt;
}

Reason Planner::Inside::Inquiry::shortage(const Shortage& shortage) const {
    const std::string flavor =
        shortage.flavor == no_name ? "*" : inside.names.text(shortage.flavor);
    if (shortage.code == ReasonCode::quota_exhausted) {
        return {shortage.code,
                {{"queue", inside.names.text(inside.quota.nodes()[spot(shortage.bound.node)].name)},
                 {"flavor", flavor},
                 {"needed", render_milli(shortage.needed)},
                 {"used", render_milli(shortage.bound.used)},
                 {"limit", render_milli(shortage.bound.limit)}}};
    }
    const Supply supply = supply_of(shortage.flavor, {}, shortage.rule);
    Reason reason{ReasonCode::no_capacity,
                  {{"flavor", flavor},
                   {"needed", render_milli(shortage.needed)},
                   {"free", render_milli(supply.free)},
                   {"total", render_milli(supply.total)}}};
    if (shortage.of_cpu_or_memory) reason.params.push_back({"short", "cpuOrMemory"});
    return reason;
}

// It would fit once those that are leaving are gone.
Reason Planner::Inside::Inquiry::waiting_for_leavers() const {
    std::set<RowId> leavers;
    std::string node;
    for (const Slot& other : inside.slots) {
        if (!other.live || !other.leaving || other.pool != view.pool) continue;
        leavers.insert(other.workload);
        const std::string& text = inside.names.text(other.node);
        if (node.empty() || text < node) node = text;
    }
    return {ReasonCode::waiting_for_victims,
            {{"victims", number(static_cast<std::int64_t>(leavers.size()))}, {"node", node}}};
}

std::optional<std::int64_t> Planner::Inside::Inquiry::lowest_priority_held() const {
    std::optional<std::int64_t> lowest;
    const auto occupants = inside.occupants_of_queue.find(inside.names.find(demand.queue));
    if (occupants == inside.occupants_of_queue.end()) return lowest;
    for (RowId workload : occupants->second) {
        const OccupantFacts& occupant = *inside.workloads.at(workload).occupant;
        if (occupant.preemptible && (!lowest || occupant.priority < *lowest))
            lowest = occupant.priority;
    }
    return lowest;
}

void Planner::Inside::Inquiry::add_remedies(const Attempt& attempt,
                                            std::vector<Reason>& remedies) const {
    for (const Shortage& shortage : attempt.shortages) {
        const std::string flavor =
            shortage.flavor == no_name ? "*" : inside.names.text(shortage.flavor);
        if (shortage.code == ReasonCode::quota_exhausted) {
            const std::int64_t missing =
                shortage.needed - (shortage.bound.limit - shortage.bound.used);
            remedies.push_back(
                {ReasonCode::quota_exhausted,
                 {{"queue",
                   inside.names.text(inside.quota.nodes()[spot(shortage.bound.node)].name)},
                  {"flavor", flavor},
                  {"missing", render_milli(missing)}}});
        } else if (shortage.code == ReasonCode::no_capacity && !shortage.of_cpu_or_memory) {
            const std::int64_t missing =
                std::max<std::int64_t>(0, shortage.needed - supply_of(shortage.flavor, {}, shortage.rule).free);
            remedies.push_back({ReasonCode::no_capacity,
                                {{"flavor", flavor}, {"missing", render_milli(missing)}}});
        }
    }
    const auto lowest = lowest_priority_held();
    if (lowest && *lowest >= demand.priority) {
        remedies.push_back({ReasonCode::preempted, {{"priority", number(*lowest + 1)}}});
    }
}

std::optional<model::Verdict> Planner::Inside::verdict(RowId workload) {
    ensure_built();
    const int slot = waiting.find(workload);
    if (slot < 0) return verdict_of_claim(workload);
    const int class_index = waiting.demand(slot).class_index;
    const Inquiry inquiry{*this, slot, waiting.demand(slot).demand, view_of(class_index)};
    model::Verdict verdict{.workload = workload, .position = waiting.position(slot)};
    if (inquiry.view.closed != ReasonCode::none) {
        verdict.reason = inquiry.closed();
        return verdict;
    }
    const std::size_t mark = journal.size();
    Plan scratch;
    Attempt now;
    const bool fits_now = place(class_index, inquiry.demand, now, scratch);
    undo_to(mark);
    if (fits_now) {
        verdict.reason = {
            ReasonCode::behind,
            {{"position", number(verdict.position)}, {"queue", inquiry.demand.queue}}};
        return verdict;
    }
    inquiry.add_remedies(now, verdict.remedies);
    for (model::Reason& obstacle : list_obstacles(class_index, inquiry.demand))
        verdict.remedies.push_back(std::move(obstacle));
    if (auto never = inquiry.never()) {
        verdict.reason = std::move(*never);
        return verdict;
    }
    Attempt future{.view = View::future};
    const bool fits_later = place(class_index, inquiry.demand, future, scratch);
    undo_to(mark);
    if (fits_later)
        verdict.reason = inquiry.waiting_for_leavers();
    else if (!now.shortages.empty())
        verdict.reason = inquiry.shortage(now.shortages.front());
    return verdict;
}

// A workload that was placed by claims waits for those who still are there.
std::optional<model::Verdict> Planner::Inside::verdict_of_claim(RowId workload) const {
    const auto found = workloads.find(workload);
    if (found == workloads.end()) return std::nullopt;
    std::set<RowId> leavers;
    std::string node;
    bool claims = false;
    for (int index : found->second.slots) {
        const Slot& claim = slots[spot(index)];
        if (claim.kind != EntryKind::claim || claim.leaving) continue;
        claims = true;
        if (node.empty() || names.text(claim.node) < node) node = names.text(claim.node);
        for (int other_index : slots_of_node[spot(claim.node)]) {
            const Slot& other = slots[spot(other_index)];
            if (other.leaving && other.kind == EntryKind::allocation)
                leavers.insert(other.workload);
        }
    }
    if (!claims) return std::nullopt;
    return model::Verdict{
        .workload = workload,
        .reason = {
            ReasonCode::waiting_for_victims,
            {{"victims", number(static_cast<std::int64_t>(leavers.size()))}, {"node", node}}}};
}

}  // namespace tandem::sched
