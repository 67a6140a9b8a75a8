// SPDX-License-Identifier: Apache-2.0
#include "sched/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/random.h"

namespace tandem::sched {
namespace {

using Left = std::vector<std::int32_t>;

struct TypicalPod {
    Ask ask{};
    double weight = 0;
};

// The measure of the paper, written from its definition.
double fragmented_by_definition(const std::vector<TypicalPod>& pods, std::int64_t cpu,
                                const Left& left) {
    double sum = 0;
    for (const TypicalPod& pod : pods) {
        double total = 0;
        double too_small = 0;
        std::int64_t fitting = 0;
        for (std::int32_t milli : left) {
            total += milli;
            too_small += milli < pod.ask.each() ? milli : 0;
            fitting += milli >= pod.ask.each() ? 1 : 0;
        }
        const bool can = pod.ask.devices > 0 && fitting >= pod.ask.count() && cpu >= pod.ask.cpu_milli;
        sum += pod.weight * (can ? too_small : total);
    }
    return sum;
}

const std::vector<MixCount>& some_counts() {
    static const std::vector<MixCount> counts{{{{4000, 1000}, {}}, 40}, {{{6000, 460}, {}}, 30},
                                              {{{32000, 8000}, {}}, 10}, {{{2000, 0}, {}}, 15},
                                              {{{1000, 200}, {}}, 5}};
    return counts;
}

Left draw_left(Random& random) {
    Left left;
    for (int i = 0; i < 8; ++i) {
        const std::int64_t kind = random.between(0, 3);
        const std::int64_t part = random.between(0, 999);
        left.push_back(static_cast<std::int32_t>(kind == 0 ? 0 : kind == 1 ? part : 1000));
    }
    return left;
}

TEST(TypicalMix, fragmented_is_what_the_definition_says) {
    const TypicalMix mix(some_counts(), {{0, 100'000}});
    std::vector<TypicalPod> pods;  // 95 of 100 are covered by the first four
    for (std::size_t i = 0; i < 4; ++i)
        pods.push_back({some_counts()[i].shape.ask, static_cast<double>(some_counts()[i].count) / 95});
    Random random(seed_from(1));
    for (int i = 0; i < 500; ++i) {
        const std::int64_t cpu = random.between(0, 64'000);
        const Left left = draw_left(random);
        const double got = static_cast<double>(mix.of(0).fragmented(cpu, left)) / mix_one;
        EXPECT_NEAR(got, fragmented_by_definition(pods, cpu, left), 1e-4);
    }
}

TEST(TypicalMix, price_is_insisted_demand_over_share_of_capacity) {
    const std::vector<MixCount> counts{{{{0, 1000}, {1}}, 10}, {{{0, 1000}, {}}, 30},
                                       {{{0, 1000}, {0, 1}}, 40}};
    const TypicalMix mix(counts, {{0, 30'000}, {1, 10'000}});
    // Of 80: 10 insist on 1; 40 take either, a quarter of it counts for 1. 1 has a quarter.
    EXPECT_NEAR(static_cast<double>(mix.of(1).price()) / mix_one, (20.0 / 80) / 0.25, 1e-6);
    EXPECT_NEAR(static_cast<double>(mix.of(0).price()) / mix_one, (30.0 / 80) / 0.75, 1e-6);
    EXPECT_EQ(mix.of(7).price(), 0);
}

TEST(Policy, fgd_score_is_the_published_integer) {
    const TypicalMix mix(some_counts(), {{0, 100'000}});
    const FlavorMix& flavor = mix.of(0);
    Random random(seed_from(2));
    std::set<std::int64_t> seen;
    for (int i = 0; i < 2000; ++i) {
        const std::int64_t cpu = random.between(4000, 64'000);
        const Left left = draw_left(random);
        const NodeRoom room{.cpu_left = cpu, .left = left};
        const Ask ask{random.between(0, 4000), random.between(1, 3) * 1000};
        if (!has_room(room, ask)) continue;
        Left after = left;
        std::int64_t wanted = ask.count();
        for (std::int32_t& milli : after) {
            if (milli == 1000 && wanted-- > 0) milli = 0;
        }
        const double gain = static_cast<double>(flavor.fragmented(cpu, left) -
                                                flavor.fragmented(cpu - ask.cpu_milli, after)) /
                            mix_one / 1000;
        const auto published = static_cast<std::int64_t>(100.0 / (1.0 + std::exp(-gain)));
        EXPECT_EQ(fgd_score(room, ask, flavor).score, published) << gain;
        seen.insert(published);
    }
    EXPECT_GT(seen.size(), 20u);
}

TEST(Policy, a_share_goes_to_the_device_of_the_best_score_that_may_be_used) {
    const TypicalMix mix({{{{0, 500}, {}}, 1}}, {{0, 4000}});
    const Left left{1000, 500};
    const NodeRoom room{.cpu_left = 1000, .left = left};
    EXPECT_EQ(fgd_score(room, {0, 500}, mix.of(0)).device, 0);  // both leave 0: the first
    const std::array<bool, 2> second_only{false, true};
    EXPECT_EQ(tandem_score(room, {0, 500}, mix.of(0), second_only).device, 1);
    // 300 on the half device makes the rest useless, on the whole one it doesn't.
    EXPECT_EQ(tandem_score(room, {0, 300}, mix.of(0)).device, 0);
}

TEST(Policy, published_scores_of_small_nodes) {
    const Left mixed{1000, 460, 0, 1000};
    const NodeRoom room{.cpu_left = 64'000, .left = mixed, .kinds = {1, 0, 0, 0, 0, 0}};
    const Ask share{6000, 460};
    // 100 - 50 * (58000 + 16 * 2000) / 128000 = 64.8
    EXPECT_EQ(bestfit_score(room, share), 64);
    // 100 * (1 - (0.5 * 0.046875 + 0.3075 * 0.0575) / 2) = 97.9
    EXPECT_EQ(dotprod_score(room, share), 97);
    EXPECT_EQ(packing_score(room, share), 96);           // 46 % left on the device it takes
    EXPECT_EQ(packing_score(room, {1000, 2000}), 48);    // two free devices of a used node
    EXPECT_EQ(packing_score(room, {1000, 0}), 0);
    EXPECT_EQ(clustering_score(room, share), 17 + 75);   // shares alone are there
    EXPECT_EQ(clustering_score(room, {1000, 1000}), 17);
    const Left empty(4, 1000);
    const NodeRoom free{.cpu_left = 64'000, .left = empty};
    EXPECT_EQ(packing_score(free, share), 29);
    EXPECT_EQ(clustering_score(free, share), 12 + 25);
    EXPECT_EQ(tightest_device(mixed, 400), 1);
}

TEST(Policy, tandem_keeps_models_that_others_insist_on) {
    const std::vector<MixCount> counts{{{{1000, 1000}, {1}}, 50}, {{{1000, 1000}, {}}, 50}};
    const TypicalMix mix(counts, {{0, 50'000}, {1, 50'000}});
    const Left left(8, 1000);
    const NodeRoom room{.cpu_left = 64'000, .left = left};
    EXPECT_GT(tandem_score(room, {1000, 1000}, mix.of(0)).score,
              tandem_score(room, {1000, 1000}, mix.of(1)).score);
}

TEST(Policy, tandem_sees_that_cpu_ends_before_devices) {
    // Devices that can't all be used for want of CPU are the place for work that needs no CPU.
    const TypicalMix mix({{{{8000, 1000}, {}}, 1}}, {{0, 16'000}});
    const Left left(8, 1000);
    const NodeRoom rich{.cpu_left = 64'000, .left = left};
    const NodeRoom poor{.cpu_left = 16'000, .left = left};
    EXPECT_GT(tandem_score(poor, {0, 1000}, mix.of(0)).score,
              tandem_score(rich, {0, 1000}, mix.of(0)).score);
}

}  // namespace
}  // namespace tandem::sched
