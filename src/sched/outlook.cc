// SPDX-License-Identifier: Apache-2.0
#include "sched/outlook.h"

#include <algorithm>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

bool is_placed_by(const Attempt& attempt, int slot) {
    return std::ranges::find(attempt.placed, slot, &Attempt::Placed::slot) != attempt.placed.end();
}

// A share is given back; true: its device is whole and free with that.
bool give_back(Tally& tally, const NodeState& node, int position, const Release& release) {
    const Dev* device = Capacity::find_device(node, release.device);
    if (device == nullptr) return false;
    std::int32_t& held =
        tally.held[tally.first[spot(position)] + static_cast<std::size_t>(device - node.devices.data())];
    if (held < 0) return false;
    held -= static_cast<std::int32_t>(release.milli);
    return held == 0;
}

}  // namespace

std::int64_t Wanted::members(std::int64_t devices, std::int64_t cpu, std::int64_t memory) const {
    std::int64_t room = devices / size;
    if (room > 0 && cpu_milli > 0)
        room = std::min(room, std::max<std::int64_t>(0, cpu) / cpu_milli);
    if (room > 0 && memory_bytes > 0)
        room = std::min(room, std::max<std::int64_t>(0, memory) / memory_bytes);
    return room;
}

// Absent: it has to be tried.
std::optional<Wanted> Planner::Inside::countable(int class_index) {
    const ClassView& view = refresh_parts(class_index);
    if (view.forced) return std::nullopt;  // quotas don't count for it
    const Demand& demand = waiting.demand(waiting.group(class_index).first().demand).demand;
    const model::Resources& each = demand.parts.front().each;
    if (demand.parts.size() != 1 || each.devices <= 0 || each.devices % 1000 != 0 || view.by_rules)
        return std::nullopt;
    std::vector<int> domains;
    for (const std::vector<int>& tier : view.parts.front().tiers)
        domains.insert(domains.end(), tier.begin(), tier.end());
    if (domains.size() != 1) return std::nullopt;
    const int flavor = capacity.domain(domains.front()).flavor;
    return Wanted{.domain = domains.front(),
                  .flavor = flavor,
                  .rule = view.parts.front().rule,
                  .queue = view.node,
                  .flavor_row = quota.flavor_row(flavor),
                  .count = demand.parts.front().count,
                  .size = each.devices / 1000,
                  .cpu_milli = each.cpu_milli,
                  .memory_bytes = each.memory_bytes,
                  .milli = bounded_product(each.devices, demand.parts.front().count)};
}

std::int64_t Planner::Inside::end_of(RowId workload) const {
    const auto found = workloads.find(workload);
    if (found == workloads.end()) return ends_never;
    const WorkloadState& state = found->second;
    if (!state.occupant) return state.planned_end;
    return state.occupant->ends ? state.occupant->ends->ms : ends_never;
}

void Planner::Inside::list_releases(RowId workload, std::vector<Release>& out) const {
    const auto state = workloads.find(workload);
    if (state == workloads.end()) return;
    const std::int64_t end = end_of(workload);
    for (int index : state->second.slots) {
        if (!slots[spot(index)].leaving) list_shares(index, end, out);
    }
}

void Planner::Inside::list_shares(int index, std::int64_t end, std::vector<Release>& out) const {
    const Slot& slot = slots[spot(index)];
    Release release{.end = end,
                    .workload = slot.workload,
                    .cpu_milli = slot.cpu_milli,
                    .memory_bytes = slot.memory_bytes,
                    .slot = index,
                    .pool = slot.pool,
                    .queue = slot.queue,
                    .flavor = slot.flavor,
                    .node = slot.node};
    for (const Share& share : slot.shares) {
        release.device = static_cast<std::int32_t>(share.device);
        release.milli = static_cast<std::int32_t>(share.milli);
        out.push_back(release);
        release.cpu_milli = release.memory_bytes = 0;
    }
    if (slot.shares.empty()) out.push_back(release);
}

const std::vector<Release>& Planner::Inside::releases_now() {
    return releases.refreshed(
        [this](std::vector<Release>& out) {
            for (const auto& [workload, state] : workloads) list_releases(workload, out);
        },
        [this](RowId workload, std::vector<Release>& out) { list_releases(workload, out); });
}

void Planner::Inside::tally_node(Tally& tally, const Domain& domain, int position) const {
    const NodeState& node = capacity.node(position);
    tally.free[spot(position)] = 0;
    tally.cpu[spot(position)] = node.cpu.free(View::future);
    tally.memory[spot(position)] = node.memory.free(View::future);
    std::size_t at = tally.first[spot(position)];
    for (const Dev& device : node.devices) {
        const bool counts =
            device.healthy && device.owner == domain.pool && device.flavor == domain.flavor;
        tally.held[at] = counts ? device.occupied - device.leaving + device.claimed : -1;
        tally.free[spot(position)] += tally.held[at] == 0 ? 1 : 0;
        at += 1;
    }
}

