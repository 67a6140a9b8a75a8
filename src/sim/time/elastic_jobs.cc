// SPDX-License-Identifier: Apache-2.0
#include "sim/time/elastic_jobs.h"

#include <algorithm>
#include <array>
#include <expected>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/wide.h"

namespace tandem::sim {
namespace {

using sched::ElasticWork;
using Planned = std::expected<sched::ElasticPlan, std::size_t>;
using Admission = sched::ElasticPlanner::Admission;
using Works = std::vector<ElasticWork>;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t edf_slot = 60'000;
constexpr std::int64_t edf_largest = 64;

std::int64_t speed_of(const sched::SpeedCurve& curve, std::int64_t size) {
    const auto found = std::ranges::find(curve, size, &sched::SpeedPoint::size);
    return found == curve.end() ? 0 : found->speed;
}

void progress(ElasticWork& work, const sched::SpeedCurve& curve, std::int64_t from,
              std::int64_t to) {
    const std::int64_t start = std::max(from, work.still_until);
    if (work.size == 0 || start >= to) return;
    const Wide done = static_cast<Wide>(speed_of(curve, work.size)) * (to - start) / 1000;
    work.remaining -= static_cast<std::int64_t>(std::min<Wide>(done, work.remaining));
}

std::int64_t end_of(const ElasticWork& work, const sched::SpeedCurve& curve, std::int64_t now) {
    if (work.size == 0) return never;
    return std::max(now, work.still_until) +
           sched::time_at(work.remaining, speed_of(curve, work.size));
}

void judge(const std::vector<ElasticJob>& jobs, ElasticReport& report) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (report.ends[i] < 0)
            report.refused += 1;
        else if (report.ends[i] <= jobs[i].deadline)
            report.met += 1;
    }
}

ElasticWork work_of(const ElasticJob& job, std::size_t index) {
    return {.id = {static_cast<std::int64_t>(index)},
            .deadline = job.deadline,
            .remaining = job.work,
            .curve = &job.useful};
}

std::size_t index_of(const ElasticWork& work) {
    return static_cast<std::size_t>(work.id.value);
}

std::int64_t edf_size(const ElasticJob& job, std::int64_t free) {
    const std::int64_t most = std::min({edf_largest, job.batch, free});
    std::int64_t size = 0;
    for (const sched::SpeedPoint& point : job.all) {
        if (point.size <= most && point.speed > 0) size = std::max(size, point.size);
    }
    return size;
}

}  // namespace

ElasticReport play_edf(const std::vector<ElasticJob>& jobs, std::int64_t devices) {
    ElasticReport report{.ends = std::vector<std::int64_t>(jobs.size(), -1)};
    std::vector<ElasticWork> active;
    std::size_t arrived = 0;
    std::int64_t now = 0;
    while (arrived < jobs.size() || !active.empty()) {
        if (active.empty())
            now = std::max(now, (jobs[arrived].submit + edf_slot - 1) / edf_slot * edf_slot);
        for (; arrived < jobs.size() && jobs[arrived].submit <= now; ++arrived) {
            if (edf_size(jobs[arrived], devices) > 0)
                active.push_back(work_of(jobs[arrived], arrived));
        }
        std::ranges::sort(
            active, {}, [](const ElasticWork& work) { return std::pair(work.deadline, work.id); });
        std::int64_t free = devices;
        for (ElasticWork& work : active) {
            const ElasticJob& job = jobs[index_of(work)];
            work.size = edf_size(job, free);
            free -= work.size;
        }
        const std::int64_t next = now + edf_slot;
        std::erase_if(active, [&](ElasticWork& work) {
            const ElasticJob& job = jobs[index_of(work)];
            const std::int64_t end = end_of(work, job.all, now);
            progress(work, job.all, now, next);
            if (end > next) return false;
            report.ends[index_of(work)] = end;
            return true;
        });
        now = next;
    }
    judge(jobs, report);
    return report;
}

