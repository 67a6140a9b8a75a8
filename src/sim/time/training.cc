// SPDX-License-Identifier: Apache-2.0
#include "sim/time/training.h"

#include <algorithm>

namespace tandem::sim {

void advance(Trainee& trainee, Micros now) {
    if (trainee.running) {
        const Micros passed = now - trainee.checked;
        trainee.executed += passed;
        trainee.remaining -= std::max<Micros>(passed - trainee.job->overhead, 0);
    }
    trainee.checked = now;
}

bool FirstFit::take(std::int64_t devices) {
    if (devices > left_) return false;
    if (devices > cluster_.devices) return take_several(devices);
    for (std::int64_t& free : free_) {
        if (free < devices) continue;
        free -= devices;
        left_ -= devices;
        return true;
    }
    return false;
}

bool FirstFit::take_several(std::int64_t devices) {
    std::int64_t whole = devices / cluster_.devices;
    std::int64_t rest = devices % cluster_.devices;
    std::vector<std::int64_t> after = free_;
    for (std::int64_t& free : after) {
        if (whole == 0) break;
        if (free < cluster_.devices) continue;
        free = 0;
        whole -= 1;
    }
    for (std::int64_t& free : after) {
        if (rest == 0) break;
        if (free < rest) continue;
        free -= rest;
        rest = 0;
    }
    if (whole > 0 || rest > 0) return false;
    free_ = std::move(after);
    left_ -= devices;
    return true;
}

TrainingReport summarise(std::vector<TrainingOutcome> outcomes) {
    TrainingReport report;
    std::vector<Micros> times;
    Micros first = outcomes.empty() ? 0 : outcomes.front().submit;
    Micros last = first;
    for (const TrainingOutcome& outcome : outcomes) {
        first = std::min(first, outcome.submit);
        last = std::max(last, outcome.end);
        times.push_back(outcome.end - outcome.submit);
        report.total_jct += times.back();
        report.evictions += outcome.evictions;
    }
    std::ranges::sort(times);
    if (!times.empty()) report.p99_jct = times[times.size() * 99 / 100];
    report.makespan = last - first;
    report.jobs = std::move(outcomes);
    return report;
}

}  // namespace tandem::sim
