// SPDX-License-Identifier: Apache-2.0
#include "server/core_clock.h"

#include <gtest/gtest.h>

namespace tandem::server {
namespace {

class CoreClockTest : public ::testing::Test {
  protected:
    CoreClock make(Instant high_water = {}) {
        return CoreClock(high_water, {.wall = [this] { return wall; },
                                      .monotonic = [this] { return monotonic; }});
    }
    void pass(std::int64_t ms) {
        wall += ms;
        monotonic += ms;
    }
    std::int64_t wall = 1'000'000;
    std::int64_t monotonic = 50;
};

TEST_F(CoreClockTest, wall_clock_that_is_set_is_told_once_and_followed_slowly) {
    CoreClock clock = make();
    pass(500);
    EXPECT_EQ(clock.now().ms, 1'000'500);
    EXPECT_FALSE(clock.take_jump());
    wall += 60'000;
    pass(1'600);
    EXPECT_EQ(clock.now().ms, 1'002'100 + 100);
    EXPECT_EQ(clock.take_jump(), Duration{60'000});
    EXPECT_FALSE(clock.take_jump());
    pass(1'600);
    EXPECT_EQ(clock.now().ms, 1'003'700 + 200);
    EXPECT_FALSE(clock.take_jump());
}

TEST_F(CoreClockTest, wall_clock_set_back_never_takes_time_back) {
    CoreClock clock = make();
    const Instant before = clock.now();
    wall -= 3'600'000;
    pass(160);
    EXPECT_EQ(clock.now() - before, Duration{150});
    EXPECT_EQ(clock.take_jump(), Duration{-3'600'000});
}

TEST_F(CoreClockTest, small_corrections_are_no_jump) {
    CoreClock clock = make();
    wall += 900;
    pass(1'000);
    clock.now();
    EXPECT_FALSE(clock.take_jump());
}

TEST_F(CoreClockTest, start_before_the_high_water_mark_is_a_jump) {
    CoreClock clock = make(Instant{1'030'000});
    EXPECT_EQ(clock.take_jump(), Duration{-30'000});
    EXPECT_EQ(clock.now().ms, 1'030'000);
}

}  // namespace
}  // namespace tandem::server
