// SPDX-License-Identifier: Apache-2.0
#include "sim/time/paper_policies.h"

#include <algorithm>
#include <array>
#include <compare>
#include <iterator>

#include "sim/time/play.h"

namespace tandem::sim {
namespace {

constexpr std::array<Micros, 2> tier_limits{3'250'000'000, 7'200'000'000};  // device-time
constexpr int last_tier = 2;

constexpr auto nothing = [](Trainee*) {};

// Stable sort of a list of which only those that run or came last may be out of place.
void reorder(std::vector<Trainee*>& active, std::size_t old, bool times_devices) {
    struct Keyed {
        Micros key;
        std::size_t place;
        Trainee* trainee;
        auto operator<=>(const Keyed&) const = default;
    };
    std::vector<Keyed> moved;
    std::vector<Keyed> still;
    for (std::size_t i = 0; i < active.size(); ++i) {
        Trainee* trainee = active[i];
        const Micros key = trainee->remaining * (times_devices ? trainee->job->devices : 1);
        (trainee->running || i >= old ? moved : still).push_back({key, i, trainee});
    }
    std::ranges::sort(moved);
    std::vector<Keyed> merged(active.size());
    std::ranges::merge(moved, still, merged.begin());
    std::ranges::transform(merged, active.begin(), &Keyed::trainee);
}

}  // namespace

TrainingReport play_fifo(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster) {
    Play play(jobs);
    FirstFit devices(cluster);
    while (true) {
        const Micros at = std::min(play.next_arrival(), play.next_end());
        if (at == never) break;
        play.go_to(at, nothing, nothing);
        devices.clear();
        for (Trainee* trainee : play.active) {
            if (!devices.take(trainee->job->devices)) break;
            play.run(*trainee);
        }
    }
    return play.finish();
}

TrainingReport play_shortest(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster,
                             bool times_devices) {
    Play play(jobs);
    FirstFit devices(cluster);
    while (true) {
        const Micros at = std::min(play.next_arrival(), play.next_end());
        if (at == never) break;
        std::size_t came = 0;
        play.go_to(at, nothing, [&](Trainee*) { came += 1; });
        reorder(play.active, play.active.size() - came, times_devices);
        devices.clear();
        for (Trainee* trainee : play.active) {
            if (devices.left() > 0 && devices.take(trainee->job->devices))
                play.run(*trainee);
            else
                play.evict(*trainee);
        }
    }
    return play.finish();
}

namespace {

using Tiers = std::array<std::vector<Trainee*>, last_tier + 1>;

void demote(Trainee& trainee, Tiers& tiers) {
    if (!trainee.running || trainee.tier == last_tier) return;
    const auto tier = static_cast<std::size_t>(trainee.tier);
    if (trainee.executed * trainee.job->devices < tier_limits[tier]) return;
    std::erase(tiers[tier], &trainee);
    tiers[tier + 1].push_back(&trainee);
    trainee.tier += 1;
}

void put_running_first(std::vector<Trainee*>& tier) {
    std::vector<Trainee*> order;
    std::ranges::copy_if(tier, std::back_inserter(order), &Trainee::running);
    std::ranges::remove_copy_if(tier, std::back_inserter(order), &Trainee::running);
    tier = std::move(order);
}

// The published code rounds the limit up to whole seconds of running.
Micros next_demotion(const std::vector<Trainee*>& active, Micros now) {
    Micros first = never;
    for (const Trainee* trainee : active) {
        if (!trainee->running || trainee->tier == last_tier) continue;
        const Micros seconds_limit =
            tier_limits[static_cast<std::size_t>(trainee->tier)] / 1'000'000;
        const Micros devices = trainee->job->devices;
        const Micros limit = (seconds_limit + devices - 1) / devices * 1'000'000;
        first = std::min(first, limit - trainee->executed + now);
    }
    return first;
}

}  // namespace

TrainingReport play_tiresias(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster) {
    Play play(jobs);
    Tiers tiers;
    while (true) {
        const Micros at =
            std::min({play.next_arrival(), play.next_end(), next_demotion(play.active, play.now)});
        if (at == never) break;
        play.go_to(
            at,
            [&](Trainee* trainee) {
                std::erase(tiers[static_cast<std::size_t>(trainee->tier)], trainee);
            },
            [&](Trainee* trainee) { tiers[0].push_back(trainee); });
        for (Trainee* trainee : play.active) demote(*trainee, tiers);
        std::int64_t left = cluster.total();
        for (std::vector<Trainee*>& tier : tiers) {
            for (Trainee* trainee : tier) {
                if (trainee->job->devices > left) {
                    play.evict(*trainee);
                    continue;
                }
                play.run(*trainee);
                left -= trainee->job->devices;
            }
            put_running_first(tier);
        }
    }
    return play.finish();
}

}  // namespace tandem::sim
