// SPDX-License-Identifier: Apache-2.0
#include "core/service_floor.h"

#include <algorithm>

#include "core/jobs.h"
#include "core/service_view.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::Replica;
using model::Service;

// The planner's entry names the work that it leaves with: the service, or the replica alone.
void set_spare(Turn& turn, const Service& service, RowId id, bool spare) {
    const Replica& known = turn.state.table<Replica>().get(id);
    const sched::Entry* entry =
        turn.state.planner.find_entry(service.meta.id, known.spec.rank);
    if (known.status.surplus == spare || !entry) return;
    turn.table<Replica>().edit(id).status.surplus = spare;
    const Replica& replica = turn.state.table<Replica>().get(id);
    sched::Entry anew = *entry;
    anew.workload = spare ? id : service.meta.id;
    turn.state.planner.put_entry(anew);
    if (spare)
        turn.state.planner.put_occupant(occupant_of_spare(service, replica));
    else
        turn.state.planner.remove_occupant(id);
}

}  // namespace

std::int64_t floor_of(const Service& service) {
    const std::int64_t awake = service.status.desired > 0 ? 1 : 0;
    std::int64_t floor = std::max(service.spec.replicas.min, awake);
#if defined(TANDEM_PLANT_SERVICE_FLOOR)
    floor = 0;
#endif
    return floor;
}

void settle_floor(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    std::vector<RowId> live;
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        if (is_live(replica)) live.push_back(replica_id);
    }
    std::ranges::sort(live, {}, [&](RowId replica) {
        return std::pair(
            turn.state.table<Replica>().get(replica).status.phase != Phase::running, replica);
    });
    const auto floor = service.spec.preemptible ? static_cast<std::size_t>(floor_of(service))
                                                : live.size();
    for (std::size_t i = 0; i < live.size(); ++i) set_spare(turn, service, live[i], i >= floor);
}

sched::Occupant occupant_of_service(const Service& service, Instant started) {
    return {.workload = service.meta.id,
            .queue = service.spec.queue,
            .priority = service.spec.priority,
            .preemptible = false,
            .started = started,
            .safe_at = started,
            .grace = service.spec.drain_timeout};
}

sched::Occupant occupant_of_spare(const Service& service, const Replica& replica) {
    const Instant started = replica.status.started.value_or(replica.meta.created);
    return {.workload = replica.meta.id,
            .queue = service.spec.queue,
            .priority = service.spec.priority,
            .started = started,
            .safe_at = started,
            .standing = sched::Standing::spare,
            .grace = service.spec.drain_timeout};
}

}  // namespace tandem::core
