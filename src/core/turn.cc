// SPDX-License-Identifier: Apache-2.0
#include "core/turn.h"

namespace tandem::core {

void touch(Turn& turn, model::Kind kind, RowId workload) {
    if (kind == model::Kind::job)
        turn.state.live.jobs_touched.insert(workload);
    else
        turn.state.live.services_touched.insert(workload);
}

void touch_all(Turn& turn) {
    for (const auto& [id, job] : turn.table<model::Job>().rows())
        if (!model::is_terminal(job.status.phase) || job.meta.deletion_requested)
            touch(turn, model::Kind::job, id);
    for (const auto& [id, service] : turn.table<model::Service>().rows()) touch(turn, model::Kind::service, id);
}

void move_replica(Turn& turn, RowId id, model::Phase to) {
    model::Replica& replica = turn.table<model::Replica>().edit(id);
    TANDEM_ASSERT(model::may_move(replica.status.phase, to), "replica phase must follow the table");
    replica.status.phase = to;
    touch(turn, replica.spec.owner_kind, replica.spec.owner_id);
}

void close_intents(Turn& turn, const model::TaskName& task) {
    for (RowId id : turn.state.intents.index().of(task)) turn.state.intents.erase(id);
}

void set_wake(Live& live, RowId workload, std::optional<Instant> at) {
    live.wake.erase(workload);
    if (at) live.wake.insert(workload, {.workload = workload, .at = *at});
}

}  // namespace tandem::core