const Tally& Planner::Inside::tally_of(int domain_index) {
    const auto [entry, added] = outlooks.bases.try_emplace(domain_index);
    Tally& tally = entry->second.tally;
    const Domain& domain = capacity.domain(domain_index);
    if (added) {
        const std::size_t count = capacity.nodes().size();
        std::size_t devices = 0;
        for (const NodeState& node : capacity.nodes()) {
            tally.first.push_back(devices);
            devices += node.devices.size();
        }
        tally.held.assign(devices, -1);
        tally.free.assign(count, 0);
        tally.cpu.assign(count, 0);
        tally.memory.assign(count, 0);
        for (int at = domain.nodes.first(); at >= 0; at = domain.nodes.first(at + 1))
            tally_node(tally, domain, at);
    } else {
        for (std::size_t i = entry->second.seen; i < changed_nodes.size(); ++i) {
            if (domain.nodes.contains(changed_nodes[i])) tally_node(tally, domain, changed_nodes[i]);
        }
    }
    entry->second.seen = changed_nodes.size();
    return tally;
}

// One walk through the ends: what is given back is counted on copies.
struct Planner::Inside::Counting {
    Inside& inside;
    Outlook& outlook;
    Tally tally;
    std::vector<std::pair<int, std::int64_t>> uncharged{};  // given back, by queue

    void begin();
    void let_go(const Release& release);
    bool fits();
};

void Planner::Inside::Counting::begin() {
    const Wanted& wanted = outlook.wanted;
    const NodeBitmap& open = inside.capacity.domain(wanted.domain).nodes;
    const NodeBitmap* within = inside.admitted_nodes(wanted.rule);
    outlook.members.assign(inside.capacity.nodes().size(), -1);
    for (int at = first_in(open, within, 0); at >= 0; at = first_in(open, within, at + 1)) {
        outlook.members[spot(at)] =
            wanted.members(tally.free[spot(at)], tally.cpu[spot(at)], tally.memory[spot(at)]);
        outlook.total += outlook.members[spot(at)];
    }
    outlook.rows = inside.quota.rows_of(wanted.flavor_row);
}

void Planner::Inside::Counting::let_go(const Release& release) {
    const Wanted& wanted = outlook.wanted;
    if (release.flavor == wanted.flavor) {
        if (uncharged.empty() || uncharged.back().first != release.queue)
            uncharged.emplace_back(release.queue, 0);
        uncharged.back().second += release.milli;
    }
    const int position = inside.capacity.find(release.node);
    if (position < 0) return;
    std::int64_t& members = outlook.members[spot(position)];
    if (members < 0) return;
    std::int32_t& free = tally.free[spot(position)];
    tally.cpu[spot(position)] += release.cpu_milli;
    tally.memory[spot(position)] += release.memory_bytes;
    free += give_back(tally, inside.capacity.node(position), position, release) ? 1 : 0;
    const std::int64_t after =
        wanted.members(free, tally.cpu[spot(position)], tally.memory[spot(position)]);
    outlook.total += after - members;
    members = after;
}

bool Planner::Inside::Counting::fits() {
    if (outlook.total < outlook.wanted.count) return false;
    for (const auto& [queue, milli] : uncharged)
        inside.quota.charge_in(outlook.rows, inside.quota.find(queue), -milli);
    uncharged.clear();
    return inside.quota.fits_in(outlook.rows, outlook.wanted.queue, outlook.wanted.milli);
}

// As it was before `judged` was placed.
void Planner::Inside::count_headway(int class_index, const Wanted& wanted, const Attempt& judged,
                                    Plan& plan) {
    Headway& headway = headways[class_index];
    headway = {.start = time, .outlook = Outlook{.wanted = wanted}};
    Outlook& outlook = *headway.outlook;
    const std::vector<Release>& list = releases_now();
    note_changes(judged);  // it may not stay
    Counting counting{*this, outlook, tally_of(wanted.domain)};
    counting.begin();
    std::vector<Release> own;
    for (const Attempt::Placed& placed : judged.placed) list_shares(placed.slot, ends_never, own);
    for (const Release& release : own) counting.let_go(release);
    headway.possible = counting.fits();
    const int pool = view_of(class_index).pool;
    for (std::size_t i = 0; i < list.size() && !headway.possible;) {
        const Release& first = list[i];
        bool some = false;
        for (; i < list.size() && list[i].workload == first.workload; ++i) {
            if (list[i].pool != pool || is_placed_by(judged, list[i].slot)) continue;
            counting.let_go(list[i]);
            some = true;
        }
        if (!some) continue;
        outlook.last_end = first.end;
        outlook.last = first.workload;
        headway.possible = counting.fits();
        headway.start.reset();
        if (first.end != ends_never) headway.start = std::max(time, Instant{first.end});
    }
    plan.steps_used += 1 + static_cast<std::int64_t>(list.size() / 64);
    outlook.seen_nodes = changed_nodes.size();
    outlook.seen_placed = outlooks.placed.size();
    if (headway.possible)
        plan.promises.push_back({waiting.group(class_index).first().id, headway.start});
}

