// SPDX-License-Identifier: Apache-2.0
#include "server/task_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/arrays.h"
#include "core/jobs.h"
#include "core/old_tasks.h"

namespace tandem::server {
namespace {

std::unexpected<Error> not_there(const model::ObjectKey& key) {
    return fail(ErrorCode::not_found,
                fmt::format("{} \"{}\" does not exist", model::info_of(key.kind).singular, key.name));
}

std::unexpected<Error> never_started(const model::ObjectKey& key) {
    return fail(ErrorCode::not_found,
                fmt::format("{0} \"{1}\" has not been started yet; see: tandem why {0}/{1}",
                            model::info_of(key.kind).singular, key.name));
}

std::unexpected<Error> no_output_of_array(const core::State& state, const model::Job& array) {
    constexpr std::size_t named_max = 3;
    const std::vector<RowId> elements = core::elements_of(state, array);
    std::string names;
    for (std::size_t i = 0; i < std::min(named_max, elements.size()); ++i)
        names += (i > 0 ? ", job/" : ": job/") + state.table<model::Job>().get(elements[i]).meta.name;
    if (elements.size() > named_max) names += fmt::format(" and {} more", elements.size() - named_max);
    return fail(ErrorCode::not_found,
                fmt::format("job \"{}\" is an array: its elements have output{}", array.meta.name,
                            names.empty() ? ", and none is made yet" : names));
}

Result<model::TaskName> task_of_replica(const core::State& state, const model::ObjectKey& key,
                                        const model::Replica& replica, std::int64_t epoch) {
    model::TaskName task = core::task_name(state, replica);
    if (task.epoch == 0) return never_started(key);
    if (epoch > task.epoch)
        return fail(ErrorCode::not_found,
                    fmt::format("replica \"{}\" has no start {}, the newest is {}",
                                replica.meta.name, epoch, task.epoch),
                    "epoch");
    if (epoch > 0) task.epoch = epoch;
    return task;
}

// The output of a model server that ended is kept when its replica's row is gone: by what its
// service says of it.
Result<model::TaskName> task_of_failure(const model::ObjectKey& key, const model::Service* service,
                                        const TaskWanted& wanted) {
    if (!service || !service->status.last_failure) return never_started(key);
    const auto task = model::TaskName::parse(service->status.last_failure->task);
    const bool meant = task && (wanted.rank < 0 || wanted.rank == task->rank) &&
                       (wanted.epoch == 0 || wanted.epoch == task->epoch);
    if (meant) return *task;
    return fail(ErrorCode::not_found,
                fmt::format("there is none such; the newest that ended is {}",
                            service->status.last_failure->replica),
                wanted.rank >= 0 ? "rank" : "epoch");
}

const model::Service* find_service_of_dead(const core::State& state,
                                           const model::ObjectKey& replica) {
    for (const auto& [id, service] : state.table<model::Service>().rows())
        if (service.meta.project == replica.project &&
            service.meta.name_space == replica.name_space && service.status.last_failure &&
            service.status.last_failure->replica == replica.name)
            return &service;
    return nullptr;
}

template <class T>
const model::Meta* find_owner(const core::State& state, const model::ObjectKey& key) {
    const T* row = state.table<T>().find_named(key.project, key.name_space, key.name);
    return row ? &row->meta : nullptr;
}

// "worker 0..3, ps 4"
std::string list_ranks(const core::State& state, const std::vector<RowId>& ids) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> spans;
    for (RowId id : ids) {
        const model::ReplicaSpec& spec = state.table<model::Replica>().get(id).spec;
        auto [span, fresh] = spans.emplace(spec.role, std::pair{spec.rank, spec.rank});
        span->second = {std::min(span->second.first, spec.rank),
                        std::max(span->second.second, spec.rank)};
    }
    std::string text;
    for (const auto& [role, span] : spans) {
        const auto& [low, high] = span;
        text += text.empty() ? "" : ", ";
        text += low == high ? fmt::format("{} {}", role, low)
                            : fmt::format("{} {}..{}", role, low, high);
    }
    return text;
}

}  // namespace

Result<model::TaskName> find_task(const core::State& state, const TaskWanted& wanted) {
    const model::ObjectKey& key = wanted.key;
    const auto& replicas = state.table<model::Replica>();
    if (key.kind == model::Kind::replica) {
        const model::Replica* one = replicas.find_named(key.project, key.name_space, key.name);
        if (!one) {
            const model::Service* service = find_service_of_dead(state, key);
            return service ? task_of_failure(key, service, wanted) : not_there(key);
        }
        return task_of_replica(state, key, *one, wanted.epoch);
    }
    const model::Meta* owner = key.kind == model::Kind::job ? find_owner<model::Job>(state, key)
                                                            : find_owner<model::Service>(state, key);
    if (!owner) return not_there(key);
    if (const model::Job* job = state.table<model::Job>().find(owner->id); job && core::is_array(*job))
        return no_output_of_array(state, *job);
    const model::Service* service = state.table<model::Service>().find(owner->id);
    std::vector<RowId> ids;
    for (RowId id : core::replicas_of(state, owner->id)) ids.push_back(id);
    for (RowId id : ids) {
        const model::Replica& replica = replicas.get(id);
        if (wanted.rank >= 0 && replica.spec.rank != wanted.rank) continue;
        if (!wanted.role.empty() && replica.spec.role != wanted.role) continue;
        // One that is not started yet has no output: that of the one before it may say why.
        if (replica.status.epoch == 0 && service && service->status.last_failure) continue;
        return task_of_replica(state, key, replica, wanted.epoch);
    }
    if (ids.empty() || (service && service->status.last_failure))
        return task_of_failure(key, service, wanted);
    return fail(ErrorCode::not_found, fmt::format("there is none such; the ranks are {}", list_ranks(state, ids)),
                wanted.rank >= 0 ? "rank" : "role");
}

std::vector<OldTask> find_old_tasks(const core::State& state) {
    std::vector<OldTask> found;
    for (const auto& [id, replica] : state.table<model::Replica>().rows())
        if (core::is_doubted(replica))
            found.push_back({.task = core::task_name(state, replica).text(),
                             .replica = core::key_of_row(replica),
                             .node = replica.status.node,
                             .handle = replica.status.handle,
                             .devices = replica.status.devices});
    for (const auto& [task, stray] : state.live.strays.rows())
        if (!core::find_row_of(state, task))
            found.push_back({.task = task.text(),
                             .replica = {},
                             .node = stray.node,
                             .handle = stray.handle,
                             .devices = stray.devices});
    return found;
}

}  // namespace tandem::server
