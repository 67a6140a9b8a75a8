// SPDX-License-Identifier: Apache-2.0
#include "sim/time/batch.h"

#include <algorithm>

#include "base/wide.h"

namespace tandem::sim {

BatchReport summarise(const std::vector<BatchJob>& jobs, std::vector<Micros> starts,
                      std::int64_t machines) {
    BatchReport report;
    Wide used = 0;
    Micros first = jobs.empty() ? 0 : jobs.front().submit;
    Micros last = first;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Micros wait = starts[i] - jobs[i].submit;
        const Micros length = jobs[i].length();
        report.total_wait += wait;
        report.max_wait = std::max(report.max_wait, wait);
        report.slowdown_micro += static_cast<std::int64_t>(
            static_cast<Wide>(wait + length) * 1'000'000 / std::max<Micros>(length, 1'000'000));
        used += static_cast<Wide>(length) * jobs[i].machines;
        first = std::min(first, jobs[i].submit);
        last = std::max(last, starts[i] + length);
    }
    report.makespan = last - first;
    const Wide all = static_cast<Wide>(report.makespan) * machines;
    report.used_micro = all == 0 ? 0 : static_cast<std::int64_t>(used * 1'000'000 / all);
    report.starts = std::move(starts);
    return report;
}

}  // namespace tandem::sim
