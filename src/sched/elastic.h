// SPDX-License-Identifier: Apache-2.0
// Elastic work with deadlines: which sizes run now, and who may enter. Each workload has a curve of
// speeds by size and must have done its work by its deadline; a change of size of what ran costs
// `resize_cost` of standing still. A newcomer is admitted when a plan is found in which everybody
// keeps their deadline. When there is none, one is refused, and told so: the newcomer, or, if it
// needs less device-time, the one that needs most and in whose place it fits (after Moore and
// Hodgson: as many as possible in time).
//
// The plan gives each one size from its start to its end: the one that takes the least device-time
// and still ends in time. Who runs keeps its place and shrinks to that size only when somebody else
// needs the devices now, and is stopped for a while only when nothing else will do; who waits is
// placed on the exact profile of what the others leave, in order of deadlines. Devices that are
// idle make running work larger, where the gain outweighs two resizes and the deadline would be
// kept even if it had to shrink again at once. So work starts small, grows when capacity idles and
// shrinks first under pressure. Divisible amounts; PURE; integers.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "sched/profile.h"

namespace tandem::sched {

struct SpeedPoint {
    std::int64_t size = 0;
    std::int64_t speed = 0;  // work per 1000 ticks
};
// By size, larger ones are faster; what is slower than a smaller size is of no use and left out.
using SpeedCurve = std::vector<SpeedPoint>;
SpeedCurve useful_curve(std::vector<SpeedPoint> points, std::int64_t largest);

struct ElasticWork {
    RowId id{};
    Ticks deadline = no_end;
    std::int64_t remaining = 0;  // work
    const SpeedCurve* curve = nullptr;
    std::int64_t size = 0;  // now; 0: waits
    Ticks still_until = 0;  // stands still for a resize
    bool started = false;   // ran before: a start costs a resize
};

// Ticks until `remaining` is done at `speed`, rounded up.
Ticks time_at(std::int64_t remaining, std::int64_t speed);

struct ElasticPlan {
    std::vector<std::int64_t> sizes{};  // from now on, in the order of the works; 0: waits
    Ticks wake = no_end;                // when somebody is to start, if nothing else happens
};

class ElasticPlanner {
  public:
    ElasticPlanner(std::int64_t devices, Ticks resize_cost)
        : devices_(devices), resize_cost_(resize_cost) {}

    // The error: not all of them can keep their deadlines, and this place of the works is the first
    // that can't.
    std::expected<ElasticPlan, std::size_t> plan(Ticks now,
                                                 const std::vector<ElasticWork>& works) const;

    // The last of the works is new. The plan is for the rest when one is refused.
    struct Admission {
        std::optional<std::size_t> refused{};
        std::expected<ElasticPlan, std::size_t> plan{};
    };
    Admission admit(Ticks now, const std::vector<ElasticWork>& works) const;

  private:
    struct Slot {
        std::size_t work = 0;
        std::int64_t size = 0;
        Ticks start = 0;
        Ticks end = 0;
    };
    std::expected<ElasticPlan, std::size_t> plan_in_order(Ticks now,
                                                          const std::vector<ElasticWork>& works,
                                                          bool stay) const;
    std::optional<Slot> keep(Ticks now, const ElasticWork& work, const Profile& profile) const;
    std::optional<Slot> find(Ticks now, const ElasticWork& work, const Profile& profile) const;
    void shrink(ElasticPlan& plan, const std::vector<ElasticWork>& works,
                const std::vector<std::int64_t>& least) const;
    void grow(Ticks now, ElasticPlan& plan, const std::vector<ElasticWork>& works) const;

    std::int64_t devices_;
    Ticks resize_cost_;
};

}  // namespace tandem::sched
