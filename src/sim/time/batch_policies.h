// SPDX-License-Identifier: Apache-2.0
// Who starts when, of a line of batch jobs.
//   easy          first come, first served; the head that can't start reserves machines by name
//   (the
//                 lowest numbers that are free at the earliest time when enough are), others may
//                 start when they end before that or stay off those machines. As Batsim's EASY.
//   conservative  everybody gets the earliest start that delays nobody before, and never a later
//   one;
//                 when somebody ends early, each in turn is moved forward where that is possible.
//   tandem        the order and the backfill of the server's planner (sched/order.h,
//   sched/backfill.h):
//                 by response ratio, with the first in line protected.
// PURE. Jobs must be sorted by submission and fit on the machines.
#pragma once

#include "sim/time/batch.h"

namespace tandem::sim {

BatchReport play_easy(const std::vector<BatchJob>& jobs, std::int64_t machines);
BatchReport play_conservative(const std::vector<BatchJob>& jobs, std::int64_t machines);
BatchReport play_own_batch(const std::vector<BatchJob>& jobs, std::int64_t machines);

}  // namespace tandem::sim
