// SPDX-License-Identifier: Apache-2.0
#include "server/task_lookup.h"

#include "core/jobs.h"
#include "core/old_tasks.h"

namespace tandem::server {
namespace {

std::optional<model::TaskName> task_of_replica(const core::State& state, const model::Replica& replica, std::int64_t epoch) {
    model::TaskName task = core::task_name(state, replica);
    if (epoch > 0) task.epoch = epoch;
    if (task.epoch == 0) return std::nullopt;
    return task;
}

}  // namespace

std::optional<model::TaskName> find_task(const core::State& state, const TaskWanted& wanted) {
    const auto& replicas = state.table<model::Replica>();
    if (wanted.key.kind == model::Kind::replica) {
        const model::Replica* replica = replicas.find_named(wanted.key.project, wanted.key.name_space, wanted.key.name);
        return replica ? task_of_replica(state, *replica, wanted.epoch) : std::nullopt;
    }
    const model::Meta* owner = nullptr;
    if (const auto* job = state.table<model::Job>().find_named(wanted.key.project, wanted.key.name_space, wanted.key.name))
        if (wanted.key.kind == model::Kind::job) owner = &job->meta;
    if (const auto* service = state.table<model::Service>().find_named(wanted.key.project, wanted.key.name_space, wanted.key.name))
        if (wanted.key.kind == model::Kind::service) owner = &service->meta;
    if (!owner) return std::nullopt;
    for (RowId id : core::replicas_of(state, owner->id)) {
        const model::Replica& replica = replicas.get(id);
        if (wanted.rank < 0 || replica.spec.rank == wanted.rank) return task_of_replica(state, replica, wanted.epoch);
    }
    return std::nullopt;
}

std::vector<OldTask> find_old_tasks(const core::State& state) {
    std::vector<OldTask> found;
    for (const auto& [id, replica] : state.table<model::Replica>().rows())
        if (core::is_doubted(replica))
            found.push_back({.task = core::task_name(state, replica).text(),
                             .replica = core::key_of_row(replica),
                             .node = replica.status.node,
                             .handle = replica.status.handle});
    for (const auto& [task, handle] : state.live.strays.rows())
        found.push_back({.task = task.text(), .replica = {}, .node = {}, .handle = handle});
    return found;
}

}  // namespace tandem::server
