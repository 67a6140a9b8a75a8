// SPDX-License-Identifier: Apache-2.0
#include "sched/elastic.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/wide.h"

namespace tandem::sched {
namespace {

const SpeedPoint* point_of(const ElasticWork& work, std::int64_t size) {
    const auto found = std::ranges::find(*work.curve, size, &SpeedPoint::size);
    return found == work.curve->end() ? nullptr : &*found;
}

// Device-time of the rest at this size.
Wide cost_at(const ElasticWork& work, const SpeedPoint& point) {
    return static_cast<Wide>(time_at(work.remaining, point.speed)) * point.size;
}

constexpr std::size_t tries_max = 30;  // of refusing somebody else than the newcomer

Wide least_cost(const ElasticWork& work) {
    Wide least = static_cast<Wide>(no_end) * no_end;
    for (const SpeedPoint& point : *work.curve) least = std::min(least, cost_at(work, point));
    return least;
}

}  // namespace

SpeedCurve useful_curve(std::vector<SpeedPoint> points, std::int64_t largest) {
    std::ranges::sort(points, {}, &SpeedPoint::size);
    SpeedCurve curve;
    for (const SpeedPoint& point : points) {
        if (point.speed <= 0 || point.size <= 0 || point.size > largest) continue;
        if (curve.empty() || point.speed > curve.back().speed) curve.push_back(point);
    }
    return curve;
}

Ticks time_at(std::int64_t remaining, std::int64_t speed) {
    const Wide ticks = (static_cast<Wide>(remaining) * 1000 + speed - 1) / speed;
    return ticks < no_end / 4 ? static_cast<Ticks>(ticks) : no_end / 4;
}

// The cheapest size for somebody who runs that ends in time; a size other than its own costs a
// resize.
std::optional<ElasticPlanner::Slot> ElasticPlanner::keep(Ticks now, const ElasticWork& work,
                                                         const Profile& profile) const {
    std::optional<Slot> best;
    Wide best_cost = 0;
    for (const SpeedPoint& point : *work.curve) {
        const bool same = point.size == work.size;
        const Ticks from = same ? std::max(now, work.still_until) : now + resize_cost_;
        const Ticks end = from + time_at(work.remaining, point.speed);
        const Wide cost = static_cast<Wide>(end - now) * point.size;
        if (end > work.deadline || (best && cost >= best_cost)) continue;
        if (!profile.fits(now, end, point.size)) continue;
        best = Slot{.size = point.size, .start = now, .end = end};
        best_cost = cost;
    }
    return best;
}

std::optional<ElasticPlanner::Slot> ElasticPlanner::find(Ticks now, const ElasticWork& work,
                                                         const Profile& profile) const {
    const Ticks restart = work.started ? resize_cost_ : 0;
    std::vector<const SpeedPoint*> order;
    for (const SpeedPoint& point : *work.curve) order.push_back(&point);
    std::ranges::sort(order, [&](const SpeedPoint* a, const SpeedPoint* b) {
        return std::pair(cost_at(work, *a), a->size) < std::pair(cost_at(work, *b), b->size);
    });
    for (const SpeedPoint* point : order) {
        const Ticks length = restart + time_at(work.remaining, point->speed);
        if (now + length > work.deadline) continue;
        const Ticks start = profile.earliest(now, length, point->size);
        if (start == no_end || start + length > work.deadline) continue;
        return Slot{.size = point->size, .start = start, .end = start + length};
    }
    return std::nullopt;
}

std::expected<ElasticPlan, std::size_t> ElasticPlanner::plan(
    Ticks now, const std::vector<ElasticWork>& works) const {
    auto kept = plan_in_order(now, works, true);
    return kept ? std::move(kept) : plan_in_order(now, works, false);
}

ElasticPlanner::Admission ElasticPlanner::admit(Ticks now,
                                                const std::vector<ElasticWork>& works) const {
    auto all = plan(now, works);
    if (all) return {.plan = std::move(all)};
    std::vector<std::pair<Wide, std::size_t>> dearer;  // dearest first
    const Wide own = least_cost(works.back());
    for (std::size_t i = 0; i + 1 < works.size(); ++i) {
        if (const Wide cost = least_cost(works[i]); cost > own) dearer.emplace_back(-cost, i);
    }
    std::ranges::sort(dearer);
    for (std::size_t tried = 0; tried < std::min(tries_max, dearer.size()); ++tried) {
        const std::size_t other = dearer[tried].second;
        std::vector<ElasticWork> rest = works;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(other));
        auto without = plan(now, rest);
        if (without) return {.refused = other, .plan = std::move(without)};
    }
    return {.refused = works.size() - 1, .plan = plan(now, {works.begin(), works.end() - 1})};
}

