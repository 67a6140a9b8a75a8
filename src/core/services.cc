// SPDX-License-Identifier: Apache-2.0
#include "core/services.h"

#include <algorithm>

#include "core/capacity.h"
#include "core/jobs.h"
#include "core/replica_end.h"
#include "core/service_floor.h"
#include "core/service_target.h"
#include "core/service_view.h"
#include "core/start_task.h"
#include "serving/rollout.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::ReasonCode;
using model::Replica;
using model::Service;
using model::ServicePhase;

constexpr std::int64_t starts_limit = 3;
// Between "gets nothing new" in every gateway and TERM; an engine then still finishes what it has.
constexpr Duration drain_settle = milliseconds(500);

void stop_replica(Turn& turn, RowId id, Duration grace) {
    const Replica& replica = turn.state.table<Replica>().get(id);
    turn.state.planner.set_leaving(replica.spec.owner_id, replica.spec.rank);
    if (replica.status.phase == Phase::claimed) {
        release(turn, replica, {});
        turn.table<Replica>().erase(id);
        return;
    }
    if (replica.status.phase == Phase::stopping || is_gone(replica)) return;
    const model::TaskName task = task_name(turn.state, replica);
    close_intents(turn, task);
    move_replica(turn, id, Phase::stopping);
    turn.open_intent(model::StopTask{.task = task, .node = replica.status.node, .grace = grace});
}

void drain_replica(Turn& turn, RowId id) {
    Replica& replica = turn.table<Replica>().edit(id);
    if (replica.status.draining) return;
    replica.status.draining = true;
    replica.status.stop_at = turn.now + drain_settle;
}

void start_claimed(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    bool waits = false;
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& claimed = turn.state.table<Replica>().get(replica_id);
        if (claimed.status.phase != Phase::claimed) continue;
        if (!hold_if_free(turn, claimed)) {
            waits = true;
            continue;
        }
        const model::ModelVersion* version = turn.state.table<model::ModelVersion>().find_named(
            service.meta.project, service.meta.name_space, claimed.spec.model_version);
        const model::Runtime* runtime = turn.state.table<model::Runtime>().find_named(service.spec.runtime);
        if (!version || !runtime) {
            stop_replica(turn, replica_id, {});
            continue;
        }
        Replica& replica = turn.table<Replica>().edit(replica_id);
        replica.status.epoch = std::max(replica.status.epoch, turn.state.meta.epoch_base) + 1;
        replica.status.starts += 1;
        replica.status.task_generation = turn.state.meta.generation;
        replica.status.started = turn.now;
        replica.spec.revision = revision_of(service, *runtime);
        allocate(turn, replica);
        move_replica(turn, replica_id, Phase::starting);
        turn.open_intent(start_task_of_service(turn.state, service, replica, *version, *runtime));
    }
    if (!waits) turn.state.live.claimed.erase(id);
}

Duration ready_timeout_of(const State& state, const Service& service) {
    if (service.spec.ready_timeout.ms > 0) return service.spec.ready_timeout;
    const model::Runtime* runtime = state.table<model::Runtime>().find_named(service.spec.runtime);
    return runtime ? runtime->spec.ready_timeout : seconds(120);
}

void stop_overdue(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    const Duration timeout = ready_timeout_of(turn.state, service);
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        if (replica.status.draining && replica.status.stop_at && *replica.status.stop_at <= turn.now)
            stop_replica(turn, replica_id, service.spec.drain_timeout);
        const bool late = replica.status.phase == Phase::starting && replica.status.started &&
                          *replica.status.started + timeout <= turn.now;
        if (!late) continue;
        TANDEM_REACHED("service.not_ready_in_time");
        Replica& edited = turn.table<Replica>().edit(replica_id);
        const std::string detail = edited.status.reason.params.empty() ? "" : edited.status.reason.params.back().value;
        edited.status.stop_at = turn.now;
        const model::Reason reason = reason_of(
            ReasonCode::not_ready_in_time,
            {{"replica", edited.meta.name}, {"timeout", render_duration(timeout)}, {"detail", detail}});
        stop_replica(turn, replica_id, {});
        keep_failure(turn, id, turn.state.table<Replica>().get(replica_id), reason);
    }
}

void ask_for_replica(Turn& turn, const Service& service) {
    if (service.status.not_before && *service.status.not_before > turn.now) return;
    turn.state.planner.put_demand({.workload = service.meta.id,
                                   .queue = service.spec.queue,
                                   .project = service.meta.project,
                                   .priority = service.spec.priority,
                                   .submitted = service.meta.created,
                                   .parts = {{.role = "server",
                                              .first_rank = service.status.next_rank,
                                              .count = 1,
                                              .each = service.spec.resources}},
                                   .preemptible = service.spec.preemptible});
}

