// SPDX-License-Identifier: Apache-2.0
// Batch jobs on equal machines: what `tandem sim backfill` plays. A job takes `machines` of them
// from its start to its end, is never evicted, and says beforehand how long it may run at most;
// whoever runs longer is killed at that time. Schedulers know the request, never the run time.
// Microseconds. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::sim {

using Micros = std::int64_t;

struct BatchJob {
    std::string id{};
    Micros submit = 0;
    std::int64_t machines = 1;
    Micros request = 0;  // what it may run at most
    Micros run = 0;      // what it would run
    Micros length() const { return run < request ? run : request; }
};

struct BatchReport {
    std::vector<Micros> starts{};    // in the order of the trace
    std::vector<Micros> promised{};  // at submission, by policies that promise a start
    Micros total_wait = 0;
    Micros max_wait = 0;
    std::int64_t slowdown_micro = 0;  // sum of turnaround / max(run, 1 s), in millionths
    Micros makespan = 0;              // last end - first submission
    std::int64_t used_micro = 0;      // machine-time used / (machines x makespan), in millionths
};

BatchReport summarise(const std::vector<BatchJob>& jobs, std::vector<Micros> starts,
                      std::int64_t machines);

}  // namespace tandem::sim
