// SPDX-License-Identifier: Apache-2.0
// Reference schedulers for training jobs, by the published rules, to be compared with; the server
// has none of them.
//   fifo        strict: whoever can't start blocks all behind; nobody is evicted
//   srtf, srsf  at each happening the whole cluster is filled anew by remaining time (srsf: times
//               devices), past those that do not fit
//   tiresias-l  two-dimensional least attained service: three tiers by device-time (3,250 and
//               7,200 s), inside a tier those who run before those who wait, then first come;
//               devices are counted, not placed
// Sources: Muri (SIGCOMM 2022), Tiresias (NSDI 2019). Ties end in the order of submission, then of
// the trace.
#pragma once

#include "sim/time/training.h"

namespace tandem::sim {

TrainingReport play_fifo(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster);
TrainingReport play_shortest(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster,
                             bool times_devices);
TrainingReport play_tiresias(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster);

}  // namespace tandem::sim