// Of those without a stated end only such as ran already when the plan began.
bool Planner::Inside::leaves_for(const Outlook& outlook, RowId workload) const {
    if (outlook.passers.contains(workload)) return true;
    const std::int64_t end = end_of(workload);
    if (end != ends_never) return end <= outlook.last_end;
    const auto state = workloads.find(workload);
    return outlook.last_end == ends_never && state != workloads.end() && state->second.occupant &&
           workload <= outlook.last;
}

// Members that a node holds at the head's start, as the tables are now.
std::int64_t Planner::Inside::members_then(const Outlook& outlook, int position) const {
    const NodeState& node = capacity.node(position);
    const Domain& domain = capacity.domain(outlook.wanted.domain);
    std::int64_t cpu = node.cpu.free(View::future);
    std::int64_t memory = node.memory.free(View::future);
    std::vector<std::int32_t> given(node.devices.size());
    for (int index : slots_of_node[spot(node.name)]) {
        const Slot& slot = slots[spot(index)];
        if (slot.leaving || !slot.workload || !leaves_for(outlook, slot.workload)) continue;
        cpu += slot.cpu_milli;
        memory += slot.memory_bytes;
        for (const Share& share : slot.shares) {
            if (const Dev* device = Capacity::find_device(node, share.device))
                given[static_cast<std::size_t>(device - node.devices.data())] +=
                    static_cast<std::int32_t>(share.milli);
        }
    }
    std::int64_t free = 0;
    for (std::size_t d = 0; d < node.devices.size(); ++d) {
        const Dev& device = node.devices[d];
        const bool counts =
            device.healthy && device.owner == domain.pool && device.flavor == domain.flavor;
        const std::int32_t held = device.occupied - device.leaving + device.claimed;
        free += counts && held == given[d] ? 1 : 0;
    }
    return outlook.wanted.members(free, cpu, memory);
}

void Planner::Inside::recount_node(Outlook& outlook, int position) const {
    std::int64_t& members = outlook.members[spot(position)];
    if (members < 0) return;
    const std::int64_t after = members_then(outlook, position);
    outlook.total += after - members;
    members = after;
}

// Takes in what others placed since. False: with that, the head has no place at its start.
bool Planner::Inside::catch_up(int head, Outlook& outlook) {
    const int own = waiting.group(head).key.queue;
    for (; outlook.seen_placed < outlooks.placed.size(); ++outlook.seen_placed) {
        const RowId workload = outlooks.placed[outlook.seen_placed];
        const auto state = workloads.find(workload);
        if (state == workloads.end() || leaves_for(outlook, workload)) continue;
        for (int index : state->second.slots) {
            const Slot& slot = slots[spot(index)];
            if (slot.queue != own && slot.flavor == outlook.wanted.flavor && slot.provisional)
                quota.charge_in(outlook.rows, quota.find(slot.queue), slot.milli);
        }
    }
    for (; outlook.seen_nodes < changed_nodes.size(); ++outlook.seen_nodes)
        recount_node(outlook, changed_nodes[outlook.seen_nodes]);
    return outlook.total >= outlook.wanted.count &&
           quota.fits_in(outlook.rows, outlook.wanted.queue, outlook.wanted.milli);
}

// What stands placed by the attempt stays beyond the head's start: does the head fit beside it?
bool Planner::Inside::fits_beside(Outlook& outlook, const Attempt& attempt) const {
    const auto charge = [&](int sign) {
        for (const Attempt::Placed& placed : attempt.placed) {
            const Slot& slot = slots[spot(placed.slot)];
            if (slot.flavor == outlook.wanted.flavor)
                quota.charge_in(outlook.rows, quota.find(slot.queue), slot.milli * sign);
        }
    };
    for (const Attempt::Placed& placed : attempt.placed) {
        const int position = capacity.find(slots[spot(placed.slot)].node);
        if (position >= 0) recount_node(outlook, position);
    }
    charge(1);
    if (outlook.total >= outlook.wanted.count &&
        quota.fits_in(outlook.rows, outlook.wanted.queue, outlook.wanted.milli))
        return true;
    charge(-1);
    return false;
}

}  // namespace tandem::sched