namespace {

// A policy: who may enter, and the sizes from now on.
struct ElasticPolicy {
    std::function<Admission(std::int64_t now, const Works&)> admit;
    std::function<Planned(std::int64_t now, const Works&)> plan;
};

class ElasticPlay {
  public:
    ElasticPlay(const std::vector<ElasticJob>& jobs, ElasticPolicy policy, std::int64_t resize_cost)
        : jobs_(jobs), policy_(std::move(policy)), resize_cost_(resize_cost) {
        report_.ends.assign(jobs.size(), -1);
    }

    ElasticReport run() {
        std::int64_t wake = never;
        while (true) {
            const std::int64_t arrival = arrived_ < jobs_.size() ? jobs_[arrived_].submit : never;
            std::int64_t next = std::min(arrival, wake);
            for (const ElasticWork& work : active_)
                next = std::min(next, end_of(work, *work.curve, now_));
            if (next == never) break;
            go_to(next);
            wake = replan();
        }
        judge(jobs_, report_);
        return std::move(report_);
    }

  private:
    void go_to(std::int64_t at) {
        std::erase_if(active_, [&](ElasticWork& work) {
            const std::int64_t end = end_of(work, *work.curve, now_);
            progress(work, *work.curve, now_, at);
            if (end > at) return false;
            report_.ends[index_of(work)] = end;
            return true;
        });
        now_ = at;
    }
    std::int64_t replan() {
        std::optional<Planned> admitted;
        for (; arrived_ < jobs_.size() && jobs_[arrived_].submit <= now_; ++arrived_) {
            active_.push_back(work_of(jobs_[arrived_], arrived_));
            Admission admission = policy_.admit(now_, active_);
            if (admission.refused) {
                const auto place = static_cast<std::ptrdiff_t>(*admission.refused);
                active_.erase(active_.begin() + place);
            }
            admitted = std::move(admission.plan);
        }
        const auto plan = admitted ? std::move(*admitted) : policy_.plan(now_, active_);
        if (!plan) return repair(plan.error());
        apply(*plan);
        return plan->wake;
    }
    // A promise that can't be kept after all: that one goes on without a deadline.
    std::int64_t repair(std::size_t late) {
        while (true) {
            active_[late].deadline = sched::no_end;
            report_.broken += 1;
            const auto plan = policy_.plan(now_, active_);
            if (!plan) {
                late = plan.error();
                continue;
            }
            apply(*plan);
            return plan->wake;
        }
    }
    void apply(const sched::ElasticPlan& plan) {
        for (std::size_t i = 0; i < active_.size(); ++i) {
            ElasticWork& work = active_[i];
            if (plan.sizes[i] == work.size) continue;
            if (work.started) {
                work.still_until = now_ + resize_cost_;
                report_.resizes += 1;
            }
            work.size = plan.sizes[i];
            work.started = true;
        }
    }

