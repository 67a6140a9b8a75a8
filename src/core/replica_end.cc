// SPDX-License-Identifier: Apache-2.0
#include "core/replica_end.h"

#include <algorithm>

#include "core/capacity.h"
#include "core/jobs.h"
#include "core/service_view.h"

namespace tandem::core {
namespace {

using model::ReasonCode;
using model::Replica;
using model::Service;

constexpr Duration backoff_first = seconds(2);
constexpr Duration backoff_max = minutes(5);

model::Reason reason_of_row(const Replica& replica) {
    if (replica.status.reason.code != ReasonCode::none) return replica.status.reason;
    return reason_of(ReasonCode::replica_failed,
                     {{"replica", replica.meta.name}, {"detail", "its process is gone"}});
}

}  // namespace

model::Reason reason_of_end(const Replica& replica, const model::TaskExit& exit,
                            const std::string& last_output) {
    if (exit.out_of_memory)
        return reason_of(ReasonCode::out_of_memory, {{"rank", std::to_string(replica.spec.rank)}});
    model::Reason reason = reason_of(ReasonCode::replica_ended, {{"replica", replica.meta.name}});
    if (exit.signal != 0)
        reason.params.push_back({"signal", std::to_string(exit.signal)});
    else
        reason.params.push_back({"code", std::to_string(exit.code)});
    if (exit.ran.ms > 0) reason.params.push_back({"ran", render_duration(exit.ran)});
    if (!last_output.empty()) reason.params.push_back({"output", last_output});
    return reason;
}

void keep_failure(Turn& turn, RowId id, const Replica& replica, model::Reason reason) {
    Service& service = turn.table<Service>().edit(id);
    service.status.starts_failed += 1;
    const std::int64_t doublings = std::min<std::int64_t>(service.status.starts_failed - 1, 16);
    service.status.not_before =
        turn.now + Duration{std::min(backoff_max.ms, backoff_first.ms << doublings)};
    service.status.reason = reason;
    service.status.last_failure =
        model::ReplicaEnd{.replica = replica.meta.name,
                          .task = task_name(turn.state, replica).text(),
                          .was_ready = replica.status.ready_since.has_value(),
                          .at = replica.status.finished.value_or(turn.now),
                          .reason = reason};
    turn.note(key_of_row(service), service.meta.uid, std::move(reason));
}

void bury_gone(Turn& turn, RowId id) {
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica replica = turn.state.table<Replica>().get(replica_id);
        if (!is_gone(replica)) continue;
        const bool wished = replica.status.draining || replica.status.stop_at.has_value();
        if (!wished) {
            TANDEM_REACHED("service.replica_lost");
            keep_failure(turn, id, replica, reason_of_row(replica));
        }
        release(turn, replica, {});
        turn.state.live.tasks.erase(task_name(turn.state, replica));
        turn.table<Replica>().erase(replica_id);
    }
}

model::Reason trouble_of(const State& state, const Service& service) {
    if (count_replicas(state, service.meta.id).ready > 0 || service.meta.deletion_requested)
        return {};
    const ReasonCode now = service.status.reason.code;
    if (now == ReasonCode::model_missing || now == ReasonCode::runtime_missing)
        return service.status.reason;
    const auto& last = service.status.last_failure;
    if (service.status.desired == 0 || service.status.starts_failed == 0 || !last ||
        last->was_ready)
        return {};
    model::Reason reason = last->reason;
    std::erase_if(reason.params,
                  [](const model::ReasonParam& param) { return param.name == "output"; });
    return reason;
}

}  // namespace tandem::core
