// SPDX-License-Identifier: Apache-2.0
// Services. reconcile_service compares what is wanted (scale, version) with the replicas there are and takes
// the next step; idempotent. Each replica is placed by itself, has a rank that is never used twice and one epoch.
//
//   claimed -> starting (process up, probed by one token) -> running -> draining -> stopping -> gone (row erased)
#pragma once

#include "core/turn.h"

namespace tandem::core {

void reconcile_service(Turn& turn, RowId id);
void claim_replica(Turn& turn, const sched::Placement& placement);
// This replica above its floor (core/service_floor.h) is asked to leave.
void evict_spare(Turn& turn, RowId replica, model::Reason why);
// Its capacity is wanted: the whole service gives way.
void evict_service(Turn& turn, RowId id, model::Reason why);

}  // namespace tandem::core
