// SPDX-License-Identifier: Apache-2.0
#include "core/recover.h"

#include <fmt/format.h>

#include "core/arrays.h"
#include "core/capacity.h"
#include "core/jobs.h"
#include "core/live_memory.h"
#include "core/maintenance.h"
#include "core/members.h"
#include "core/nodes.h"
#include "core/reservations.h"
#include "core/service_floor.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::Replica;

std::string flavor_of(const State& state, const Replica& replica) {
    const model::Node* node = state.table<model::Node>().find_named(replica.status.node);
    if (!node || replica.status.devices.empty()) return {};
    for (const model::Device& device : node->status.devices)
        if (device.index == replica.status.devices.front().index) return device.flavor;
    return {};
}

void rebuild_topology(State& state) {
    for (const auto& [id, node] : state.table<model::Node>().rows()) put_node(state, node);
    for (const auto& [id, pool] : state.table<model::Pool>().rows()) {
        state.planner.put_pool(pool);
        put_holds(state, pool);
    }
    for (const auto& [id, queue] : state.table<model::Queue>().rows()) state.planner.put_queue(queue);
    for (const auto& [id, reservation] : state.table<model::Reservation>().rows())
        put_reservation(state, reservation);
}

bool is_ending(const State& state, const Replica& replica) {
    const model::Job* job = state.table<model::Job>().find(replica.spec.owner_id);
    if (!job) return replica.status.phase == Phase::stopping;
    // A rank that ended before the others keeps its devices until they have ended, or start again.
    const bool all = job->status.phase == Phase::stopping &&
                     job->status.ending != model::Ending::resized;
    return all || replica.status.draining;
}

// Collecting outputs keeps the job in stopping after its capacity went; so does nothing else.
bool has_released(const State& state, const Replica& replica) {
    const model::Job* job = state.table<model::Job>().find(replica.spec.owner_id);
    return job && job->status.reason.code == model::ReasonCode::collecting_outputs;
}

void rebuild_entries(State& state) {
    for (const auto& [id, replica] : state.table<Replica>().rows()) {
        if (!model::holds_capacity(replica.status.phase) || has_released(state, replica)) continue;
        const auto kind =
            replica.status.phase == Phase::claimed ? sched::EntryKind::claim : sched::EntryKind::allocation;
        state.planner.put_entry(entry_of(state, replica, kind, flavor_of(state, replica)));
        if (is_ending(state, replica)) state.planner.set_leaving(replica.spec.owner_id, replica.spec.rank);
        if (kind == sched::EntryKind::claim) state.live.claimed.put(replica.spec.owner_id, true);
    }
}

void rebuild_occupants(State& state) {
    for (const auto& [id, job] : state.table<model::Job>().rows()) {
        if (!model::may_be_alive(job.status.phase) || is_array(job)) continue;
        state.planner.put_occupant(occupant_of(state, job));
    }
    for (const auto& [id, replica] : state.table<Replica>().rows()) {
        if (!replica.status.surplus || !model::holds_capacity(replica.status.phase) ||
            has_released(state, replica))
            continue;
        const auto* job = state.table<model::Job>().find(replica.spec.owner_id);
        const auto* service = state.table<model::Service>().find(replica.spec.owner_id);
        if (job) state.planner.put_occupant(occupant_of_member(state, *job, replica));
        if (service) state.planner.put_occupant(occupant_of_spare(*service, replica));
    }
    for (const auto& [id, service] : state.table<model::Service>().rows())
        state.planner.put_occupant(occupant_of_service(service, service.meta.created));
}

// Rows of open intervals name their holder as people do.
RowId holder_of(const State& state, const model::UsageRecord& open) {
    if (open.device < 0) {
        const model::Job* job = state.table<model::Job>().find_uid(open.owner_uid);
        return job ? job->meta.id : RowId{};
    }
    const Replica* replica = state.table<Replica>().find_named(open.project, open.name_space, open.replica);
    return replica ? replica->meta.id : RowId{};
}

// Gateways may still hold shares of keys' limits from before the restart.
void expect_lease_holders(State& state) {
    std::vector<std::string> gateways;
    for (const auto& [key, cursor] : state.cursors.rows()) gateways.push_back(cursor.gateway);
    state.leases.expect_holders(gateways, state.meta.time);
}

}  // namespace

void rebuild_planner(State& state) {
    state.planner.advance(state.meta.time);
    rebuild_topology(state);
    rebuild_entries(state);
    for (const auto& [id, queue] : state.table<model::Queue>().rows())
        state.planner.restore_memory({.queue = queue.meta.name, .status = queue.status});
    rebuild_occupants(state);
}

Status recover_state(State& state, RecoveredState recovered) {
    state.restore_rows(recovered);
    rebuild_planner(state);
    rebuild_submitted(state);
    for (const model::UsageRecord& open : recovered.open_intervals) state.book.restore(open, holder_of(state, open));
    settle_owners(state, state.meta.time);  // of devices without an idle interval, no row tells it
    expect_lease_holders(state);
    state.live.recovering = true;
    if (recovered.live) recall(state, *recovered.live);
    const std::string wrong = state.planner.recount();
    if (!wrong.empty()) return fail(ErrorCode::internal, "capacity recount from rows differs: " + wrong);
    const std::string gap = state.book.check();
    if (!gap.empty()) return fail(ErrorCode::internal, "open intervals contradict each other: " + gap);
    state.planner.forget();  // as after a commit: a segment that opens in mid-life begins so too
    return {};
}

}  // namespace tandem::core
