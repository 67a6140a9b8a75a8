// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

// Ranks are objects named NAME-ROLE-RANK, with at most four digits of rank.
constexpr std::size_t name_and_role_max = 63 - 6;

Status check_role(const JobRole& role, const std::string& field, std::string_view job_name) {
    TANDEM_TRY(check_name(role.name, field + ".name"));
    if (job_name.size() + role.name.size() > name_and_role_max)
        return invalid_field(
            field + ".name",
            fmt::format("must have at most {} characters together with the job's name, has {}",
                        name_and_role_max, job_name.size() + role.name.size()));
    TANDEM_TRY(check_range(role.replicas, 1, limits::replicas_max, field + ".replicas"));
    TANDEM_TRY(check_range(role.min_replicas, 0, limits::replicas_max, field + ".minReplicas"));
    TANDEM_TRY(check_range(role.max_replicas, 0, limits::replicas_max, field + ".maxReplicas"));
    if (role.min_replicas > 0 && role.replicas != 1 && role.replicas != role.min_replicas)
        return invalid_field(field + ".replicas",
                             fmt::format("must be left out beside minReplicas, or equal it ({})",
                                         role.min_replicas));
    if (role.max_replicas > 0 && role.max_replicas < role.least())
        return invalid_field(field + ".maxReplicas",
                             fmt::format("must be at least {} ({}), is {}", role.least(),
                                         role.min_replicas > 0 ? "minReplicas" : "replicas",
                                         role.max_replicas));
    return check_resources(role.resources, field + ".resources");
}

Status check_roles(const Job& job) {
    const std::vector<JobRole>& roles = job.spec.roles;
    if (roles.empty())
        return invalid_field(
            "spec.roles", "must have at least one role: [{replicas: 1, resources: {devices: 1}}]");
    if (static_cast<std::int64_t>(roles.size()) > limits::roles_max)
        return invalid_field("spec.roles", fmt::format("must have at most {} roles, has {}",
                                                       limits::roles_max, roles.size()));
    std::set<std::string_view> names;
    std::int64_t ranks = 0;
    for (std::size_t i = 0; i < roles.size(); ++i) {
        const std::string field = fmt::format("spec.roles[{}]", i);
        TANDEM_TRY(check_role(roles[i], field, job.meta.name));
        if (!names.insert(roles[i].name).second)
            return invalid_field(field + ".name",
                                 fmt::format("\"{}\" stands twice", roles[i].name));
        ranks += roles[i].most();
    }
    if (ranks > limits::replicas_max)
        return invalid_field("spec.roles",
                             fmt::format("must have at most {} replicas in all, has {}",
                                         limits::replicas_max, ranks));
    return {};
}

// A member that joins is placed alone: what holds for a gang as a whole can't be kept with it.
Status check_elastic(const JobSpec& spec) {
    TANDEM_TRY(check_duration(spec.elastic.grow_after, seconds(1), hours(24),
                              "spec.elastic.growAfter"));
    if (!is_elastic(spec)) return {};
    const JobPlacing placing = spec.placing.value_or(JobPlacing{});
    if (placing.topology != JobTopology{})
        return invalid_field("spec.placing.topology",
                             "does not go together with maxReplicas: members come and go");
    if (!placing.spread.level.empty())
        return invalid_field("spec.placing.spread",
                             "does not go together with maxReplicas: members come and go");
    for (std::size_t i = 0; i < spec.roles.size(); ++i) {
        const JobRole& role = spec.roles[i];
        const bool shares = role.resources.devices % 1000 != 0;
        if (role.most() > role.least() && shares && placing.sharing == Sharing::none)
            return invalid_field(fmt::format("spec.roles[{}].maxReplicas", i),
                                 "with shares of devices needs spec.placing.sharing: allowed");
    }
    return {};
}

Status check_outputs(const std::vector<JobOutput>& outputs) {
    if (static_cast<std::int64_t>(outputs.size()) > limits::outputs_max)
        return invalid_field("spec.outputs", fmt::format("must have at most {} entries, has {}",
                                                         limits::outputs_max, outputs.size()));
    std::set<std::string_view> names;
    std::set<std::string_view> paths;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string field = fmt::format("spec.outputs[{}]", i);
        TANDEM_TRY(check_name(outputs[i].name, field + ".name"));
        TANDEM_TRY(check_relative_path(outputs[i].path, field + ".path"));
        if (!names.insert(outputs[i].name).second)
            return invalid_field(field + ".name",
                                 fmt::format("\"{}\" stands twice", outputs[i].name));
        if (!paths.insert(outputs[i].path).second)
            return invalid_field(field + ".path",
                                 fmt::format("\"{}\" stands twice", outputs[i].path));
    }
    return {};
}

