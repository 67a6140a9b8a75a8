// SPDX-License-Identifier: Apache-2.0
#include "core/members.h"

#include <algorithm>

#include "core/arrays.h"
#include "core/capacity.h"
#include "core/jobs.h"
#include "core/reservations.h"
#include "core/start_task.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::Job;
using model::Phase;
using model::Replica;

RowId ensure_replica(Turn& turn, const Job& job, const sched::PlacedReplica& placed) {
    const std::string name =
        job.meta.name + "-" + placed.role + "-" + std::to_string(placed.rank);
    const Replica* known =
        turn.state.table<Replica>().find_named(job.meta.project, job.meta.name_space, name);
    if (known && known->spec.owner_id == job.meta.id) return known->meta.id;
    TANDEM_ASSERT(!known, "replica names are kept apart when jobs are made");
    const RowId id = turn.state.next_id();
    Replica replica;
    replica.meta = {.id = id,
                    .uid = turn.random.draw_uid(),
                    .name = name,
                    .project = job.meta.project,
                    .name_space = job.meta.name_space,
                    .labels = {},
                    .annotations = {},
                    .generation = 1,
                    .created = turn.now};
    replica.spec.owner_kind = model::Kind::job;
    replica.spec.owner_id = job.meta.id;
    replica.spec.owner_uid = job.meta.uid;
    replica.spec.owner_name = job.meta.name;
    replica.spec.role = placed.role;
    replica.spec.rank = placed.rank;
    turn.table<Replica>().insert(id, std::move(replica));
    return id;
}

}  // namespace

const model::JobRole& role_of(const Job& job, const std::string& name) {
    const auto it = std::find_if(job.spec.roles.begin(), job.spec.roles.end(),
                                 [&](const model::JobRole& role) { return role.name == name; });
    TANDEM_ASSERT(it != job.spec.roles.end(), "placed role must be the job's");
    return *it;
}

void claim_member(Turn& turn, const Job& job, const sched::PlacedReplica& placed,
                  const sched::Placement& placement, bool surplus) {
    const RowId replica_id = ensure_replica(turn, job, placed);
    Replica& replica = turn.table<Replica>().edit(replica_id);
    replica.spec.resources = role_of(job, placed.role).resources;
    replica.spec.queue = job.spec.queue;
    replica.spec.pool = pool_of(turn.state, job);
    replica.spec.priority = priority_of(turn.state, job);
    // A batch may end one attempt and place the next: how the one ended stays to be read.
    std::optional<model::AttemptEnd> last;
    if (replica.status.epoch > 0)
        last = {.epoch = replica.status.epoch, .ran_from = replica.status.ran_from, .exit_at = {}};
    if (last && replica.status.exit) last->exit_at = replica.status.exit->at;
    replica.status = {.phase = Phase::claimed,
                      .epoch = job.status.epoch,
                      .starts = replica.status.starts,
                      .node = placed.node,
                      .devices = placed.devices,
                      .last_attempt = last,
                      .surplus = surplus};
    claim(turn, replica, placement, placed.flavor);
    if (surplus) turn.state.planner.put_occupant(occupant_of_member(turn.state, job, replica));
}

void start_member(Turn& turn, const Job& job, RowId id) {
    Replica& replica = turn.table<Replica>().edit(id);
    replica.status.epoch = job.status.epoch;
    replica.status.starts += 1;
    replica.status.task_generation = turn.state.meta.generation;
    replica.status.started = turn.now;
    allocate(turn, replica);
    move_replica(turn, id, Phase::starting);
    turn.open_intent(start_task_of_job(turn.state, job, replica));
    if (replica.status.surplus)
        turn.state.planner.put_occupant(occupant_of_member(turn.state, job, replica));
}

std::vector<RowId> members_of(const State& state, RowId job) {
    std::vector<RowId> members;
    for (RowId id : replicas_of(state, job)) {
        const Replica& replica = state.table<Replica>().get(id);
        if (model::holds_capacity(replica.status.phase) && !replica.status.draining)
            members.push_back(id);
    }
    std::ranges::sort(members, {}, [&](RowId id) {
        return state.table<Replica>().get(id).spec.rank;
    });
    return members;
}

void dismiss(Turn& turn, RowId id, const std::optional<Instant>& safe_at) {
    const Replica& replica = turn.state.table<Replica>().get(id);
    release(turn, replica,
            {.safe_at = safe_at, .lost = model::LedgerState::lost_to_preemption});
    turn.state.live.tasks.erase(task_name(turn.state, replica));
    turn.table<Replica>().erase(id);
}

sched::Occupant occupant_of_member(const State& state, const Job& job, const Replica& replica) {
    const Instant started =
        replica.status.started.value_or(job.status.started.value_or(Instant{}));
    const auto& saved = job.status.checkpoint;
    return {.workload = replica.meta.id,
            .queue = replica.spec.queue,
            .priority = priority_of(state, job),
            .started = started,
            .safe_at = saved ? std::max(started, saved->at) : started,
            .ends = started,
            .standing = sched::Standing::surplus};
}

std::vector<sched::Permit> permits_of_member(const State& state, const Job& job,
                                             std::int64_t devices) {
    std::vector<sched::Permit> permits = permits_of(state, job);
    std::erase_if(permits, [](const sched::Permit& permit) { return !permit.devices; });
    for (sched::Permit& permit : permits) permit.amount = devices;
    if (devices == 0) permits.clear();
    return permits;
}

}  // namespace tandem::core
