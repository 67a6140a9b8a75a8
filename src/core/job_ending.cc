// SPDX-License-Identifier: Apache-2.0
#include "core/job_ending.h"

#include <algorithm>

#include "core/arrays.h"
#include "core/capacity.h"
#include "core/dependencies.h"
#include "core/elastic.h"
#include "core/jobs.h"
#include "core/members.h"
#include "core/start_task.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::Ending;
using model::Job;
using model::Phase;
using model::ReasonCode;
using model::Replica;

constexpr Duration backoff_max = minutes(5);

// The attempt is over: what its replicas are called from now on.
void settle_replicas(Turn& turn, RowId job, Phase phase) {
    for (RowId id : replicas_of(turn.state, job)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        if (model::is_terminal(replica.status.phase)) continue;
        // The next attempt begins with what it needs; who joins then is named anew.
        const bool leaves = replica.status.draining || replica.status.phase == Phase::claimed;
        if (replica.status.surplus && (leaves || phase == Phase::pending)) {
            turn.table<Replica>().erase(id);
            continue;
        }
        if (phase == Phase::pending || phase == Phase::cancelled || !is_gone(replica))
            move_replica(turn, id, phase);
        else
            move_replica(turn, id, exited_well(replica) ? Phase::succeeded : Phase::failed);
    }
}

// The furthest that any rank has told of; absent: none tells.
std::optional<std::int64_t> last_step(const State& state, const Job& job) {
    std::optional<std::int64_t> last;
    for (RowId id : replicas_of(state, job.meta.id)) {
        const Replica& replica = state.table<Replica>().get(id);
        const TaskLife* life = state.live.tasks.find(task_name(state, replica));
        if (life && life->step >= 0) last = std::max(last.value_or(0), life->step);
    }
    return last;
}

// What was done since the last checkpoint has to be done again.
bool loses_work(Ending ending) {
    return ending == Ending::failed || ending == Ending::preempted ||
           ending == Ending::requeued || ending == Ending::resized;
}

model::LedgerState lost_state(Ending ending) {
    switch (ending) {
        case Ending::failed:
            return model::LedgerState::failed_rerun;
        case Ending::requeued:
            return model::LedgerState::lost_to_request;
        default:
            return model::LedgerState::lost_to_preemption;
    }
}

// Until when its work is kept: the last checkpoint of this attempt, else its start.
std::optional<Instant> safe_until(const Job& job) {
    const bool saved = job.status.checkpoint && job.status.started &&
                       job.status.checkpoint->at >= *job.status.started;
    return saved ? job.status.checkpoint->at : job.status.started;
}

// Device-time after that, from the start of each rank's process to its end.
Duration work_lost(const State& state, const Job& job, Instant now) {
    std::int64_t milli_ms = 0;
    for (RowId id : replicas_of(state, job.meta.id)) {
        const model::ReplicaStatus& status = state.table<Replica>().get(id).status;
        if (!status.ran_from) continue;
        const Instant from = std::max(*status.ran_from, safe_until(job).value_or(*status.ran_from));
        const Instant end = status.finished.value_or(now);
        for (const model::DeviceShare& share : status.devices)
            milli_ms += share.milli * std::max<std::int64_t>(0, end.ms - from.ms);
    }
    return {milli_ms / 1000};
}

// What was at risk when it was asked to leave and what is lost are two things: it may have saved
// since.
void tell_loss(Turn& turn, Job& job) {
    const auto& saved = job.status.checkpoint;
    const std::optional<std::int64_t> reached = last_step(turn.state, job);
    const std::int64_t kept = saved ? saved->step : 0;
    const std::int64_t steps = std::max<std::int64_t>(0, reached.value_or(0) - kept);
    job.status.steps_lost += steps;
    if (job.status.ending == Ending::failed) return;
    const bool nothing = saved && reached && steps == 0;
    model::Reason told = reason_of(ReasonCode::work_stopped);
    if (nothing) {
        told.params = {{"kept", std::to_string(kept)}};
    } else {
        if (saved) told.params.push_back({"step", std::to_string(kept)});
        told.params.push_back(
            {"lost", render_duration(work_lost(turn.state, job, turn.now))});
        if (saved && reached) told.params.push_back({"steps", std::to_string(steps)});
    }
    turn.note(key_of_row(job), job.meta.uid, std::move(told));
}

void release_attempt(Turn& turn, const Job& job) {
    Release how;
    if (loses_work(job.status.ending)) {
        how.safe_at = safe_until(job);
        how.lost = lost_state(job.status.ending);
    }
    for (RowId id : replicas_of(turn.state, job.meta.id)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        release(turn, replica, how);
        turn.state.live.tasks.erase(task_name(turn.state, replica));
    }
    turn.state.planner.remove_occupant(job.meta.id);
}

