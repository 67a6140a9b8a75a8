// SPDX-License-Identifier: Apache-2.0
#include "core/old_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/capacity.h"
#include "core/jobs.h"
#include "core/nodes.h"
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

bool has_device(const Replica& replica, const std::string& node, std::int64_t device) {
    if (replica.status.node != node) return false;
    return std::ranges::any_of(replica.status.devices, [&](const model::DeviceShare& share) {
        return share.index == device;
    });
}

void note_decision(Turn& turn, const Replica& replica, ReasonCode code, const std::string& by) {
    const model::ObjectKey owner{replica.spec.owner_kind, replica.meta.project,
                                 replica.meta.name_space, replica.spec.owner_name};
    turn.note(owner, replica.spec.owner_uid,
              reason_of(code, {{"by", by}, {"task", task_name(turn.state, replica).text()}}));
}

// What becomes of the work waits for a decision too, and it says so. Work that was ending ends on.
void tell_owner(Turn& turn, const Replica& replica) {
    const model::Reason waits = reason_of(ReasonCode::old_generation);
    const RowId id = replica.spec.owner_id;
    if (const model::Service* service = turn.state.table<model::Service>().find(id)) {
        if (service->status.reason != waits)
            turn.table<model::Service>().edit(id).status.reason = waits;
        return;
    }
    const model::Job* job = turn.state.table<model::Job>().find(id);
    if (!job || (job->status.phase != Phase::running && job->status.phase != Phase::starting))
        return;
    model::Job& edited = turn.table<model::Job>().edit(id);
    edited.status.phase = Phase::unknown;
    edited.status.reason = waits;
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
        tell_owner(turn, replica);
    }
}

const Replica* find_row_of(const State& state, const model::TaskName& task) {
    for (RowId id : replicas_of(state, owner_of(state, task.uid))) {
        const Replica& replica = state.table<Replica>().get(id);
        if (task_name(state, replica) == task && model::may_be_alive(replica.status.phase))
            return &replica;
    }
    return nullptr;
}

void forget_stray(Turn& turn, const model::TaskName& task) {
    const model::LiveStray* stray = turn.state.live.strays.find(task);
    if (!stray) return;
    const std::string node = stray->node;
    turn.state.live.strays.erase(task);
    mark_taken(turn, node);
}

void recognise_old_task(Turn& turn, const model::ListedTask& listed) {
    const bool lives = !listed.exit && listed.start_error.empty();
    if (!lives || listed.task.generation == turn.state.meta.generation)
        return forget_stray(turn, listed.task);
    for (RowId id : replicas_of(turn.state, owner_of(turn.state, listed.task.uid))) {
        const Replica& known = turn.state.table<Replica>().get(id);
        if (known.spec.rank != listed.task.rank || !is_doubted(known)) continue;
        if (known.status.handle == listed.handle && task_name(turn.state, known) == listed.task) continue;
        Replica& replica = turn.table<Replica>().edit(id);
        replica.status.task_generation = listed.task.generation;
        replica.status.epoch = listed.task.epoch;  // it may have been started again after the backup
        replica.status.handle = listed.handle;
        replica.status.endpoint = listed.endpoint;
        replica.status.reason = reason_of(ReasonCode::old_generation, {{"task", listed.task.text()}});
        charge(turn, replica, model::LedgerState::held);
    }
    const Replica* row = find_row_of(turn.state, listed.task);
    model::LiveStray stray{
        .task = listed.task, .handle = listed.handle, .node = listed.node, .devices = {}};
    for (const model::DeviceShare& share : listed.devices)
        if (!row || !has_device(*row, listed.node, share.index)) stray.devices.push_back(share);
    if (row && stray.devices.empty()) return forget_stray(turn, listed.task);
    if (const model::LiveStray* same = turn.state.live.strays.find(listed.task);
        same && *same == stray)
        return;
    TANDEM_REACHED("task.stray");
    turn.state.live.strays.put(listed.task, stray);
    mark_taken(turn, stray.node);
}

Status adopt_old_task(Turn& turn, RowId id, const std::string& by) {
    TANDEM_LET(doubted, find_doubted(turn.state, id));
    if (doubted->status.handle.empty())
        return fail(ErrorCode::conflict, "its executor has no task of it that lives; end it instead");
    const model::Job* job = turn.state.table<model::Job>().find(doubted->spec.owner_id);
    if (job && job->status.phase == Phase::stopping)
        return fail(ErrorCode::conflict, fmt::format("job \"{}\" is ending; end its tasks instead", job->meta.name));
    TANDEM_REACHED("task.adopted_by_a_person");
    note_decision(turn, *doubted, ReasonCode::task_adopted, by);
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

Status end_stray(Turn& turn, const model::TaskName& task, const std::string& by) {
    const model::LiveStray* stray = turn.state.live.strays.find(task);
    if (!stray)
        return fail(ErrorCode::not_found, fmt::format("no executor has a task \"{}\" that belongs to nothing", task.text()), "task");
    if (const Replica* row = find_row_of(turn.state, task))
        return fail(ErrorCode::conflict,
                    fmt::format("it is the task of replica \"{}\"; end that one", row->meta.name),
                    "task");
    close_intents(turn, task);
    const std::string node = stray->node;
    turn.open_intent(model::StopTask{.task = task, .node = node, .grace = seconds(10)});
    const model::Node* on = turn.state.table<model::Node>().find_named(node);
    if (on)
        turn.note(key_of_row(*on), on->meta.uid,
                  reason_of(ReasonCode::task_ended, {{"by", by}, {"task", task.text()}}));
    return {};
}

Status end_old_task(Turn& turn, RowId id, const std::string& by) {
    TANDEM_LET(doubted, find_doubted(turn.state, id));
    const model::TaskName task = task_name(turn.state, *doubted);
    note_decision(turn, *doubted, ReasonCode::task_ended, by);
    const model::Job* job = turn.state.table<model::Job>().find(doubted->spec.owner_id);
    const model::Service* service = turn.state.table<model::Service>().find(doubted->spec.owner_id);
    const Duration grace = job ? job->spec.grace : service ? service->spec.drain_timeout : Duration{};
    close_intents(turn, task);
    turn.open_intent(model::StopTask{.task = task, .node = doubted->status.node, .grace = grace});
    return {};
}

}  // namespace tandem::core
