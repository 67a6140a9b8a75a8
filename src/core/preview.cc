// SPDX-License-Identifier: Apache-2.0
#include "core/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/access.h"
#include "core/arrays.h"
#include "core/jobs.h"
#include "core/step.h"

namespace tandem::core {
namespace {

using model::Job;
using model::Phase;

template <class T>
std::optional<std::string> name_in(const Turn& turn, const model::Caller& caller, RowId id) {
    const T* row = turn.state.table<T>().find(id);
    if (!row) return std::nullopt;
    if (!may_see(turn.state, caller, model::Object{*row}, turn.now)) return std::string{};
    return fmt::format("{}/{}/{}/{}", model::info_of(T::kind).singular, row->meta.project,
                       row->meta.name_space, row->meta.name);
}

std::string name_of_work(const Turn& turn, const model::Caller& caller, RowId id) {
    if (auto job = name_in<Job>(turn, caller, id)) return *job;
    return name_in<model::Service>(turn, caller, id).value_or("");
}

model::Preview tell(const Turn& turn, const model::Caller& caller, const std::string& by,
                    const sched::Placement& placement) {
    model::Preview preview{.starts = true};
    std::set<std::string> nodes;
    for (const sched::PlacedReplica& placed : placement.replicas) nodes.insert(placed.node);
    preview.nodes.assign(nodes.begin(), nodes.end());
    for (const sched::Eviction& eviction : placement.evictions)
        preview.evictions.push_back(
            {.name = name_of_work(turn, caller, eviction.workload),
             .reason = reason_of(
                 eviction.why,
                 {{"by", by}, {"lost", render_duration(Duration{eviction.lost / 1000})}})});
    return preview;
}

}  // namespace

Result<model::Preview> preview_job(Turn& turn, const model::Caller& caller, RowId id,
                                   std::optional<std::int64_t> priority) {
    State& state = turn.state;
    const Job& job = state.table<Job>().get(id);
    if (job.status.phase != Phase::pending || is_array(job))
        return fail(
            ErrorCode::conflict,
            fmt::format("only a pending job can be looked at so; job \"{}\" is {}", job.meta.name,
                        is_array(job) ? "an array: name one of its elements"
                                      : std::string(model::name_of(job.status.phase))));
    sched::Demand demand = demand_of(state, job);
    if (priority) demand.priority = *priority;
    const std::size_t before = state.planner.mark();
    state.planner.put_demand(demand);
    model::Preview preview;
    bool again = true;
    while (again && !preview.starts) {
        const sched::Plan plan = state.planner.plan(turn.now, plan_step_budget);
        again = plan.exhausted;
        for (const sched::Placement& placement : plan.placements)
            if (placement.workload == id)
                preview = tell(turn, caller, "job/" + job.meta.name, placement);
    }
    if (!preview.starts) preview.reason = state.planner.cause_of(id).value_or(job.status.reason);
    state.planner.rollback(before);
    return preview;
}

}  // namespace tandem::core
