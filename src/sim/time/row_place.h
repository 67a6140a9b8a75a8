// SPDX-License-Identifier: Apache-2.0
// What every reader of a trace asks of a row before it takes it: rows are sorted by submission, and
// a trace has a largest number of jobs. Called with the jobs read so far; says what is wrong, for
// the column of the submission, or nothing.
#pragma once

#include <string_view>
#include <vector>

namespace tandem::sim {

inline constexpr std::size_t trace_jobs_max = 2'000'000;

template <class Job>
std::string_view wrong_place(const std::vector<Job>& jobs, decltype(Job::submit) at) {
    if (!jobs.empty() && at < jobs.back().submit)
        return "rows must be sorted by it; this one is earlier than the row before";
    if (jobs.size() >= trace_jobs_max) return "a trace has at most 2,000,000 jobs";
    return {};
}

}  // namespace tandem::sim