// Everybody by deadline; with `stay`, those who run before all others.
std::expected<ElasticPlan, std::size_t> ElasticPlanner::plan_in_order(
    Ticks now, const std::vector<ElasticWork>& works, bool stay) const {
    ElasticPlan plan;
    plan.sizes.assign(works.size(), 0);
    std::vector<std::int64_t> least(works.size(), 0);
    std::vector<std::size_t> order(works.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) {
        return std::tuple(stay && works[i].size == 0, works[i].deadline, works[i].id);
    });
    Profile profile(devices_);
    for (std::size_t i : order) {
        std::optional<Slot> slot = works[i].size == 0 ? std::nullopt : keep(now, works[i], profile);
        if (!slot && (works[i].size == 0 || !stay)) slot = find(now, works[i], profile);
        if (!slot) return std::unexpected(i);
        profile.take(slot->start, slot->end, slot->size);
        if (slot->start > now) {
            plan.wake = std::min(plan.wake, slot->start);
            continue;
        }
        least[i] = slot->size;
        plan.sizes[i] = works[i].size == 0 ? slot->size : works[i].size;
    }
    shrink(plan, works, least);
    grow(now, plan, works);
    return plan;
}

// Those who have most beyond what they need give first, until what is to run has room.
void ElasticPlanner::shrink(ElasticPlan& plan, const std::vector<ElasticWork>& works,
                            const std::vector<std::int64_t>& least) const {
    std::int64_t used = std::accumulate(plan.sizes.begin(), plan.sizes.end(), std::int64_t{0});
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < works.size(); ++i) {
        if (plan.sizes[i] > least[i]) order.push_back(i);
        // A size that no longer keeps the deadline is left, whatever that takes.
        if (plan.sizes[i] >= least[i]) continue;
        used += least[i] - plan.sizes[i];
        plan.sizes[i] = least[i];
    }
    std::ranges::sort(
        order, {}, [&](std::size_t i) { return std::pair(least[i] - plan.sizes[i], works[i].id); });
    for (std::size_t i : order) {
        if (used <= devices_) return;
        used -= plan.sizes[i] - least[i];
        plan.sizes[i] = least[i];
    }
}

void ElasticPlanner::grow(Ticks now, ElasticPlan& plan,
                          const std::vector<ElasticWork>& works) const {
    std::int64_t idle = devices_;
    for (std::int64_t size : plan.sizes) idle -= size;
    while (idle > 0) {
        std::size_t best = works.size();
        const SpeedPoint* best_to = nullptr;
        Wide best_gain = 0;
        Wide best_price = 1;
        for (std::size_t i = 0; i < works.size(); ++i) {
            const ElasticWork& work = works[i];
            if (plan.sizes[i] == 0 || (work.size != 0 && work.still_until > now)) continue;
            const SpeedPoint* from = point_of(work, plan.sizes[i]);
            const bool fresh =
                plan.sizes[i] != work.size;  // starts or changes at this moment anyway
            const Ticks before = time_at(work.remaining, from->speed);
            if (!fresh && now + before + 2 * resize_cost_ > work.deadline) continue;
            for (const SpeedPoint& to : *work.curve) {
                if (to.size <= from->size || to.size - from->size > idle) continue;
                const Ticks after = time_at(work.remaining, to.speed) + (fresh ? 0 : resize_cost_);
                if (after + 3 * resize_cost_ > before) continue;
                const Wide gain = static_cast<Wide>(before - after) * 1'000'000 / before;
                const Wide price = to.size - from->size;
                if (best_to && gain * best_price <= best_gain * price) continue;
                best = i;
                best_to = &to;
                best_gain = gain;
                best_price = price;
            }
        }
        if (best_to == nullptr) return;
        idle -= best_to->size - plan.sizes[best];
        plan.sizes[best] = best_to->size;
    }
}

}  // namespace tandem::sched