Status check_after(const Job& job) {
    const std::vector<JobDependency>& after = job.spec.after;
    if (static_cast<std::int64_t>(after.size()) > limits::dependencies_max)
        return invalid_field("spec.after", fmt::format("must have at most {} entries, has {}",
                                                       limits::dependencies_max, after.size()));
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const std::string field = fmt::format("spec.after[{}].job", i);
        TANDEM_TRY(check_name(after[i].job, field));
        if (after[i].job == job.meta.name)
            return invalid_field(field, "must name another job: a job can't wait for itself");
        if (!names.insert(after[i].job).second)
            return invalid_field(field, fmt::format("\"{}\" stands twice", after[i].job));
    }
    return {};
}

Status check_licenses(const std::map<std::string, std::int64_t>& licenses) {
    if (static_cast<std::int64_t>(licenses.size()) > limits::licenses_max)
        return invalid_field("spec.licenses", fmt::format("must have at most {} entries, has {}",
                                                          limits::licenses_max, licenses.size()));
    for (const auto& [name, count] : licenses) {
        TANDEM_TRY(check_name(name, "spec.licenses"));
        TANDEM_TRY(check_range(count, 1, limits::license_count_max, "spec.licenses." + name));
    }
    return {};
}

// Elements are jobs named NAME-INDEX.
Status check_array(const Job& job) {
    if (!job.spec.array) return {};
    const JobArray& array = *job.spec.array;
    TANDEM_LET(indices, array_indices(array, "spec.array"));
    TANDEM_TRY(
        check_range(array.max_running, 0, limits::array_elements_max, "spec.array.maxRunning"));
    const std::size_t digits = std::to_string(indices.back()).size() + 1;
    for (const JobRole& role : job.spec.roles) {
        const std::size_t length = job.meta.name.size() + digits + role.name.size();
        if (length > name_and_role_max)
            return invalid_field("metadata.name",
                                 fmt::format("must be {} characters shorter: ranks are named "
                                             "NAME-INDEX-ROLE-RANK",
                                             length - name_and_role_max));
    }
    return {};
}

Status check_times(const JobSpec& spec) {
    TANDEM_TRY(check_duration(spec.grace, Duration{}, limits::grace_max, "spec.grace"));
    TANDEM_TRY(check_range(spec.retries.limit, 0, limits::retries_max, "spec.retries.limit"));
    TANDEM_TRY(
        check_duration(spec.retries.backoff, Duration{}, minutes(5), "spec.retries.backoff"));
    const std::array<std::pair<const std::optional<Duration>&, std::string_view>, 3> bounds{{
        {spec.max_run_time, "spec.maxRunTime"},
        {spec.heartbeat_timeout, "spec.heartbeatTimeout"},
        {spec.silence_timeout, "spec.silenceTimeout"},
    }};
    for (const auto& [value, field] : bounds)
        if (value) TANDEM_TRY(check_duration(*value, seconds(1), limits::run_time_max, field));
    return {};
}

Status check_rendezvous_env(const JobSpec& spec) {
    if (spec.form != JobTemplate::torchrun) return {};
    for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                             "MASTER_ADDR", "MASTER_PORT"})
        if (spec.env.contains(name))
            return invalid_field(std::string("spec.env.") + name,
                                 "is set by the template torchrun for each rank; leave it out");
    return {};
}

}  // namespace

Status check_spec(const Job& job) {
    const JobSpec& spec = job.spec;
    TANDEM_TRY(check_name(spec.queue, "spec.queue"));
    TANDEM_TRY(check_priority(spec.priority));
    TANDEM_TRY(check_command(spec.command, "spec.command"));
    TANDEM_TRY(check_env(spec.env, "spec.env"));
    TANDEM_TRY(check_rendezvous_env(spec));
    TANDEM_TRY(check_directory(spec.working_directory, "spec.workingDirectory"));
    TANDEM_TRY(check_roles(job));
    TANDEM_TRY(check_placing(job));
    TANDEM_TRY(check_elastic(spec));
    TANDEM_TRY(check_times(spec));
    TANDEM_TRY(check_after(job));
    TANDEM_TRY(check_array(job));
    TANDEM_TRY(check_licenses(spec.licenses));
    TANDEM_TRY(check_directory(spec.checkpoint.directory, "spec.checkpoint.directory"));
    TANDEM_TRY(check_duration(spec.checkpoint.restart_time, Duration{}, limits::grace_max,
                              "spec.checkpoint.restartTime"));
    if (!spec.checkpoint.directory.empty() && !spec.checkpoint.enabled)
        return invalid_field("spec.checkpoint.directory", "needs spec.checkpoint.enabled: true");
    return check_outputs(spec.outputs);
}

}  // namespace tandem::model
