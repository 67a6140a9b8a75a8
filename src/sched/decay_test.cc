// SPDX-License-Identifier: Apache-2.0
#include "sched/decay.h"
#include "sched/planner.h"

#include <gtest/gtest.h>

namespace tandem::sched {
namespace {

constexpr Wide unit = Wide{1} << 32;

TEST(Decay, factor_halves_with_each_half_life) {
    const Duration half_life = hours(1);
    const double one =
        static_cast<double>(fade_factor(hours(1), half_life)) / 1.8446744073709552e19;
    const double part =
        static_cast<double>(fade_factor(minutes(30), half_life)) / 1.8446744073709552e19;
    EXPECT_NEAR(one, 0.5, 1e-12);
    EXPECT_NEAR(part, 0.70710678118654752, 1e-12);
    EXPECT_EQ(fade_factor(hours(65), half_life), 0U);
    EXPECT_EQ(fade_factor(Duration{0}, half_life), ~std::uint64_t{0});
}

TEST(Decay, a_millisecond_of_a_thousandth_counts_under_a_long_half_life) {
    Use use{.milli = 1};
    use = faded(use, Instant{1}, hours(24 * 366));
    EXPECT_GT(use.amount, unit * 99 / 100);
    EXPECT_LT(use.amount, unit + unit / 1'000'000);
}

TEST(Decay, many_small_steps_lose_nothing_against_one_large) {
    const Duration half_life = hours(24 * 7);
    Use fine{.milli = 3000};
    for (std::int64_t ms = 1; ms <= 100'000; ++ms) fine = faded(fine, Instant{ms}, half_life);
    const Use coarse = faded({.milli = 3000}, Instant{100'000}, half_life);
    const Wide difference =
        fine.amount > coarse.amount ? fine.amount - coarse.amount : coarse.amount - fine.amount;
    EXPECT_LT(difference * 1'000'000, coarse.amount);
}

TEST(Decay, steady_use_comes_to_rest_at_use_times_half_life_over_ln2) {
    Use use{.milli = 80'000'000};
    use = faded(use, Instant{hours(24 * 365 * 50).ms}, hours(24 * 30));
    const Wide expected = Wide{80'000'000} * hours(24 * 30).ms * 6196328019;
    EXPECT_LT(expected - use.amount, expected / 1'000'000);
    EXPECT_EQ(parse_amount(render_amount(use.amount)), use.amount);
}

TEST(Decay, text_of_an_amount_that_is_none_is_zero) {
    EXPECT_EQ(parse_amount("12a"), 0);
    EXPECT_EQ(parse_amount(""), 0);
    EXPECT_EQ(render_amount(0), "0");
}

// A batch that was taken back leaves nothing for the next one to store.
TEST(Decay, what_a_batch_would_have_stored_is_taken_back_with_it) {
    Planner planner;
    planner.advance(Instant{1000});
    model::Pool pool;
    pool.meta.name = "default";
    planner.put_pool(pool);
    model::Queue queue;
    queue.meta.name = "team";
    queue.spec.usage_half_life = hours(1);
    planner.put_queue(queue);
    planner.forget();
    const std::size_t mark = planner.mark();
    planner.put_entry({.id = RowId{1},
                       .workload = RowId{1},
                       .node = "n1",
                       .devices = {{0, 1000}},
                       .flavor = "card",
                       .queue = "team",
                       .pool = "default"});
    EXPECT_EQ(planner.changed_memory().size(), 1U);
    planner.rollback(mark);
    EXPECT_TRUE(planner.changed_memory().empty());
}

}  // namespace
}  // namespace tandem::sched
