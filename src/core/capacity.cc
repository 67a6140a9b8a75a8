// SPDX-License-Identifier: Apache-2.0
#include "core/capacity.h"

#include "core/jobs.h"
#include "core/members.h"
#include "core/work_limits.h"

namespace tandem::core {

ledger::Attribution attribution_of(const model::Replica& replica) {
    return {.pool = replica.spec.pool,
            .queue = replica.spec.queue,
            .project = replica.meta.project,
            .name_space = replica.meta.name_space,
            .owner_kind = std::string(model::name_of(replica.spec.owner_kind)),
            .owner_name = replica.spec.owner_name,
            .owner_uid = replica.spec.owner_uid,
            .replica = replica.meta.name,
            .epoch = replica.status.epoch};
}

namespace {

// Where others must heed it: what they select it by, and what it keeps away.
sched::PlacingRef placing_of(const model::Job* job) {
    if (!job || !job->spec.placing) return {};
    const model::JobPlacing& placing = *job->spec.placing;
    if (placing.labels.empty() && placing.apart.empty()) return {};
    return {std::make_shared<const model::JobPlacing>(placing)};
}

}  // namespace

sched::Entry entry_of(const State& state, const model::Replica& replica, sched::EntryKind kind,
                      const std::string& flavor) {
    const model::Job* job = replica.spec.owner_kind == model::Kind::job
                                ? state.table<model::Job>().find(replica.spec.owner_id)
                                : nullptr;
    const bool apart = replica.status.surplus;
    return {.id = replica.spec.owner_id,
            .part = replica.spec.rank,
            .kind = kind,
            .workload = apart ? replica.meta.id : replica.spec.owner_id,
            .node = replica.status.node,
            .devices = replica.status.devices,
            .flavor = flavor,
            .asked = replica.spec.resources.flavor,
            .cpu_milli = replica.spec.resources.cpu_milli,
            .memory_bytes = replica.spec.resources.memory_bytes,
            .queue = replica.spec.queue,
            .pool = replica.spec.pool,
            .project = replica.meta.project,
            .permits = job ? held_permits_of(state, *job, replica) : std::vector<sched::Permit>{},
            .placing = placing_of(job)};
}

void claim(Turn& turn, const model::Replica& replica, const sched::Placement& placement, const std::string& flavor) {
    const auto kind = placement.evictions.empty() ? sched::EntryKind::allocation : sched::EntryKind::claim;
    turn.state.planner.put_entry(entry_of(turn.state, replica, kind, flavor));
}

void charge(Turn& turn, const model::Replica& replica, model::LedgerState state) {
    const bool runs = state == model::LedgerState::running;
    for (const model::DeviceShare& share : replica.status.devices)
        turn.state.book.occupy({replica.status.node, share.index}, replica.meta.id, share.milli, state,
                               attribution_of(replica), turn.now, runs ? replica.status.ran_from : std::nullopt);
}

namespace {

bool is_taken(const State& state, const model::Replica& replica) {
    const model::Node* node = state.table<model::Node>().find_named(replica.status.node);
    if (!node) return false;
    for (const model::DeviceShare& share : replica.status.devices)
        for (const model::Device& device : node->status.devices)
            if (device.index == share.index && !device.taken_by.empty()) return true;
    return false;
}

}  // namespace

bool hold_if_free(Turn& turn, const model::Replica& replica) {
    // Which tasks of before a restore live, and where, is not known until the executors have listed
    // theirs.
    if (turn.state.live.recovering || is_taken(turn.state, replica)) return false;
    const sched::Entry* entry = turn.state.planner.find_entry(replica.spec.owner_id, replica.spec.rank);
    TANDEM_ASSERT(entry, "a claimed replica must have an entry");
    if (entry->kind == sched::EntryKind::claim &&
        !turn.state.planner.claim_is_free(replica.spec.owner_id, replica.spec.rank))
        return false;
    charge(turn, replica, model::LedgerState::held);
    return true;
}

void allocate(Turn& turn, const model::Replica& replica) {
    const sched::Entry* entry = turn.state.planner.find_entry(replica.spec.owner_id, replica.spec.rank);
    TANDEM_ASSERT(entry, "a claimed replica must have an entry");
    sched::Entry allocation = *entry;
    allocation.kind = sched::EntryKind::allocation;
    turn.state.planner.put_entry(allocation);
    charge(turn, replica, model::LedgerState::held);
}

void release(Turn& turn, const model::Replica& replica, const Release& how) {
    const bool occupied = turn.state.planner.find_entry(replica.spec.owner_id, replica.spec.rank) != nullptr;
    if (!occupied) return;
    turn.state.planner.remove_entry(replica.spec.owner_id, replica.spec.rank);
    if (replica.status.surplus) turn.state.planner.remove_occupant(replica.meta.id);
    ledger::IntervalBook::Closing closing{.ran_from = replica.status.ran_from, .safe_at = how.safe_at, .lost = how.lost};
    if (replica.status.exit) {
        closing.ended_at = replica.status.exit->at;
        closing.server_absent = replica.status.exit->server_absent;
    }
    for (const model::DeviceShare& share : replica.status.devices)
        turn.state.book.release({replica.status.node, share.index}, replica.meta.id, closing, turn.now);
    touch_claimed(turn);
}

void touch_claimed(Turn& turn) {
    for (const auto& [waiting, unused] : turn.state.live.claimed.rows()) {
        const bool is_job = turn.table<model::Job>().find(waiting) != nullptr;
        touch(turn, is_job ? model::Kind::job : model::Kind::service, waiting);
    }
}

}  // namespace tandem::core
