// SPDX-License-Identifier: Apache-2.0
#include "core/jobs.h"

#include <algorithm>

#include "core/arrays.h"
#include "core/capacity.h"
#include "core/dependencies.h"
#include "core/elastic.h"
#include "core/job_ending.h"
#include "core/job_watch.h"
#include "core/members.h"
#include "core/reservations.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::Ending;
using model::Job;
using model::Phase;
using model::ReasonCode;
using model::Replica;

std::int64_t devices_wanted(const Job& job) {
    std::int64_t milli = 0;
    for (const model::JobRole& role : job.spec.roles) milli += role.least() * role.resources.devices;
    return milli;
}

ledger::Attribution waiting_attribution(const State& state, const Job& job) {
    const model::Queue* queue = state.table<model::Queue>().find_named(job.spec.queue);
    return {.pool = queue ? queue->spec.pool : "",
            .queue = job.spec.queue,
            .project = job.meta.project,
            .name_space = job.meta.name_space,
            .owner_kind = "Job",
            .owner_name = job.meta.name,
            .owner_uid = job.meta.uid,
            .epoch = job.status.epoch};
}

// Of one attempt, with the time it may take to end; 0: not stated.
Duration stated_length(const Job& job) {
    return job.spec.max_run_time ? *job.spec.max_run_time + job.spec.grace : Duration{};
}

}  // namespace

sched::Demand demand_of(const State& state, const Job& job) {
    const bool forced = is_forced(state, job);
    sched::Demand demand{.workload = job.meta.id,
                         .queue = job.spec.queue,
                         .project = job.meta.project,
                         .priority = priority_of(state, job),
                         .submitted = forced ? Instant{} : queued_at(job),
                         .when_borrow = job.spec.when_borrow,
                         .when_preempt = job.spec.when_preempt,
                         .length = stated_length(job),
                         .preemptible = is_preemptible_once_placed(state, job),
                         .permits = permits_of(state, job),
                         .forced = forced,
                         .window = window_of(state, job)};
    if (job.spec.placing)
        demand.placing = {std::make_shared<const model::JobPlacing>(*job.spec.placing)};
    std::int64_t rank = 0;
    for (const model::JobRole& role : job.spec.roles) {
        demand.parts.push_back(
            {.role = role.name, .first_rank = rank, .count = role.least(), .each = role.resources});
        rank += role.least();
    }
    return demand;
}

