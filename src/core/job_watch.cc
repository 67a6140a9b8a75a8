// SPDX-License-Identifier: Apache-2.0
#include "core/job_watch.h"

#include <algorithm>

#include "core/jobs.h"

namespace tandem::core {
namespace {

using model::ReasonCode;

// A shim stops its task itself; only one that does not report by then is stopped from here.
constexpr Duration shim_margin = seconds(10);
constexpr Duration period_min = milliseconds(100);
constexpr Duration period_max = seconds(5);
// For the way of a report: a sixteenth of the limit, within these.
constexpr Duration way_min = milliseconds(500);
constexpr Duration way_max = seconds(5);

struct Alarm {
    Instant at{};
    model::Reason reason{};
};

void keep_earlier(std::optional<Alarm>& first, Alarm alarm) {
    if (!first || alarm.at < first->at) first = std::move(alarm);
}

// When this rank would count as hung if it stayed as silent as it is now.
std::optional<Alarm> silence_alarm(const State& state, const model::Job& job, const model::Replica& replica) {
    const TaskLife* found = state.live.tasks.find(task_name(state, replica));
    const TaskLife life = found ? *found : TaskLife{};
    const Instant started = replica.status.started.value_or(Instant{});
    const std::string rank = std::to_string(replica.spec.rank);
    // What is known of a rank may be so much older than what it did.
    const Duration period = watch_period(job.spec);
    const auto alarm = [&](ReasonCode code, Instant last, Duration limit) {
        const Duration way{std::clamp(limit.ms / 16, way_min.ms, way_max.ms)};
        return Alarm{last + limit + period + way,
                     reason_of(code, {{"rank", rank}, {"silence", render_duration(limit)}})};
    };
    if (job.spec.heartbeat_timeout && life.beat)
        return alarm(ReasonCode::heartbeat_lost, std::max(*life.beat, started), *job.spec.heartbeat_timeout);
    if (job.spec.silence_timeout)
        return alarm(ReasonCode::output_silent, std::max(life.output, started), *job.spec.silence_timeout);
    if (job.spec.heartbeat_timeout)
        return alarm(ReasonCode::heartbeat_lost, started, *job.spec.heartbeat_timeout);
    return std::nullopt;
}

}  // namespace

Duration watch_period(const model::JobSpec& spec) {
    std::optional<Duration> least;
    for (const auto& limit : {spec.heartbeat_timeout, spec.silence_timeout})
        if (limit && (!least || *limit < *least)) least = limit;
    if (!least) return {};
    return {std::clamp(least->ms / 8, period_min.ms, period_max.ms)};
}

void watch_job(Turn& turn, RowId id) {
    const model::Job& job = turn.state.table<model::Job>().get(id);
    std::optional<Alarm> first;
    if (job.spec.max_run_time && job.status.started)
        keep_earlier(first, {*job.status.started + *job.spec.max_run_time + shim_margin,
                             reason_of(ReasonCode::max_run_time_exceeded,
                                       {{"limit", render_duration(*job.spec.max_run_time)}})});
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const model::Replica& replica = turn.state.table<model::Replica>().get(replica_id);
        if (replica.status.phase != model::Phase::running) continue;
        if (auto alarm = silence_alarm(turn.state, job, replica)) keep_earlier(first, std::move(*alarm));
    }
    if (!first) return;
    if (first->at > turn.now) return set_wake(turn.state.live, id, first->at);
    TANDEM_REACHED("job.hung");
    begin_ending(turn, id, model::Ending::failed, first->reason);
}

}  // namespace tandem::core