void drain_youngest(Turn& turn, RowId id, std::int64_t count) {
    std::vector<RowId> candidates;
    for (RowId replica_id : replicas_of(turn.state, id))
        if (is_live(turn.state.table<Replica>().get(replica_id))) candidates.push_back(replica_id);
    // Those that are not ready yet go first, then the youngest.
    std::sort(candidates.begin(), candidates.end(), [&](RowId a, RowId b) {
        const bool ready_a = turn.state.table<Replica>().get(a).status.phase == Phase::running;
        const bool ready_b = turn.state.table<Replica>().get(b).status.phase == Phase::running;
        if (ready_a != ready_b) return !ready_a;
        return b < a;
    });
    for (RowId candidate : candidates) {
        if (count-- <= 0) break;
        const bool running = turn.state.table<Replica>().get(candidate).status.phase == Phase::running;
        if (running) {
            drain_replica(turn, candidate);
        } else {
            turn.table<Replica>().edit(candidate).status.stop_at = turn.now;
            stop_replica(turn, candidate, {});
        }
    }
}

void scale_to_desired(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    std::int64_t live = 0;
    for (RowId replica_id : replicas_of(turn.state, id))
        if (is_live(turn.state.table<Replica>().get(replica_id))) ++live;
    if (live < service.status.desired)
        ask_for_replica(turn, service);
    else
        turn.state.planner.remove_demand(id);
    if (live > service.status.desired) drain_youngest(turn, id, live - service.status.desired);
}

void stop_those_of_target(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    for (RowId replica_id : replicas_of(turn.state, id)) {
        if (!is_of_target(service, turn.state.table<Replica>().get(replica_id))) continue;
        turn.table<Replica>().edit(replica_id).status.stop_at = turn.now;
        stop_replica(turn, replica_id, {});
    }
}

std::optional<Instant> roll_out(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    const serving::RolloutDecision decision = serving::decide_rollout(
        rollout_facts(turn.state, service, ready_timeout_of(turn.state, service), starts_limit), turn.now);
    switch (decision.step) {
        case serving::RolloutStep::start_new: ask_for_replica(turn, service); break;
        case serving::RolloutStep::wait: break;
        case serving::RolloutStep::drain_old: drain_replica(turn, decision.replica); break;
        case serving::RolloutStep::done:
            complete_target(turn, id);
            break;
        case serving::RolloutStep::give_up:
            TANDEM_REACHED("service.rollout_given_up");
            stop_those_of_target(turn, id);
            give_up_target(turn, id, decision.reason);
            break;
    }
    return decision.next_look_at;
}

void decide_desired(Turn& turn, RowId id, std::optional<Instant>& look) {
    const Service& service = turn.state.table<Service>().get(id);
    const serving::ScaleDecision decision =
        serving::decide_scale(service.spec.replicas, scale_facts(turn.state, service), turn.now);
    turn.state.live.scale.put(id, decision.memory);
    keep_earliest(look, decision.next_look_at);
    if (decision.desired == service.status.desired) return;
    const bool wakes = service.status.desired == 0;
    Service& edited = turn.table<Service>().edit(id);
    edited.status.desired = decision.desired;
    edited.status.reason = decision.reason;
    turn.note(key_of_row(edited), edited.meta.uid, decision.reason);
    // What its starts came to before it slept is not held against it for ever.
    const bool may_try = edited.status.not_before && *edited.status.not_before <= turn.now;
    if (decision.desired > 0 && may_try && (wakes || edited.status.starts_failed >= starts_limit))
        edited.status.starts_failed = 0;
}

void forget_loads(Turn& turn, const Uid& service) {
    auto& loads = turn.state.live.loads;
    for (auto it = loads.rows().lower_bound({service, ""}); it != loads.rows().end() && it->first.first == service;) {
        const auto key = it->first;
        ++it;
        loads.erase(key);
    }
}

void end_service(Turn& turn, RowId id) {
    turn.state.planner.remove_demand(id);
    for (RowId replica_id : replicas_of(turn.state, id)) {
        Replica& replica = turn.table<Replica>().edit(replica_id);
        replica.status.draining = true;
        replica.status.stop_at = turn.now;
        const Duration grace = turn.state.table<Service>().get(id).spec.drain_timeout;
        stop_replica(turn, replica_id, grace);
    }
    if (!replicas_of(turn.state, id).empty()) return;
    forget_loads(turn, turn.state.table<Service>().get(id).meta.uid);
    turn.state.live.last_request.erase(id);
    turn.state.live.scale.erase(id);
    turn.state.live.claimed.erase(id);
    turn.table<Service>().erase(id);
}

void set_phase(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    const ReplicaCounts counts = count_replicas(turn.state, id);
    const ServicePhase phase = phase_of(turn.state, service, counts, starts_limit);
    if (counts.ready > 0 && service.status.starts_failed > 0 && !is_updating(service)) {
        Service& edited = turn.table<Service>().edit(id);
        edited.status.starts_failed = 0;
        edited.status.not_before.reset();
    }
    const auto reason = settled_reason(service, phase, counts);
    if (reason && service.status.reason != *reason) turn.table<Service>().edit(id).status.reason = *reason;
    if (service.status.phase == phase && service.status.ready == counts.ready &&
        service.status.observed_generation == service.meta.generation)
        return;
    Service& edited = turn.table<Service>().edit(id);
    edited.status.phase = phase;
    edited.status.ready = counts.ready;
    edited.status.observed_generation = edited.meta.generation;
}