    const std::vector<ElasticJob>& jobs_;
    ElasticPolicy policy_;
    std::int64_t resize_cost_;
    std::vector<ElasticWork> active_{};
    std::size_t arrived_ = 0;
    std::int64_t now_ = 0;
    ElasticReport report_{};
};

// ElasticFlow's minimum share: the sizes in time of one job under a cap, in what the profile
// leaves.
struct Share {
    std::int64_t now = 0;     // size at once
    std::int64_t change = 0;  // when it is another one
    bool in_time = false;
};
Share fill(sched::Profile& profile, const ElasticWork& work, std::int64_t cap, std::int64_t now) {
    Share share{.change = never};
    std::vector<std::array<std::int64_t, 3>> taken;
    std::int64_t at = now;
    std::int64_t rest = work.remaining;
    while (rest > 0 && at < work.deadline) {
        const std::int64_t next = std::min(profile.next_step(at), work.deadline);
        const sched::SpeedPoint* point = nullptr;
        for (const sched::SpeedPoint& candidate : *work.curve) {
            if (candidate.size <= std::min(cap, profile.free_at(at))) point = &candidate;
        }
        if (at == now && point) share.now = point->size;
        if (at > now && share.change == never && (point ? point->size : 0) != share.now)
            share.change = at;
        if (point) {
            const std::int64_t end = std::min(next, at + sched::time_at(rest, point->speed));
            rest -= static_cast<std::int64_t>(
                std::min<Wide>(static_cast<Wide>(point->speed) * (end - at) / 1000 + 1, rest));
            taken.push_back({at, end, point->size});
        }
        at = next;
    }
    share.in_time = rest <= 0;
    if (!share.in_time) return share;
    for (const auto& [from, to, size] : taken) profile.take(from, to, size);
    return share;
}

// What is idle goes, one size at a time, where it speeds up most for a device.
void spread_idle(sched::ElasticPlan& plan, const std::vector<ElasticWork>& works,
                 std::int64_t devices) {
    std::int64_t idle = devices;
    for (std::int64_t size : plan.sizes) idle -= size;
    while (idle > 0) {
        std::size_t best = works.size();
        const sched::SpeedPoint* best_to = nullptr;
        Wide gain = 0;
        for (std::size_t i = 0; i < works.size(); ++i) {
            const auto to = std::ranges::find_if(
                *works[i].curve, [&](const auto& point) { return point.size > plan.sizes[i]; });
            if (to == works[i].curve->end() || to->size - plan.sizes[i] > idle) continue;
            const std::int64_t speed = speed_of(*works[i].curve, plan.sizes[i]);
            const Wide here = static_cast<Wide>(to->speed - speed) * 1'000'000 /
                              (to->speed * (to->size - plan.sizes[i]));
            if (best_to != nullptr && here <= gain) continue;
            best = i;
            best_to = &*to;
            gain = here;
        }
        if (best_to == nullptr) return;
        idle -= best_to->size - plan.sizes[best];
        plan.sizes[best] = best_to->size;
    }
}

Planned share_out(const std::vector<ElasticWork>& works, std::int64_t devices, std::int64_t now) {
    sched::ElasticPlan plan{.sizes = std::vector<std::int64_t>(works.size(), 0)};
    std::vector<std::size_t> order(works.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(works[i].deadline, works[i].id); });
    sched::Profile profile(devices);
    for (std::size_t i : order) {
        Share share;
        for (const sched::SpeedPoint& point : *works[i].curve) {
            share = fill(profile, works[i], point.size, now);
            if (share.in_time) break;
        }
        if (!share.in_time && works[i].deadline != sched::no_end) return std::unexpected(i);
        plan.sizes[i] = share.now;
        plan.wake = std::min(plan.wake, share.change);
    }
    spread_idle(plan, works, devices);
    return plan;
}

Admission admit_share(const std::vector<ElasticWork>& works, std::int64_t devices,
                      std::int64_t now) {
    if (auto all = share_out(works, devices, now)) return {.plan = std::move(all)};
    return {.refused = works.size() - 1,
            .plan = share_out({works.begin(), works.end() - 1}, devices, now)};
}

}  // namespace

ElasticReport play_elasticflow(const std::vector<ElasticJob>& jobs, std::int64_t devices,
                               std::int64_t resize_cost) {
    const auto admit = [devices](std::int64_t now, const Works& works) {
        return admit_share(works, devices, now);
    };
    const auto plan = [devices](std::int64_t now, const Works& works) {
        return share_out(works, devices, now);
    };
    return ElasticPlay(jobs, {admit, plan}, resize_cost).run();
}

ElasticReport play_own_elastic(const std::vector<ElasticJob>& jobs, std::int64_t devices,
                               std::int64_t resize_cost) {
    const sched::ElasticPlanner planner(devices, resize_cost);
    const auto admit = [&planner](std::int64_t now, const Works& works) {
        return planner.admit(now, works);
    };
    const auto plan = [&planner](std::int64_t now, const Works& works) {
        return planner.plan(now, works);
    };
    return ElasticPlay(jobs, {admit, plan}, resize_cost).run();
}

}  // namespace tandem::sim