void after_failure(Turn& turn, RowId id) {
    Job& job = turn.table<Job>().edit(id);
    job.status.failures += 1;
    if (job.status.failures > job.spec.retries.limit) return finish_job(turn, id, Phase::failed, job.status.reason);
    const std::int64_t doublings = std::min<std::int64_t>(job.status.failures - 1, 16);
    const Duration wait{std::min(backoff_max.ms, job.spec.retries.backoff.ms << doublings)};
    job.status.not_before = turn.now + wait;
    turn.note(key_of_row(job), job.meta.uid, job.status.reason);
    turn.note(key_of_row(job), job.meta.uid,
              reason_of(ReasonCode::attempt_failed, {{"attempt", std::to_string(job.status.failures)},
                                                     {"limit", std::to_string(job.spec.retries.limit)},
                                                     {"until", render_instant(*job.status.not_before)}}));
    TANDEM_REACHED("job.retried");
    requeue_job(turn, id, job.status.reason);
}

bool all_exited_well(const State& state, RowId id) {
    for (RowId replica_id : replicas_of(state, id)) {
        const Replica& replica = state.table<Replica>().get(replica_id);
        if (replica.status.phase != Phase::claimed && !exited_well(replica)) return false;
    }
    return true;
}

void close_attempt(Turn& turn, RowId id) {
    Job& job = turn.table<Job>().edit(id);
    // Exit code 0 of every rank means done, whatever else was asked of it meanwhile.
    const bool resizes = job.status.ending == Ending::resized;
    if (resizes && (job.status.cancel_requested || job.meta.deletion_requested ||
                    is_suspended(turn.state, job)))
        job.status.ending = Ending::requeued;
    const bool was_asked = resizes || job.status.ending == Ending::preempted ||
                           job.status.ending == Ending::requeued;
    if (was_asked && all_exited_well(turn.state, id)) {
        job.status.ending = Ending::completed;
        job.status.reason = reason_of(ReasonCode::completed);
    }
    if (loses_work(job.status.ending)) tell_loss(turn, job);
    if (job.status.ending == Ending::resized)
        return resume_resized(turn, id, safe_until(job));
    release_attempt(turn, job);
    switch (job.status.ending) {
        case Ending::completed:
            if (job.spec.outputs.empty()) return finish_job(turn, id, Phase::succeeded, job.status.reason);
            job.status.reason = reason_of(ReasonCode::collecting_outputs);
            job.status.ending = Ending::none;
            // Their devices are free from now on, and the rows say so; only the job waits for its files.
            settle_replicas(turn, id, Phase::succeeded);
            turn.open_intent(collect_outputs_of(turn.state, job));
            return;
        case Ending::failed: return after_failure(turn, id);
        case Ending::preempted:
            job.status.preemptions += 1;
            TANDEM_REACHED("job.preempted");
            return requeue_job(turn, id, job.status.reason);
        case Ending::requeued: return requeue_job(turn, id, job.status.reason);
        default: return finish_job(turn, id, Phase::cancelled, job.status.reason);
    }
}

}  // namespace

void reconcile_ending(Turn& turn, const Job& job) {
    if (job.status.reason.code == ReasonCode::collecting_outputs) return;
    for (RowId id : replicas_of(turn.state, job.meta.id)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        if (replica.status.phase != Phase::claimed && !is_gone(replica)) return;
    }
    close_attempt(turn, job.meta.id);
}

void begin_ending(Turn& turn, RowId id, Ending ending, model::Reason reason) {
    Job& job = turn.table<Job>().edit(id);
    job.status.phase = Phase::stopping;
    job.status.ending = ending;
    job.status.reason = std::move(reason);
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        if (replica.status.phase == Phase::claimed) {  // was about to join
            dismiss(turn, replica_id, {});
            continue;
        }
        turn.state.planner.set_leaving(id, replica.spec.rank);
        if (!model::may_be_alive(replica.status.phase) || is_gone(replica)) continue;
        const model::TaskName task = task_name(turn.state, replica);
        if (replica.status.phase == Phase::stopping) continue;  // it was told
        close_intents(turn, task);
        move_replica(turn, replica_id, Phase::stopping);
        turn.open_intent(model::StopTask{.task = task, .node = replica.status.node, .grace = job.spec.grace});
    }
    touch(turn, model::Kind::job, id);
}

void finish_job(Turn& turn, RowId id, Phase phase, model::Reason reason) {
    Job& job = turn.table<Job>().edit(id);
    turn.state.planner.remove_demand(id);
    turn.state.book.dequeue(id, turn.now);
    if (!is_array(job)) count_submitted(turn.state, job, -unfinished_in(job));
    job.status.phase = phase;
    job.status.reason = std::move(reason);
    job.status.ending = Ending::none;
    job.status.finished = turn.now;
    job.status.replicas = 0;
    settle_replicas(turn, id, phase);
    turn.note(key_of_row(job), job.meta.uid, job.status.reason);
    tell_dependents(turn, job);
    if (job.meta.deletion_requested || job.status.element) touch(turn, model::Kind::job, id);
}

void requeue_job(Turn& turn, RowId id, model::Reason reason) {
    Job& job = turn.table<Job>().edit(id);
    const bool was_over = model::is_terminal(job.status.phase);
    job.status.phase = Phase::pending;
    job.status.forced_by.clear();
    if (was_over) count_submitted(turn.state, job, unfinished_in(job));
    job.status.ending = Ending::none;
    job.status.replicas = 0;
    job.status.reason = std::move(reason);
    settle_replicas(turn, id, Phase::pending);
    touch(turn, model::Kind::job, id);
}

}  // namespace tandem::core
