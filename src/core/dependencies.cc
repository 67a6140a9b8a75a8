// SPDX-License-Identifier: Apache-2.0
#include "core/dependencies.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::core {
namespace {

using model::DependencyWhen;
using model::Job;
using model::JobDependency;
using model::Phase;
using model::ReasonCode;

const Job* find_other(const State& state, const Job& job, const std::string& name) {
    return state.table<Job>().find_named(job.meta.project, job.meta.name_space, name);
}

bool is_met(const Job& other, DependencyWhen when) {
    switch (when) {
        case DependencyWhen::ok:
            return other.status.phase == Phase::succeeded;
        case DependencyWhen::failed:
            return other.status.phase == Phase::failed;
        case DependencyWhen::ended:
            return model::is_terminal(other.status.phase);
        default:
            return other.status.phase == Phase::running || other.status.phase == Phase::succeeded ||
                   other.status.phase == Phase::failed;
    }
}

Waiting judge(const Job* other, const JobDependency& wish) {
    const std::string when(model::name_of(wish.when));
    if (other && !model::is_terminal(other->status.phase))
        return {.never = false,
                .reason = reason_of(ReasonCode::waiting_for_job,
                                    {{"job", wish.job}, {"when", when}})};
    const std::string phase(other ? model::name_of(other->status.phase) : "deleted");
    return {.never = true,
            .reason = reason_of(ReasonCode::dependency_never_met,
                                {{"job", wish.job}, {"when", when}, {"phase", phase}})};
}

}  // namespace

Status check_dependencies(const State& state, const Job& wanted) {
    for (std::size_t i = 0; i < wanted.spec.after.size(); ++i) {
        const std::string& name = wanted.spec.after[i].job;
        if (!find_other(state, wanted, name))
            return invalid_field(
                fmt::format("spec.after[{}].job", i),
                fmt::format("must name a job that exists in {}/{}; there is no \"{}\"",
                            wanted.meta.project, wanted.meta.name_space, name));
    }
    return {};
}

Waiting look_at_dependencies(Turn& turn, RowId id) {
    const Job& job = turn.state.table<Job>().get(id);
    Waiting found;
    std::vector<std::string> met = job.status.after_met;
    for (const JobDependency& wish : job.spec.after) {
        if (std::ranges::find(met, wish.job) != met.end()) continue;
        const Job* other = find_other(turn.state, job, wish.job);
        if (other && is_met(*other, wish.when)) {
            met.push_back(wish.job);
            continue;
        }
        if (other) {
            std::set<RowId> waiting;
            if (const auto* known = turn.state.live.dependents.find(other->meta.id))
                waiting = *known;
            if (waiting.insert(id).second) turn.state.live.dependents.put(other->meta.id, waiting);
        }
        Waiting one = judge(other, wish);
        if (one.never || found.reason.code == ReasonCode::none) found = std::move(one);
        if (found.never) break;
    }
    if (met != job.status.after_met) turn.table<Job>().edit(id).status.after_met = std::move(met);
    return found;
}

void tell_dependents(Turn& turn, const Job& job) {
    const std::set<RowId>* waiting = turn.state.live.dependents.find(job.meta.id);
    if (!waiting) return;
    for (RowId id : *waiting) touch(turn, model::Kind::job, id);
    if (model::is_terminal(job.status.phase)) turn.state.live.dependents.erase(job.meta.id);
}

}  // namespace tandem::core
