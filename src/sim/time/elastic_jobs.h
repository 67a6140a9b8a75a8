// SPDX-License-Identifier: Apache-2.0
// Elastic jobs with deadlines: what `tandem sim deadlines` plays. A job has iterations to do, by a
// measured curve of iterations per second by number of devices; devices of the cluster are counted.
// A job meets its deadline when it ends by it. Times in milliseconds, work in billionths of an
// iteration.
//   edf      the published rule: every 60 s, and when somebody ends, in order of deadlines, each
//            gets the largest profiled size that is at most 64, its batch and what is free
//   elastic  admission and minimum share after ElasticFlow (ASPLOS 2023): in order of deadlines
//   each
//            job gets the smallest cap on its size with which it ends in time in what the earlier
//            ones leave; what is idle goes where one more step gains most. Resizes cost as given.
//   tandem   the planner's own (sched/elastic.h)
// PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/elastic.h"

namespace tandem::sim {

struct ElasticJob {
    std::string id{};
    std::int64_t submit = 0;
    std::int64_t deadline = 0;
    std::int64_t work = 0;
    std::int64_t batch = 0;
    sched::SpeedCurve all{};     // as profiled, by size
    sched::SpeedCurve useful{};  // of it, what is faster than any smaller size
};

struct ElasticReport {
    std::vector<std::int64_t> ends{};  // -1: refused
    std::int64_t met = 0;
    std::int64_t refused = 0;
    std::int64_t broken = 0;  // admitted, and late all the same
    std::int64_t resizes = 0;
};

ElasticReport play_edf(const std::vector<ElasticJob>& jobs, std::int64_t devices);
ElasticReport play_elasticflow(const std::vector<ElasticJob>& jobs, std::int64_t devices,
                               std::int64_t resize_cost);
ElasticReport play_own_elastic(const std::vector<ElasticJob>& jobs, std::int64_t devices,
                               std::int64_t resize_cost);

}  // namespace tandem::sim
