// SPDX-License-Identifier: Apache-2.0
// The floor of a service: replicas that it never has fewer of because others want its capacity. That
// is its minimum; of one that may sleep, one replica while it is awake: as long as requests are in
// flight, and until its idle time is over. Of a preemptible service what it has above the floor may
// be asked to leave, one replica by itself, by whom the rules of preemption give the right.
#pragma once

#include "core/turn.h"

namespace tandem::core {

std::int64_t floor_of(const model::Service& service);
// The planner is told which replicas stand above the floor now: who was ready last, and is youngest.
void settle_floor(Turn& turn, RowId service);
// As the planner knows the rest of it.
sched::Occupant occupant_of_service(const model::Service& service, Instant started);
// And one replica above the floor.
sched::Occupant occupant_of_spare(const model::Service& service, const model::Replica& replica);

}  // namespace tandem::core
