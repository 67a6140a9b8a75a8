// SPDX-License-Identifier: Apache-2.0
#include "core/old_tasks.h"

#include <fmt/format.h>

#include "core/capacity.h"
#include "core/jobs.h"
#include "core/tasks.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::ReasonCode;
using model::Replica;

bool collects(const model::Intent& intent) {
    return std::holds_alternative<model::CollectOutputs>(intent.body);
}

RowId owner_of(const State& state, const Uid& uid) {
    if (const model::Job* job = state.table<model::Job>().find_uid(uid)) return job->meta.id;
    if (const model::Service* service = state.table<model::Service>().find_uid(uid)) return service->meta.id;
    return {};
}

Result<const Replica*> find_doubted(const State& state, RowId id) {
    const Replica& replica = state.table<Replica>().get(id);
    if (is_doubted(replica)) return &replica;
    return fail(ErrorCode::conflict,
                fmt::format("only a task that a restore has left unknown is adopted or ended here, it is {}",
                            model::name_of(replica.status.phase)));
}

}  // namespace

bool is_doubted(const Replica& replica) {
    return replica.status.phase == Phase::unknown && replica.status.reason.code == ReasonCode::old_generation;
}

void doubt_old_tasks(Turn& turn) {
    std::vector<RowId> taken_back;
    for (const auto& [id, intent] : turn.state.intents.rows())
        if (!collects(intent)) taken_back.push_back(id);
    for (RowId id : taken_back) turn.state.intents.erase(id);
    std::vector<RowId> alive;
    for (const auto& [id, replica] : turn.table<Replica>().rows())
        if (model::may_be_alive(replica.status.phase) && !is_gone(replica)) alive.push_back(id);
    for (RowId id : alive) {
        TANDEM_REACHED("task.doubted");
        Replica& replica = turn.table<Replica>().edit(id);
        replica.status.phase = Phase::unknown;
        replica.status.reason = reason_of(ReasonCode::old_generation);
        replica.status.handle.clear();
        replica.status.ran_from.reset();
        charge(turn, replica, model::LedgerState::held);
    }
}

void recognise_old_task(Turn& turn, const model::ListedTask& listed) {
    auto& strays = turn.state.live.strays;
    if (strays.find(listed.task)) strays.erase(listed.task);
    const bool lives = !listed.exit && listed.start_error.empty();
    if (!lives || listed.task.generation == turn.state.meta.generation) return;
    bool known_here = false;
    for (RowId id : replicas_of(turn.state, owner_of(turn.state, listed.task.uid))) {
        const Replica& known = turn.state.table<Replica>().get(id);
        if (task_name(turn.state, known) == listed.task && model::may_be_alive(known.status.phase)) known_here = true;
        if (known.spec.rank != listed.task.rank || !is_doubted(known)) continue;
        if (known.status.handle == listed.handle && task_name(turn.state, known) == listed.task) continue;
        Replica& replica = turn.table<Replica>().edit(id);
        replica.status.task_generation = listed.task.generation;
        replica.status.epoch = listed.task.epoch;  // it may have been started again after the backup
        replica.status.handle = listed.handle;
        replica.status.endpoint = listed.endpoint;
        replica.status.reason = reason_of(ReasonCode::old_generation, {{"task", listed.task.text()}});
        charge(turn, replica, model::LedgerState::held);
        known_here = true;
    }
    if (!known_here) strays.put(listed.task, listed.handle);
}

Status adopt_old_task(Turn& turn, RowId id) {
    TANDEM_LET(doubted, find_doubted(turn.state, id));
    if (doubted->status.handle.empty())
        return fail(ErrorCode::conflict, "its executor has no task of it that lives; end it instead");
    const model::Job* job = turn.state.table<model::Job>().find(doubted->spec.owner_id);
    if (job && job->status.phase == Phase::stopping)
        return fail(ErrorCode::conflict, fmt::format("job \"{}\" is ending; end its tasks instead", job->meta.name));
    TANDEM_REACHED("task.adopted_by_a_person");
    Replica& replica = turn.table<Replica>().edit(id);
    replica.status.reason = {};
    if (replica.spec.owner_kind == model::Kind::service) replica.status.started = turn.now;  // its time to get ready
    // From there on as if it had just been told to run: ranks run, servers are asked for a token first.
    move_replica(turn, id, Phase::starting);
    on_task_started(turn, {.task = task_name(turn.state, replica),
                           .handle = replica.status.handle,
                           .endpoint = replica.status.endpoint,
                           .at = turn.now});
    return {};
}

Status end_stray(Turn& turn, const model::TaskName& task) {
    if (!turn.state.live.strays.find(task))
        return fail(ErrorCode::not_found, fmt::format("no executor has a task \"{}\" that belongs to nothing", task.text()), "task");
    close_intents(turn, task);
    turn.open_intent(model::StopTask{.task = task, .node = "", .grace = seconds(10)});
    return {};
}

Status end_old_task(Turn& turn, RowId id) {
    TANDEM_LET(doubted, find_doubted(turn.state, id));
    const model::TaskName task = task_name(turn.state, *doubted);
    const model::Job* job = turn.state.table<model::Job>().find(doubted->spec.owner_id);
    const model::Service* service = turn.state.table<model::Service>().find(doubted->spec.owner_id);
    const Duration grace = job ? job->spec.grace : service ? service->spec.drain_timeout : Duration{};
    close_intents(turn, task);
    turn.open_intent(model::StopTask{.task = task, .node = doubted->status.node, .grace = grace});
    return {};
}

}  // namespace tandem::core