namespace {

void set_reason(Turn& turn, const Job& job, model::Reason reason) {
    if (job.status.reason == reason) return;
    turn.table<Job>().edit(job.meta.id).status.reason = std::move(reason);
}

bool is_kept_back(ReasonCode code) {
    return code == ReasonCode::suspended || code == ReasonCode::held || code == ReasonCode::waiting_for_job ||
           code == ReasonCode::waits_for_window;
}

// Why the scheduler is not asked for it yet.
std::optional<model::Reason> why_not_queued(Turn& turn, const Job& job) {
    Waiting waiting = look_at_dependencies(turn, job.meta.id);
    if (waiting.never) return std::move(waiting.reason);
    if (is_suspended(turn.state, job)) return reason_of(ReasonCode::suspended);
    if (const std::string by = holder_of_job(turn.state, job); !by.empty())
        return reason_of(ReasonCode::held, {{"by", by}});
    if (waiting.reason.code != ReasonCode::none) return std::move(waiting.reason);
    return waits_for_window(turn.state, job);
}

model::Reason why_cancelled(const Job& job) {
    if (!job.status.cancel_requested) return reason_of(ReasonCode::being_deleted);
    if (job.status.reason.code == ReasonCode::cancelled_by_request) return job.status.reason;
    return reason_of(ReasonCode::cancelled_by_request);
}

void reconcile_pending(Turn& turn, const Job& job) {
    const RowId id = job.meta.id;
    if (job.status.cancel_requested || job.meta.deletion_requested)
        return finish_job(turn, id, Phase::cancelled, why_cancelled(job));
    const auto waits_as =
        job.spec.suspend ? model::LedgerState::suspended : model::LedgerState::queued;
    turn.state.book.queue(id, devices_wanted(job), waits_as, waiting_attribution(turn.state, job),
                          turn.now);
    if (auto waits = why_not_queued(turn, job)) {
        if (waits->code == ReasonCode::dependency_never_met)
            return finish_job(turn, id, Phase::cancelled, std::move(*waits));
        turn.state.planner.remove_demand(id);
        return set_reason(turn, job, std::move(*waits));
    }
    if (job.status.not_before && *job.status.not_before > turn.now) {
        turn.state.planner.remove_demand(id);
        return set_wake(turn.state.live, id, job.status.not_before);
    }
    if (is_kept_back(job.status.reason.code) || job.status.reason.code == ReasonCode::none)
        set_reason(turn, job, reason_of(ReasonCode::submitted));
    turn.state.planner.put_demand(demand_of(turn.state, job));
}

void drop_claims(Turn& turn, const Job& job) {
    for (RowId id : replicas_of(turn.state, job.meta.id)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        if (replica.status.phase != Phase::claimed) continue;
        if (replica.status.surplus)
            dismiss(turn, id, {});
        else
            release(turn, replica, {});
    }
    turn.state.live.claimed.erase(job.meta.id);
}

void start_job(Turn& turn, RowId id) {
    Job& job = turn.table<Job>().edit(id);
    job.status.phase = Phase::starting;
    job.status.reason = {};
    job.status.epoch = std::max(job.status.epoch, turn.state.meta.epoch_base) + 1;
    job.status.starts += 1;
    job.status.started = turn.now;
    job.status.finished.reset();
    job.status.not_before.reset();
    if (model::is_elastic(job.spec)) job.status.resized = turn.now;
    turn.state.live.claimed.erase(id);
    for (RowId replica_id : replicas_of(turn.state, id)) {
        if (turn.state.table<Replica>().get(replica_id).status.phase == Phase::claimed)
            start_member(turn, job, replica_id);
    }
    sched::Occupant occupant = occupant_of(turn.state, job);
    occupant.safe_at = turn.now;  // a checkpoint of an earlier attempt does not shorten this one
    turn.state.planner.put_occupant(occupant);
}

void reconcile_claimed(Turn& turn, const Job& job) {
    if (job.status.cancel_requested || job.meta.deletion_requested) {
        drop_claims(turn, job);
        return finish_job(turn, job.meta.id, Phase::cancelled, why_cancelled(job));
    }
    if (is_suspended(turn.state, job)) {
        drop_claims(turn, job);
        return requeue_job(turn, job.meta.id, reason_of(ReasonCode::suspended));
    }
    bool all_free = true;
    for (RowId id : replicas_of(turn.state, job.meta.id)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        if (replica.status.phase == Phase::claimed && !hold_if_free(turn, replica)) all_free = false;
    }
    if (all_free && !asks_for_more(turn, job)) start_job(turn, job.meta.id);
}

model::Reason exit_reason(const Replica& replica) {
    if (replica.status.reason.code != ReasonCode::none) return replica.status.reason;
    const std::string rank = std::to_string(replica.spec.rank);
    if (!replica.status.exit) return reason_of(ReasonCode::shim_lost, {{"rank", rank}});
    const model::TaskExit& exit = *replica.status.exit;
    if (exit.timed_out) return reason_of(ReasonCode::max_run_time_exceeded, {{"rank", rank}});
    if (exit.out_of_memory) return reason_of(ReasonCode::out_of_memory, {{"rank", rank}});
    if (exit.signal != 0)
        return reason_of(ReasonCode::killed_by_signal, {{"rank", rank}, {"signal", std::to_string(exit.signal)}});
    return reason_of(ReasonCode::exit_code, {{"rank", rank}, {"code", std::to_string(exit.code)}});
}

bool began(const State& state, RowId job) {
    return std::ranges::all_of(members_of(state, job), [&](RowId id) {
        return state.table<Replica>().get(id).status.ran_from.has_value();
    });
}

void tell_started(Turn& turn, RowId id) {
    Job& job = turn.table<Job>().edit(id);
    job.status.phase = Phase::running;
    turn.note(key_of_row(job), job.meta.uid, reason_of(ReasonCode::started));
    tell_dependents(turn, job);
}

// All its tasks of before a restore were adopted.
void take_up_again(Turn& turn, RowId id) {
    Job& job = turn.table<Job>().edit(id);
    job.status.phase = Phase::running;
    job.status.reason = {};
}

void reconcile_live(Turn& turn, const Job& job) {
    const RowId id = job.meta.id;
    tend_members(turn, id);
    const Replica* bad = nullptr;
    bool all_done = true;
    bool all_up = true;
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        // Who leaves, or is about to join, says nothing of the others.
        if (replica.status.draining || replica.status.phase == Phase::claimed) continue;
        // The first that failed is the cause; others fall because of it.
        const bool failed = is_gone(replica) && !exited_well(replica);
        if (failed && (!bad || *replica.status.finished < *bad->status.finished)) bad = &replica;
        if (!exited_well(replica)) all_done = false;
        if (replica.status.phase == Phase::starting || replica.status.phase == Phase::unknown) all_up = false;
    }
    // One that has ended before it was seen to run has run.
    const bool has_begun = bad ? began(turn.state, id) : all_up;
    if (job.status.phase == Phase::starting && has_begun) tell_started(turn, id);
    if (bad) return begin_ending(turn, id, Ending::failed, exit_reason(*bad));
    if (all_done) return begin_ending(turn, id, Ending::completed, reason_of(ReasonCode::completed));
    if (job.status.cancel_requested || job.meta.deletion_requested)
        return begin_ending(turn, id, Ending::cancelled, why_cancelled(job));
    if (is_suspended(turn.state, job))
        return begin_ending(turn, id, Ending::requeued, reason_of(ReasonCode::suspended));
    if (all_up && job.status.phase == Phase::unknown) take_up_again(turn, id);
    watch_job(turn, id);
}

