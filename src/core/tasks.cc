// SPDX-License-Identifier: Apache-2.0
#include "core/tasks.h"

#include <algorithm>
#include <utility>

#include "core/capacity.h"
#include "core/jobs.h"
#include "core/members.h"
#include "core/old_tasks.h"
#include "core/replica_end.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::ReasonCode;
using model::Replica;

RowId owner_of(const State& state, const Uid& uid) {
    if (const model::Job* job = state.table<model::Job>().find_uid(uid)) return job->meta.id;
    if (const model::Service* service = state.table<model::Service>().find_uid(uid)) return service->meta.id;
    return {};
}

// The replica of this very task: same installation, same epoch, and not already ended.
RowId find_live(const State& state, const model::TaskName& task) {
    for (RowId id : replicas_of(state, owner_of(state, task.uid))) {
        const Replica& replica = state.table<Replica>().get(id);
        if (model::may_be_alive(replica.status.phase) && !is_gone(replica) && task_name(state, replica) == task) return id;
    }
    return {};
}

void close_starts(Turn& turn, const model::TaskName& task) {
    for (RowId id : turn.state.intents.index().of(task))
        if (std::holds_alternative<model::StartTask>(turn.state.intents.get(id).body)) turn.state.intents.erase(id);
}

// An end that is told twice must not close the collecting of outputs that came after the first.
void close_process_intents(Turn& turn, const model::TaskName& task) {
    for (RowId id : turn.state.intents.index().of(task))
        if (!std::holds_alternative<model::CollectOutputs>(turn.state.intents.get(id).body)) turn.state.intents.erase(id);
}

bool has_stop(const State& state, const model::TaskName& task) {
    for (RowId id : state.intents.index().of(task))
        if (std::holds_alternative<model::StopTask>(state.intents.get(id).body)) return true;
    return false;
}

// A task that nobody wants: lost answers, an older epoch, a deleted owner.
void stop_leftover(Turn& turn, const model::TaskName& task) {
    if (has_stop(turn.state, task)) return;
    TANDEM_REACHED("task.leftover_stopped");
    turn.open_intent(model::StopTask{.task = task, .node = "", .grace = Duration{}});
}

void mark_running(Turn& turn, RowId id) {
    const Replica& replica = turn.state.table<Replica>().get(id);
    if (replica.status.phase != Phase::starting && replica.status.phase != Phase::unknown) return;
    if (replica.spec.owner_kind == model::Kind::service && !replica.status.ready_since)
        turn.table<Replica>().edit(id).status.ready_since = turn.now;
    move_replica(turn, id, Phase::running);
    turn.running_now.insert(id);
}

void probe(Turn& turn, const Replica& replica) {
    const model::Service* service = turn.state.table<model::Service>().find(replica.spec.owner_id);
    if (!service) return;
    turn.open_intent(model::ProbeReplica{.task = task_name(turn.state, replica),
                                         .endpoint = replica.status.endpoint,
                                         .model = service->meta.name,
                                         .timeout = service->spec.ready_timeout});
}

TaskLife& life_of(Turn& turn, const model::TaskName& task) {
    auto& tasks = turn.state.live.tasks;
    return tasks.find(task) ? tasks.edit(task) : tasks.insert(task, {});
}

void record_end(Turn& turn, RowId id, const std::optional<model::TaskExit>& exit, model::Reason reason) {
    Replica& replica = turn.table<Replica>().edit(id);
    replica.status.exit = exit;
    replica.status.finished = exit ? std::min(exit->at, turn.now) : turn.now;
    if (replica.status.exit) replica.status.exit->at = *replica.status.finished;
    if (is_doubted(replica) || reason.code != ReasonCode::none) replica.status.reason = std::move(reason);
    if (replica.status.phase != Phase::stopping) move_replica(turn, id, Phase::stopping);
    touch(turn, replica.spec.owner_kind, replica.spec.owner_id);
}

}  // namespace

void charge_running(Turn& turn) {
    for (RowId id : std::exchange(turn.running_now, {})) {
        const Replica* replica = turn.state.table<Replica>().find(id);
        if (replica && replica->status.phase == Phase::running) charge(turn, *replica, model::LedgerState::running);
    }
}

