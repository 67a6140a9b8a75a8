// SPDX-License-Identifier: Apache-2.0
// Profile, order and backfill: the planner's view of time.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "sched/backfill.h"
#include "sched/order.h"
#include "sched/profile.h"

namespace tandem::sched {
namespace {

TEST(Profile, earliest_is_an_exact_event_time) {
    Profile profile(4);
    profile.take(0, 101, 3);
    profile.take(0, 57, 1);
    EXPECT_EQ(profile.earliest(0, 10, 1), 57);
    EXPECT_EQ(profile.earliest(0, 10, 2), 101);
    EXPECT_EQ(profile.earliest(0, no_end, 4), 101);
    EXPECT_EQ(profile.earliest(0, 10, 5), no_end);
    profile.take(150, no_end, 2);
    EXPECT_EQ(profile.earliest(0, 49, 3), 101);
    EXPECT_EQ(profile.earliest(0, 50, 3), no_end);
}

TEST(Profile, take_and_give_undo_each_other_and_agree_with_a_plain_array) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Random random(seed_from(seed));
        Profile profile(100);
        std::array<std::int64_t, 64> plain{};
        plain.fill(100);
        std::vector<std::array<std::int64_t, 3>> taken;
        for (int i = 0; i < 40; ++i) {
            const auto from = static_cast<Ticks>(random.below(60));
            const auto to =
                from + 1 +
                static_cast<Ticks>(random.below(static_cast<std::uint64_t>(64 - from - 1)));
            const auto amount = static_cast<std::int64_t>(random.below(9));
            profile.take(from, to, amount);
            taken.push_back({from, to, amount});
            for (Ticks at = from; at < to; ++at) plain[static_cast<std::size_t>(at)] -= amount;
        }
        for (Ticks at = 0; at < 64; ++at)
            EXPECT_EQ(profile.free_at(at), plain[static_cast<std::size_t>(at)]);
        for (const auto& [from, to, amount] : taken) profile.give(from, to, amount);
        EXPECT_EQ(profile.steps(), 1u);
    }
}

TEST(Backfill, passes_the_head_only_where_it_is_not_delayed) {
    Profile profile(4);
    profile.take(0, 100, 3);
    const std::vector<Waiter> line{{.amount = 3, .length = 50},
                                   {.amount = 1, .length = 101},
                                   {.amount = 1, .length = no_end},
                                   {.amount = 1, .length = 100}};
    // One is left beside the head, so who outlives its start takes that one, and nobody else
    // passes.
    EXPECT_EQ(choose_starts(profile, 0, line, 1).now, (std::vector<std::size_t>{1}));
    Profile full(4);
    full.take(0, 100, 3);
    const std::vector<Waiter> wide{{.amount = 4, .length = 50},
                                   {.amount = 1, .length = 101},
                                   {.amount = 1, .length = no_end},
                                   {.amount = 1, .length = 100}};
    const Starts starts = choose_starts(full, 0, wide, 1);
    EXPECT_EQ(starts.now, (std::vector<std::size_t>{3}));
    ASSERT_EQ(starts.promises.size(), 1u);
    EXPECT_EQ(starts.promises[0].start, 100);
}

TEST(Backfill, work_without_a_stated_end_passes_only_if_it_can_be_evicted) {
    const std::vector<Waiter> rigid{{.amount = 4, .length = 50}, {.amount = 1}};
    const std::vector<Waiter> evictable{{.amount = 4, .length = 50},
                                        {.amount = 1, .length = no_end, .preemptible = true}};
    for (const auto& [line, count] : {std::pair{rigid, 0u}, std::pair{evictable, 1u}}) {
        Profile profile(4);
        profile.take(0, 100, 3);
        EXPECT_EQ(choose_starts(profile, 0, line, 1).now.size(), count);
    }
}

TEST(Order, rigid_work_goes_by_response_ratio_so_that_long_work_overtakes_in_the_end) {
    const Standing long_work{.id = {1}, .submitted = 0, .length = 1000, .preemptible = false};
    const Standing short_work{.id = {2}, .submitted = 100, .length = 10, .preemptible = false};
    EXPECT_TRUE(Order(OrderPolicy::automatic, 110, 1)(short_work, long_work));
    const Standing fresh{.id = {3}, .submitted = 2000, .length = 10, .preemptible = false};
    EXPECT_TRUE(Order(OrderPolicy::automatic, 2005, 1)(long_work, fresh));
    EXPECT_FALSE(Order(OrderPolicy::automatic, 2005, 1).may_evict(fresh, long_work));
    EXPECT_TRUE(Order(OrderPolicy::fifo, 110, 1)(long_work, short_work));
}

TEST(Order, estimated_work_goes_by_remaining_device_time) {
    const Order order(OrderPolicy::automatic, 0, 1);
    const Standing wide{.id = {1}, .devices = 8, .length = 100};
    const Standing narrow{.id = {2}, .devices = 1, .length = 700};
    EXPECT_TRUE(order(narrow, wide));
    EXPECT_TRUE(order.may_evict(narrow, wide));
    EXPECT_FALSE(order.may_evict(wide, narrow));
    EXPECT_FALSE(order.may_evict(wide, wide));
}

TEST(Order, unknown_work_goes_by_tiers_and_equals_do_not_take_turns) {
    const Order order(OrderPolicy::automatic, 0, 1000);
    const Standing fresh{.id = {1}, .devices = 8, .attained = 0};
    const Standing runs{.id = {2}, .devices = 8, .attained = 9'999'999, .running = true};
    const Standing spent{.id = {3}, .devices = 8, .attained = 10'000'000, .running = true};
    EXPECT_TRUE(order(runs, fresh));
    EXPECT_FALSE(order.may_evict(fresh, runs));
    EXPECT_TRUE(order.may_evict(fresh, spent));
    EXPECT_EQ(tier_of(159'999'999, 1000), 1);
    EXPECT_EQ(tier_of(160'000'000, 1000), 2);
    EXPECT_EQ(tier_end(40, 1000), no_end);
}

}  // namespace
}  // namespace tandem::sched