void erase_job(Turn& turn, const Job& job) {
    const RowId id = job.meta.id;
    for (RowId replica : replicas_of(turn.state, id)) turn.table<Replica>().erase(replica);
    turn.table<Job>().erase(id);
}

}  // namespace

std::vector<RowId> replicas_of(const State& state, RowId owner) {
    return state.table<Replica>().index().owned_by(owner);
}

Instant queued_at(const Job& job) { return job.status.order.value_or(job.meta.created); }

bool is_gone(const Replica& replica) { return replica.status.finished.has_value(); }

bool exited_well(const Replica& replica) {
    const auto& exit = replica.status.exit;
    return is_gone(replica) && exit && exit->code == 0 && exit->signal == 0 && !exit->timed_out;
}

model::TaskName task_name(const State& state, const Replica& replica) {
    const std::int64_t started = replica.status.task_generation;
    return {.generation = started > 0 ? started : state.meta.generation,
            .uid = replica.spec.owner_uid,
            .epoch = replica.status.epoch,
            .rank = replica.spec.rank};
}

namespace {

void reconcile_phase(Turn& turn, const Job* job) {
    switch (job->status.phase) {
        case Phase::pending: return reconcile_pending(turn, *job);
        case Phase::claimed: return reconcile_claimed(turn, *job);
        case Phase::starting:
        case Phase::running:
        case Phase::unknown: return reconcile_live(turn, *job);
        case Phase::stopping: return reconcile_ending(turn, *job);
        default:
            if (job->meta.deletion_requested) erase_job(turn, *job);
    }
}

}  // namespace

void reconcile_job(Turn& turn, RowId id) {
    const Job* job = turn.state.table<Job>().find(id);
    if (!job) return;
    set_wake(turn.state.live, id, std::nullopt);
    if (is_array(*job)) return reconcile_array(turn, id);
    reconcile_phase(turn, job);
    wish_for_more(turn, id);
    count_element(turn, id);
}

void claim_job(Turn& turn, const sched::Placement& placement) {
    const RowId id = placement.workload;
    Job& job = turn.table<Job>().edit(id);
    turn.state.planner.remove_demand(id);
    turn.state.book.dequeue(id, turn.now);
    job.status.phase = Phase::claimed;
    job.status.ending = Ending::none;
    job.status.reason = placement.evictions.empty()
                            ? model::Reason{}
                            : reason_of(ReasonCode::waiting_for_victims,
                                        {{"victims", std::to_string(placement.evictions.size())}});
    for (const sched::PlacedReplica& placed : placement.replicas)
        claim_member(turn, job, placed, placement, false);
    if (model::is_elastic(job.spec)) {
        job.status.replicas = static_cast<std::int64_t>(placement.replicas.size());
        job.status.next_rank = job.status.replicas;
    }
    turn.state.live.claimed.put(id, true);
    touch(turn, model::Kind::job, id);
}

void evict_job(Turn& turn, RowId id, model::Reason why) {
    const Job* job = turn.state.table<Job>().find(id);
    if (!job) return;
    // One whose ranks only stop to start again still has what it had.
    if (job->status.phase == Phase::stopping && job->status.ending != Ending::resized) return;
    turn.note(key_of_row(*job), job->meta.uid, why);
    begin_ending(turn, id, Ending::preempted, std::move(why));
}

void drain_job(Turn& turn, RowId id, const std::string& queue) {
    const Job* job = turn.state.table<Job>().find(id);
    if (is_array(*job)) return;
    const model::Reason why = reason_of(ReasonCode::queue_drained, {{"queue", queue}});
    if (model::may_be_alive(job->status.phase)) return evict_job(turn, id, why);
    if (job->status.phase != Phase::claimed) return;
    drop_claims(turn, *job);
    turn.note(key_of_row(*job), job->meta.uid, why);
    requeue_job(turn, id, why);
}

sched::Occupant occupant_of(const State& state, const Job& job) {
    const Instant started = job.status.started.value_or(Instant{});
    std::optional<Instant> ends;
    if (job.spec.max_run_time) ends = started + stated_length(job);
    return {
        .workload = job.meta.id,
        .queue = job.spec.queue,
        .priority = priority_of(state, job),
        .preemptible = is_preemptible(state, job),
        .started = started,
        .safe_at = job.status.checkpoint ? std::max(started, job.status.checkpoint->at) : started,
        .restart_time = job.spec.checkpoint.restart_time,
        .evictions = job.status.preemptions,
        .ends = ends,
        .grace = job.spec.grace};
}

}  // namespace tandem::core