void on_task_started(Turn& turn, const model::TaskStarted& input) {
    close_starts(turn, input.task);
    const RowId id = find_live(turn.state, input.task);
    if (!id) return stop_leftover(turn, input.task);
    Replica& replica = turn.table<Replica>().edit(id);
    replica.status.handle = input.handle;
    replica.status.endpoint = input.endpoint;
    life_of(turn, input.task).output = input.at;
#if defined(TANDEM_PLANT_READINESS_BY_TOKEN)
    const bool needs_probe = false;
#else
    const bool needs_probe = replica.spec.owner_kind == model::Kind::service;
#endif
    if (!needs_probe && !replica.status.ran_from && !is_doubted(replica))
        replica.status.ran_from = std::min(input.at, turn.now);
    // One of before a restore has told that it lives; what becomes of it is for a person to say.
    if (replica.status.phase == Phase::stopping || is_doubted(replica)) return;
    if (needs_probe)
        probe(turn, replica);
    else
        mark_running(turn, id);
    touch(turn, replica.spec.owner_kind, replica.spec.owner_id);
}

void on_task_exited(Turn& turn, const model::TaskExited& input) {
    forget_stray(turn, input.task);
    const RowId id = find_live(turn.state, input.task);
    close_process_intents(turn, input.task);
    if (!id) return;
    model::Reason reason;
    if (!input.start_error.empty())
        reason = reason_of(ReasonCode::start_failed,
                           {{"rank", std::to_string(input.task.rank)}, {"detail", input.start_error}});
    else if (const Replica& replica = turn.state.table<Replica>().get(id);
             replica.spec.owner_kind == model::Kind::service &&
             replica.status.phase != Phase::stopping)
        reason = reason_of_end(replica, input.exit, input.last_output);
    record_end(turn, id, input.exit, std::move(reason));
}

void on_task_gone(Turn& turn, const model::TaskGone& input) {
    forget_stray(turn, input.task);
    const RowId id = find_live(turn.state, input.task);
    close_process_intents(turn, input.task);
    if (!id) return;
    TANDEM_REACHED("task.gone");
    // Ranks are of jobs; what a service lost has a name.
    const Replica& replica = turn.state.table<Replica>().get(id);
    const model::ReasonParam which =
        replica.spec.owner_kind == model::Kind::service
            ? model::ReasonParam{"replica", replica.meta.name}
            : model::ReasonParam{"rank", std::to_string(input.task.rank)};
    record_end(turn, id, std::nullopt,
               reason_of(ReasonCode::shim_lost, {which, {"detail", input.detail}}));
}

void on_task_progress(Turn& turn, const model::TaskProgress& input) {
    const RowId id = find_live(turn.state, input.task);
    if (!id) return;
    TaskLife& life = life_of(turn, input.task);
    life.step = std::max(life.step, input.step);
    if (input.beat) life.beat = std::min(*input.beat, turn.now);
    life.output = std::max(life.output, std::min(input.output, turn.now));
    const Replica& replica = turn.state.table<Replica>().get(id);
    touch(turn, replica.spec.owner_kind, replica.spec.owner_id);
}

namespace {

// What would be lost with it, and with those of its members that may leave alone.
void tell_safe(Turn& turn, const model::Job& job) {
    turn.state.planner.put_occupant(occupant_of(turn.state, job));
    if (!model::is_elastic(job.spec)) return;
    for (RowId id : members_of(turn.state, job.meta.id)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        if (replica.status.surplus)
            turn.state.planner.put_occupant(occupant_of_member(turn.state, job, replica));
    }
}

}  // namespace

void on_checkpoint_seen(Turn& turn, const model::CheckpointSeen& input) {
    const model::Job* job = turn.state.table<model::Job>().find_uid(input.task.uid);
    // A checkpoint of an older epoch is as good as any: what counts is the step it reached.
    if (!job || model::is_terminal(job->status.phase) || input.task.epoch > job->status.epoch) return;
    if (job->status.checkpoint && job->status.checkpoint->step >= input.checkpoint.step) return;
    model::Job& edited = turn.table<model::Job>().edit(job->meta.id);
    edited.status.checkpoint = input.checkpoint;
    edited.status.checkpoint->at = std::min(input.checkpoint.at, turn.now);
    if (edited.status.started && model::may_be_alive(edited.status.phase))
        tell_safe(turn, edited);
}

void on_output_stored(Turn& turn, const model::OutputStored& input) {
    close_intents(turn, input.task);
    const model::Job* job = turn.state.table<model::Job>().find_uid(input.task.uid);
    if (!job || job->status.phase != Phase::stopping || job->status.epoch != input.task.epoch) return;
    if (!input.error.empty())
        return finish_job(turn, job->meta.id, Phase::failed,
                          reason_of(ReasonCode::output_missing, {{"detail", input.error}}));
    turn.table<model::Job>().edit(job->meta.id).status.outputs = input.outputs;
    finish_job(turn, job->meta.id, Phase::succeeded, reason_of(ReasonCode::completed));
}

