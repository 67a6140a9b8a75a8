// SPDX-License-Identifier: Apache-2.0
#include "core/start_task.h"

#include <algorithm>

#include "base/assert.h"
#include "core/arrays.h"
#include "core/job_watch.h"
#include "core/jobs.h"
#include "core/members.h"

namespace tandem::core {
namespace {

using Env = std::map<std::string, std::string>;

// Of an elastic job: those that it has now.
std::int64_t world_size_of(const State& state, const model::Job& job) {
    if (model::is_elastic(job.spec))
        return static_cast<std::int64_t>(members_of(state, job.meta.id).size());
    return model::least_members(job.spec);
}

// Ranks of members that left are not used again; in a world they are numbered without gaps.
std::optional<std::int64_t> member_of(const State& state, const model::Job& job, RowId replica) {
    if (!model::is_elastic(job.spec) || !model::restarts_to_resize(job.spec)) return std::nullopt;
    const std::vector<RowId> members = members_of(state, job.meta.id);
    return std::ranges::find(members, replica) - members.begin();
}

void add_identity(Env& env, const model::Replica& replica) {
    env["TANDEM_PROJECT"] = replica.meta.project;
    env["TANDEM_NAMESPACE"] = replica.meta.name_space;
    env["TANDEM_REPLICA"] = replica.meta.name;
    env["TANDEM_ROLE"] = replica.spec.role;
    env["TANDEM_RANK"] = std::to_string(replica.spec.rank);
    env["TANDEM_EPOCH"] = std::to_string(replica.status.epoch);
}

// What torchrun tells its workers beyond the rendezvous; that is the executor's, which knows what a rank sees of
// its node (its own devices alone, so it is the first and only one there).
void add_torchrun(Env& env, const model::Job& job, const model::Replica& replica,
                  std::optional<std::int64_t> member, std::int64_t world_size) {
    const std::string rank = std::to_string(member.value_or(replica.spec.rank));
    const std::string size = std::to_string(world_size);
    env["ROLE_RANK"] = rank;
    env["ROLE_WORLD_SIZE"] = size;
    env["TORCHELASTIC_RUN_ID"] = job.meta.uid.text();
    env["TORCHELASTIC_RESTART_COUNT"] = std::to_string(job.status.failures);
    env["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(job.spec.retries.limit);
}

void add_element(Env& env, const model::Job& job, const model::Job& array) {
    env["TANDEM_ARRAY"] = array.meta.name;
    env["TANDEM_ARRAY_INDEX"] = std::to_string(job.status.element->index);
    env["TANDEM_ARRAY_COUNT"] = std::to_string(array.status.elements->total);
}

model::StartTask base_task(const State& state, const model::Replica& replica) {
    model::StartTask task;
    task.task = task_name(state, replica);
    task.node = replica.status.node;
    task.title = replica.meta.project + "/" + replica.meta.name_space + "/" + replica.meta.name;
    task.devices = replica.status.devices;
    task.cpu_milli = replica.spec.resources.cpu_milli;
    task.memory_bytes = replica.spec.resources.memory_bytes;
    return task;
}

std::string expand(std::string text, const Env& values) {
    for (const auto& [name, value] : values) {
        const std::string mark = "{" + name + "}";
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
            text.replace(at, mark.size(), value);
    }
    return text;
}

}  // namespace

model::StartTask start_task_of_job(const State& state, const model::Job& job, const model::Replica& replica) {
    model::StartTask task = base_task(state, replica);
    const model::Job& sharer = sharer_of(state, job);
    task.command = sharer.spec.command;
    task.env = sharer.spec.env;
    task.working_directory = sharer.spec.working_directory;
    task.grace = job.spec.grace;
    task.max_run_time = job.spec.max_run_time.value_or(Duration{});
    task.watch_period = watch_period(job.spec);
    task.world_size = world_size_of(state, job);
    task.member = member_of(state, job, replica.meta.id);
    task.wants_rendezvous = job.spec.form == model::JobTemplate::torchrun;
    add_identity(task.env, replica);
    if (task.member) task.env["TANDEM_RANK"] = std::to_string(*task.member);
    task.env["TANDEM_JOB"] = job.meta.name;
    if (job.status.element) add_element(task.env, job, sharer);
    task.env["TANDEM_WORLD_SIZE"] = std::to_string(task.world_size);
    if (task.wants_rendezvous) add_torchrun(task.env, job, replica, task.member, task.world_size);
    task.checkpoint = job.spec.checkpoint.enabled;
    task.checkpoint_directory = job.spec.checkpoint.directory;
    if (job.status.element && !task.checkpoint_directory.empty())
        task.checkpoint_directory += "/" + std::to_string(job.status.element->index);
#if !defined(TANDEM_PLANT_RESUME)
    if (task.checkpoint && job.status.checkpoint) task.resume_from = job.status.checkpoint->path;
#endif
    for (const model::JobOutput& output : job.spec.outputs) task.outputs.push_back(output.path);
    return task;
}

model::StartTask start_task_of_service(const State& state, const model::Service& service,
                                       const model::Replica& replica, const model::ModelVersion& version,
                                       const model::Runtime& runtime) {
    const std::string& alias = service.spec.public_name.empty() ? service.meta.name : service.spec.public_name;
    const Env values{{"alias", alias},
                     {"contextLength", std::to_string(service.spec.context_length)},
                     {"parallel", std::to_string(service.spec.replicas.concurrency)},
                     {"threads", std::to_string(service.spec.threads)}};
    model::StartTask task = base_task(state, replica);
    for (const std::string& word : runtime.spec.command) task.command.push_back(expand(word, values));
    for (const auto& [name, value] : runtime.spec.env) task.env[name] = expand(value, values);
    for (const auto& [name, value] : service.spec.env) task.env[name] = value;
    add_identity(task.env, replica);
    task.env["TANDEM_SERVICE"] = service.meta.name;
    task.env["TANDEM_MODEL_VERSION"] = version.meta.name;
    task.grace = service.spec.drain_timeout;
    task.wants_port = true;
    task.model_digest = version.spec.digest;
    return task;
}

model::CollectOutputs collect_outputs_of(const State& state, const model::Job& job) {
    const std::vector<RowId> replicas = replicas_of(state, job.meta.id);
    TANDEM_ASSERT(!replicas.empty(), "a completed job had replicas");
    const model::Replica* first = nullptr;
    for (RowId id : replicas) {
        const model::Replica& replica = state.table<model::Replica>().get(id);
        if (!first || replica.spec.rank < first->spec.rank) first = &replica;
    }
    return {.task = task_name(state, *first), .node = first->status.node, .outputs = job.spec.outputs};
}

}  // namespace tandem::core