void schedule_look(Turn& turn, RowId id, std::optional<Instant> look) {
    const Service& service = turn.state.table<Service>().get(id);
    const Duration timeout = ready_timeout_of(turn.state, service);
    if (service.status.not_before && *service.status.not_before > turn.now)
        keep_earliest(look, service.status.not_before);
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        if (replica.status.draining && replica.status.phase != Phase::stopping)
            keep_earliest(look, replica.status.stop_at);
        if (replica.status.phase == Phase::starting && replica.status.started)
            keep_earliest(look, *replica.status.started + timeout);
    }
    set_wake(turn.state.live, id, look);
}

}  // namespace

void reconcile_service(Turn& turn, RowId id) {
    if (!turn.state.table<Service>().find(id)) return;
    bury_gone(turn, id);
    if (turn.state.table<Service>().get(id).meta.deletion_requested) {
        end_service(turn, id);
        if (turn.state.table<Service>().find(id)) set_phase(turn, id);
        return;
    }
    std::optional<Instant> look;
    stop_overdue(turn, id);
    if (choose_target(turn, id)) {
        decide_desired(turn, id, look);
        start_claimed(turn, id);
        const Service& service = turn.state.table<Service>().get(id);
        if (is_updating(service))
            keep_earliest(look, roll_out(turn, id));
        else
            scale_to_desired(turn, id);
    }
    settle_floor(turn, id);
    set_phase(turn, id);
    schedule_look(turn, id, look);
}

void claim_replica(Turn& turn, const sched::Placement& placement) {
    const RowId id = placement.workload;
    Service& service = turn.table<Service>().edit(id);
    turn.state.planner.remove_demand(id);
    if (model::is_cause_of_waiting(service.status.reason.code)) service.status.reason = {};
    const model::Queue* queue = turn.state.table<model::Queue>().find_named(service.spec.queue);
    for (const sched::PlacedReplica& placed : placement.replicas) {
        Replica replica;
        const RowId replica_id = turn.state.next_id();
        replica.meta = {.id = replica_id,
                        .uid = turn.random.draw_uid(),
                        .name = service.meta.name + "-" + placed.role + "-" + std::to_string(placed.rank),
                        .project = service.meta.project,
                        .name_space = service.meta.name_space,
                        .labels = {},
                        .annotations = {},
                        .generation = 1,
                        .created = turn.now};
        replica.spec = {.owner_kind = model::Kind::service,
                        .owner_id = id,
                        .owner_uid = service.meta.uid,
                        .owner_name = service.meta.name,
                        .role = placed.role,
                        .rank = placed.rank,
                        .resources = service.spec.resources,
                        .queue = service.spec.queue,
                        .pool = queue ? queue->spec.pool : "",
                        .priority = service.spec.priority,
                        .model_version = service.status.target_version,
                        .revision = service.status.target_revision};
        replica.status = {.phase = Phase::claimed, .node = placed.node, .devices = placed.devices};
        claim(turn, turn.table<Replica>().insert(replica_id, std::move(replica)), placement, placed.flavor);
        service.status.next_rank = std::max(service.status.next_rank, placed.rank + 1);
    }
    turn.state.planner.put_occupant(occupant_of_service(service, turn.now));
    turn.state.live.claimed.put(id, true);
    touch(turn, model::Kind::service, id);
}

void evict_spare(Turn& turn, RowId id, model::Reason why) {
    const Replica* known = turn.state.table<Replica>().find(id);
    if (!known || known->status.draining || !is_live(*known)) return;
    TANDEM_REACHED("service.gave_surplus");
    const Service& service = turn.state.table<Service>().get(known->spec.owner_id);
    const ReplicaCounts counts = count_replicas(turn.state, service.meta.id);
    why.code = ReasonCode::gave_surplus;
    why.params.push_back({"replica", known->meta.name});
    why.params.push_back({"left", std::to_string(counts.ready + counts.starting - 1)});
    why.params.push_back({"min", std::to_string(floor_of(service))});
    turn.note(key_of_row(service), service.meta.uid, std::move(why));
    Replica& replica = turn.table<Replica>().edit(id);
    replica.status.draining = true;
    replica.status.stop_at = turn.now;
    stop_replica(turn, id, service.spec.drain_timeout);
    touch(turn, model::Kind::service, service.meta.id);
}

void evict_service(Turn& turn, RowId id, model::Reason why) {
    const Service* service = turn.state.table<Service>().find(id);
    if (!service) return;
    turn.note(key_of_row(*service), service->meta.uid, std::move(why));
    for (RowId replica_id : replicas_of(turn.state, id)) {
        Replica& replica = turn.table<Replica>().edit(replica_id);
        replica.status.draining = true;
        replica.status.stop_at = turn.now;
        stop_replica(turn, replica_id, service->spec.drain_timeout);
    }
    touch(turn, model::Kind::service, id);
}

}  // namespace tandem::core
