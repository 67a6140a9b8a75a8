// SPDX-License-Identifier: Apache-2.0
// Training jobs by the order of the server's planner (sched/order.h): known durations go by least
// remaining device-time, unknown ones by tiers of service received. Who runs keeps its devices;
// somebody later in the order is evicted for somebody earlier when the whole placement is found,
// and only as many as it takes.
#pragma once

#include "sim/time/training.h"

namespace tandem::sim {

TrainingReport play_own_jobs(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster,
                             bool durations_known);

}  // namespace tandem::sim
