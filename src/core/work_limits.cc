// SPDX-License-Identifier: Apache-2.0
#include "core/work_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/arrays.h"
#include "core/jobs.h"
#include "core/members.h"

namespace tandem::core {
namespace {

using model::Job;
using model::Queue;
using model::ReasonCode;
using model::WorkLimits;
using sched::Permit;

constexpr std::size_t queue_depth_max = 16;

const WorkLimits* limits_of_subject(const State& state, const std::string& subject) {
    constexpr std::string_view user = "user:";
    constexpr std::string_view account = "serviceaccount:";
    if (subject.starts_with(user)) {
        const auto* row = state.table<model::User>().find_named(subject.substr(user.size()));
        return row ? &row->spec.limits : nullptr;
    }
    const std::size_t slash = subject.find('/');
    if (!subject.starts_with(account) || slash == std::string::npos) return nullptr;
    const auto* row = state.table<model::ServiceAccount>().find_named(
        subject.substr(account.size(), slash - account.size()), "", subject.substr(slash + 1));
    return row ? &row->spec.limits : nullptr;
}

// One limit that a job meets: whose it is, and where a user's holds.
struct Met {
    const WorkLimits& limits;
    ReasonCode bound;
    const std::string& name;
    std::string at{};
};

// Calls f(Met) for each limit that anybody could state for the job, in a fixed order.
template <class F>
void each_limit(const State& state, const std::string& subject, const Job& job, F f) {
    if (const WorkLimits* own = limits_of_subject(state, subject))
        f(Met{*own, ReasonCode::user_limit, subject});
    if (const auto* project = state.table<model::Project>().find_named(job.meta.project)) {
        f(Met{project->spec.limits, ReasonCode::project_limit, job.meta.project});
        f(Met{project->spec.per_user, ReasonCode::user_limit, subject,
              "project/" + job.meta.project});
    }
    std::string name = job.spec.queue;
    for (std::size_t depth = 0; depth <= queue_depth_max && !name.empty(); ++depth) {
        const Queue* queue = state.table<Queue>().find_named(name);
        if (!queue) return;
        f(Met{queue->spec.limits, ReasonCode::queue_limit, queue->meta.name});
        f(Met{queue->spec.per_user, ReasonCode::user_limit, subject, "queue/" + queue->meta.name});
        name = queue->spec.parent;
    }
}

std::int64_t devices_of(const Job& job) {
    std::int64_t milli = 0;
    for (const model::JobRole& role : job.spec.roles)
        milli += role.least() * role.resources.devices;
    return milli;
}

void add_licenses(const State& state, const Job& job, std::vector<Permit>& permits) {
    for (const auto& [name, count] : job.spec.licenses) {
        const auto* license = state.table<model::License>().find_named(name);
        permits.push_back({.bound = ReasonCode::license_short,
                           .name = name,
                           .amount = count,
                           .limit = license ? license->spec.count : 0});
    }
}

bool is_at_or_below(const State& state, std::string queue, const std::string& top) {
    for (std::size_t depth = 0; depth <= queue_depth_max && !queue.empty(); ++depth) {
        if (queue == top) return true;
        const Queue* here = state.table<Queue>().find_named(queue);
        queue = here ? here->spec.parent : "";
    }
    return false;
}

std::int64_t submitted_under(const State& state, const Met& met, const std::string& subject) {
    const bool of_user = met.bound == ReasonCode::user_limit;
    std::int64_t sum = 0;
    for (const auto& [who, count] : state.live.submitted.rows()) {
        if (of_user && who.subject != subject) continue;
        if (met.bound == ReasonCode::project_limit && who.project != met.name) continue;
        if (met.at.starts_with("project/") && who.project != met.at.substr(8)) continue;
        if (met.bound == ReasonCode::queue_limit && !is_at_or_below(state, who.queue, met.name))
            continue;
        if (met.at.starts_with("queue/") && !is_at_or_below(state, who.queue, met.at.substr(6)))
            continue;
        sum += count;
    }
    return sum;
}

std::string describe(const Met& met) {
    const std::string_view what = met.bound == ReasonCode::project_limit ? "project "
                                  : met.bound == ReasonCode::queue_limit ? "queue "
                                                                         : "";
    return fmt::format("{}{}{}", what, met.name, met.at.empty() ? "" : " in " + met.at);
}

}  // namespace

std::vector<Permit> permits_of(const State& state, const Job& job) {
    std::vector<Permit> permits;
    add_licenses(state, job, permits);
    const bool forced = is_forced(state, job);
    const auto add = [&](Permit permit) {
        if (forced) permit.limit = model::unlimited;
        permits.push_back(std::move(permit));
    };
    if (const Job* array = array_of(state, job); array && array->spec.array->max_running > 0)
        add({.bound = ReasonCode::array_limit,
             .name = array->meta.name,
             .at = array->meta.project + "/" + array->meta.name_space,
             .limit = array->spec.array->max_running});
    each_limit(state, job.status.submitted_by, job, [&](const Met& met) {
        if (met.limits.running)
            add({.bound = met.bound, .name = met.name, .at = met.at, .limit = *met.limits.running});
        if (met.limits.devices == model::unlimited || devices_of(job) == 0) return;
        add({.bound = met.bound,
             .name = met.name,
             .at = met.at,
             .devices = true,
             .amount = devices_of(job),
             .limit = met.limits.devices});
    });
    return permits;
}

std::vector<Permit> held_permits_of(const State& state, const Job& job,
                                    const model::Replica& replica) {
    std::vector<Permit> permits =
        replica.status.surplus ? permits_of_member(state, job, replica.spec.resources.devices)
                               : permits_of(state, job);
    for (Permit& permit : permits) permit.limit = model::unlimited;
    return permits;
}

Status check_licenses(const State& state, const Job& wanted) {
    for (const auto& [name, count] : wanted.spec.licenses) {
        const std::string field = "spec.licenses." + name;
        const auto* license = state.table<model::License>().find_named(name);
        if (!license)
            return invalid_field(field, fmt::format("license \"{}\" does not exist", name));
        const auto& projects = license->spec.projects;
        if (!projects.empty() && std::ranges::find(projects, wanted.meta.project) == projects.end())
            return invalid_field(field, fmt::format("license \"{}\" is not open to project \"{}\"",
                                                    name, wanted.meta.project));
    }
    return {};
}

std::int64_t elements_in(const Job& wanted) {
    if (!wanted.spec.array) return 1;
    const auto indices = model::array_indices(*wanted.spec.array, "spec.array");
    return indices ? static_cast<std::int64_t>(indices->size()) : 0;
}

Status check_submitted(const State& state, const std::string& subject, const Job& wanted,
                       std::int64_t more) {
#if defined(TANDEM_PLANT_SUBMITTED_LIMIT)
    constexpr std::int64_t slack = 1'000'000'000;
#else
    constexpr std::int64_t slack = 0;
#endif
    Status status;
    each_limit(state, subject, wanted, [&](const Met& met) {
        if (!status || !met.limits.submitted) return;
        const std::int64_t have = submitted_under(state, met, subject);
        if (have + more <= *met.limits.submitted + slack) return;
        status = fail(
            ErrorCode::exhausted,
            fmt::format("would be {} unfinished jobs of {}, the limit is {}: {} of them are there "
                        "already; try again when some have ended",
                        have + more, describe(met), *met.limits.submitted, have));
    });
    return status;
}

void count_submitted(State& state, const Job& job, std::int64_t more) {
    if (more == 0) return;
    const Submitter who{job.meta.project, job.status.submitted_by, job.spec.queue};
    const std::int64_t* before = state.live.submitted.find(who);
    const std::int64_t after = (before ? *before : 0) + more;
    if (after == 0)
        state.live.submitted.erase(who);
    else
        state.live.submitted.put(who, after);
}

std::int64_t unfinished_in(const Job& job) {
    if (model::is_terminal(job.status.phase)) return 0;
    if (!is_array(job)) return 1;
    return job.status.elements ? job.status.elements->total - job.status.elements->made : 0;
}

void rebuild_submitted(State& state) {
    for (const auto& [id, job] : state.table<Job>().rows())
        count_submitted(state, job, unfinished_in(job));
}

void permits_changed(Turn& turn) {
    touch_all(turn);
    for (const auto& [id, job] : turn.state.table<Job>().rows()) {
        if (!model::holds_capacity(job.status.phase) || is_array(job)) continue;
        for (RowId replica_id : replicas_of(turn.state, id)) {
            const model::Replica& replica = turn.state.table<model::Replica>().get(replica_id);
            const std::vector<Permit> permits = held_permits_of(turn.state, job, replica);
            const sched::Entry* entry = turn.state.planner.find_entry(id, replica.spec.rank);
            if (!entry || entry->permits == permits) continue;
            sched::Entry anew = *entry;
            anew.permits = permits;
            turn.state.planner.put_entry(anew);
        }
    }
}

}  // namespace tandem::core