void on_replica_probed(Turn& turn, const model::ReplicaProbed& input) {
    const RowId id = find_live(turn.state, input.task);
    const bool starting = id && turn.state.table<Replica>().get(id).status.phase == Phase::starting;
    if (!starting) return;
    if (input.ready) {
        for (RowId intent : turn.state.intents.index().of(input.task))
            if (std::holds_alternative<model::ProbeReplica>(turn.state.intents.get(intent).body))
                turn.state.intents.erase(intent);
        turn.table<Replica>().edit(id).status.reason = {};  // of a probe that came too early
        mark_running(turn, id);
    } else {
        turn.table<Replica>().edit(id).status.reason = reason_of(
            ReasonCode::replica_failed,
            {{"replica", turn.state.table<Replica>().get(id).meta.name}, {"detail", input.detail}});
    }
    const Replica& replica = turn.state.table<Replica>().get(id);
    touch(turn, replica.spec.owner_kind, replica.spec.owner_id);
}

namespace {

void adopt(Turn& turn, const model::ListedTask& listed) {
    if (!listed.start_error.empty() || listed.exit)
        return on_task_exited(
            turn, {.task = listed.task,
                   .exit = listed.exit.value_or(model::TaskExit{.code = -1, .at = turn.now}),
                   .start_error = listed.start_error,
                   .last_output = listed.last_output});
    const RowId id = find_live(turn.state, listed.task);
    if (!id) {
        // Of before a restore: a person decides. Anything else is a leftover.
        if (listed.task.generation == turn.state.meta.generation) stop_leftover(turn, listed.task);
        return;
    }
    const Phase phase = turn.state.table<Replica>().get(id).status.phase;
    if (phase == Phase::starting && turn.state.table<Replica>().get(id).status.handle.empty())
        return on_task_started(
            turn, {.task = listed.task, .handle = listed.handle, .endpoint = listed.endpoint, .at = turn.now});
    if (phase == Phase::unknown && !is_doubted(turn.state.table<Replica>().get(id))) mark_running(turn, id);
}

bool awaits_start(const State& state, const model::TaskName& task) {
    for (RowId id : state.intents.index().of(task))
        if (std::holds_alternative<model::StartTask>(state.intents.get(id).body)) return true;
    return false;
}

// Rows that say "alive" while the executor has nothing: gone, unless its start was never done.
void find_missing(Turn& turn, const std::set<model::TaskName>& listed) {
    std::vector<model::TaskName> missing;
    for (const auto& [id, replica] : turn.state.table<Replica>().rows()) {
        if (!model::may_be_alive(replica.status.phase) || is_gone(replica)) continue;
        // Of before a restore: its task has another name, and a person decides.
        if (is_doubted(replica)) continue;
        const model::TaskName task = task_name(turn.state, replica);
        if (!listed.contains(task) && !awaits_start(turn.state, task)) missing.push_back(task);
    }
    for (const model::TaskName& task : missing)
        on_task_gone(turn, {.task = task, .detail = "not among the tasks that its executor has"});
}

void forget_missing_strays(Turn& turn, const std::set<model::TaskName>& listed) {
    std::vector<model::TaskName> missing;
    for (const auto& [task, stray] : turn.state.live.strays.rows())
        if (!listed.contains(task)) missing.push_back(task);
    for (const model::TaskName& task : missing) forget_stray(turn, task);
}

}  // namespace

void on_tasks_listed(Turn& turn, const model::TasksListed& input) {
    std::set<model::TaskName> listed;
    for (const model::ListedTask& task : input.tasks) recognise_old_task(turn, task);
    for (const model::ListedTask& task : input.tasks) {
        listed.insert(task.task);
        adopt(turn, task);
    }
    find_missing(turn, listed);
    forget_missing_strays(turn, listed);
    // Who called a service before the restart is not known: its idle time counts from here.
    if (turn.state.live.recovering)
        for (const auto& [id, service] : turn.state.table<model::Service>().rows())
            if (!turn.state.live.last_request.find(id)) turn.state.live.last_request.put(id, turn.now);
    turn.state.live.recovering = false;
    touch_all(turn);
}

}  // namespace tandem::core
