// SPDX-License-Identifier: Apache-2.0
#include "whatif/typical.h"

#include <algorithm>

namespace tandem::whatif {
namespace {

constexpr std::size_t known_min = 3;

std::int64_t devices_of(const model::Job& job) {
    std::int64_t milli = 0;
    for (const model::JobRole& role : job.spec.roles)
        milli += role.least() * role.resources.devices;
    return milli;
}

Duration rest_of_known(const std::vector<Duration>& known, Duration lasted) {
    const auto longer = std::ranges::upper_bound(known, lasted);
    const std::ptrdiff_t count = known.end() - longer;
    if (count == 0) return lasted;
    return Duration{(longer + (count - 1) / 2)->ms - lasted.ms};
}

}  // namespace

void TypicalTimes::learn(const model::Job& job) {
    if (job.status.phase != model::Phase::succeeded || !job.status.started || !job.status.finished)
        return;
    const Duration ran = *job.status.finished - *job.status.started;
    of_like_[{job.meta.project, job.spec.queue, devices_of(job)}].push_back(ran);
    of_queue_[job.spec.queue].push_back(ran);
    of_all_.push_back(ran);
}

void TypicalTimes::settle() {
    for (auto& [like, known] : of_like_) std::ranges::sort(known);
    for (auto& [queue, known] : of_queue_) std::ranges::sort(known);
    std::ranges::sort(of_all_);
}

std::optional<Duration> TypicalTimes::rest_of(const model::Job& job, Duration lasted) const {
    const auto like = of_like_.find({job.meta.project, job.spec.queue, devices_of(job)});
    if (like != of_like_.end() && like->second.size() >= known_min)
        return rest_of_known(like->second, lasted);
    const auto queue = of_queue_.find(job.spec.queue);
    if (queue != of_queue_.end() && queue->second.size() >= known_min)
        return rest_of_known(queue->second, lasted);
    if (of_all_.empty()) return std::nullopt;
    return rest_of_known(of_all_, lasted);
}

}  // namespace tandem::whatif
