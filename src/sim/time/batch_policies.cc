// SPDX-License-Identifier: Apache-2.0
#include "sim/time/batch_policies.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "sched/backfill.h"
#include "sched/order.h"

namespace tandem::sim {
namespace {

constexpr Micros never = std::numeric_limits<Micros>::max();
constexpr std::size_t protect = 1;

struct End {
    Micros at = 0;
    std::size_t job = 0;
    auto operator<=>(const End&) const = default;
};

// Time, arrivals and ends; what all policies share.
class Line {
  public:
    explicit Line(const std::vector<BatchJob>& jobs) : jobs_(jobs), starts_(jobs.size(), -1) {}

    Micros now = 0;
    std::vector<std::size_t> waiting{};  // in order of submission

    bool is_over() const { return next() == never; }
    // To the next arrival or end, or to `wake` before it.
    template <class Ended, class Came>
    void step(Micros wake, Ended ended, Came came) {
        now = std::min(next(), wake);
        while (!ends_.empty() && ends_.top().at == now) {
            ended(ends_.top().job);
            ends_.pop();
        }
        for (; arrived_ < jobs_.size() && jobs_[arrived_].submit == now; ++arrived_) {
            waiting.push_back(arrived_);
            came(arrived_);
        }
    }
    void start(std::size_t job) {
        starts_[job] = now;
        ends_.push({now + jobs_[job].length(), job});
    }
    bool has_started(std::size_t job) const { return starts_[job] >= 0; }
    Micros stated_end(std::size_t job) const { return starts_[job] + jobs_[job].request; }
    void drop_started() {
        std::erase_if(waiting, [this](std::size_t job) { return has_started(job); });
    }
    BatchReport finish(std::int64_t machines) {
        return summarise(jobs_, std::move(starts_), machines);
    }

  private:
    Micros next() const {
        const Micros arrival = arrived_ < jobs_.size() ? jobs_[arrived_].submit : never;
        return ends_.empty() ? arrival : std::min(arrival, ends_.top().at);
    }

    const std::vector<BatchJob>& jobs_;
    std::vector<Micros> starts_{};
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_{};
    std::size_t arrived_ = 0;
};

constexpr auto nothing = [](std::size_t) {};

// Machines by number, each with the job that has it.
class Machines {
  public:
    explicit Machines(std::int64_t count) : free_from_(static_cast<std::size_t>(count), 0) {}

    // Whether `count` machines are free now, and not `kept` unless it ends by then; takes the
    // lowest.
    bool take(std::int64_t count, Micros now, Micros stated_end, std::size_t job, Micros kept_from,
              const std::vector<bool>& kept) {
        std::vector<std::size_t> found;
        for (std::size_t m = 0; m < free_from_.size() && std::cmp_less(found.size(), count); ++m) {
            if (free_from_[m] > now || held_.contains(m)) continue;
            if (!kept.empty() && kept[m] && stated_end > kept_from) continue;
            found.push_back(m);
        }
        if (std::cmp_less(found.size(), count)) return false;
        for (std::size_t m : found) {
            free_from_[m] = stated_end;
            held_.insert({m, job});
        }
        return true;
    }
    void release(std::size_t job) {
        for (auto at = held_.begin(); at != held_.end();) {
            if (at->second != job) {
                ++at;
                continue;
            }
            free_from_[at->first] = 0;
            at = held_.erase(at);
        }
    }
    // The earliest time when `count` are free by what was stated, and the lowest of them.
    Micros reserve(std::int64_t count, std::vector<bool>& kept) const {
        std::vector<Micros> order = free_from_;
        std::ranges::sort(order);
        const Micros from = order[static_cast<std::size_t>(count - 1)];
        kept.assign(free_from_.size(), false);
        for (std::size_t m = 0; m < free_from_.size() && count > 0; ++m) {
            if (free_from_[m] > from) continue;
            kept[m] = true;
            count -= 1;
        }
        return from;
    }

  private:
    std::vector<Micros> free_from_{};
    std::map<std::size_t, std::size_t> held_{};
};

}  // namespace

BatchReport play_easy(const std::vector<BatchJob>& jobs, std::int64_t machines) {
    Line line(jobs);
    Machines cluster(machines);
    while (!line.is_over()) {
        line.step(never, [&](std::size_t job) { cluster.release(job); }, nothing);
        std::vector<bool> kept;
        Micros kept_from = never;
        for (std::size_t job : line.waiting) {
            const Micros end = line.now + jobs[job].request;
            if (cluster.take(jobs[job].machines, line.now, end, job, kept_from, kept))
                line.start(job);
            else if (kept.empty())
                kept_from = cluster.reserve(jobs[job].machines, kept);
        }
        line.drop_started();
    }
    return line.finish(machines);
}

BatchReport play_conservative(const std::vector<BatchJob>& jobs, std::int64_t machines) {
    Line line(jobs);
    sched::Profile profile(machines);
    std::vector<Micros> planned(jobs.size(), never);
    std::vector<Micros> promised(jobs.size(), never);
    const auto plan = [&](std::size_t job) {
        planned[job] = profile.earliest(line.now, jobs[job].request, jobs[job].machines);
        profile.take(planned[job], planned[job] + jobs[job].request, jobs[job].machines);
    };
    while (!line.is_over()) {
        Micros wake = never;
        for (std::size_t job : line.waiting) wake = std::min(wake, planned[job]);
        bool early = false;
        std::vector<std::size_t> came;
        line.step(
            wake,
            [&](std::size_t job) {
                early = early || line.stated_end(job) > line.now;
                profile.give(line.now, line.stated_end(job), jobs[job].machines);
            },
            [&](std::size_t job) { came.push_back(job); });
        profile.forget_before(line.now);
        for (std::size_t job : line.waiting) {
            if (!early || planned[job] == never) continue;
            profile.give(planned[job], planned[job] + jobs[job].request, jobs[job].machines);
            plan(job);
        }
        for (std::size_t job : came) {
            plan(job);
            promised[job] = planned[job];
        }
        for (std::size_t job : line.waiting) {
            if (planned[job] == line.now) line.start(job);
        }
        line.drop_started();
    }
    BatchReport report = line.finish(machines);
    report.promised = std::move(promised);
    return report;
}

BatchReport play_own_batch(const std::vector<BatchJob>& jobs, std::int64_t machines) {
    Line line(jobs);
    sched::Profile profile(machines);
    while (!line.is_over()) {
        line.step(
            never,
            [&](std::size_t job) {
                profile.give(line.now, line.stated_end(job), jobs[job].machines);
            },
            nothing);
        profile.forget_before(line.now);
        std::vector<sched::Standing> order;
        for (std::size_t job : line.waiting) {
            order.push_back({.id = {static_cast<std::int64_t>(job)},
                             .submitted = jobs[job].submit,
                             .devices = jobs[job].machines,
                             .length = jobs[job].request,
                             .preemptible = false});
        }
        std::ranges::sort(order, sched::Order(sched::OrderPolicy::automatic, line.now, 1'000'000));
        std::vector<sched::Waiter> waiters;
        for (const sched::Standing& job : order)
            waiters.push_back({.amount = job.devices, .length = job.length});
        for (std::size_t place : sched::choose_starts(profile, line.now, waiters, protect).now)
            line.start(static_cast<std::size_t>(order[place].id.value));
        line.drop_started();
    }
    return line.finish(machines);
}

}  // namespace tandem::sim
