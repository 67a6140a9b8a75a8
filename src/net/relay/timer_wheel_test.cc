// SPDX-License-Identifier: Apache-2.0
#include "net/relay/timer_wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tandem::relay {
namespace {

TEST(TimerWheel, fires_never_early_and_at_most_a_slot_late) {
    TimerWheel wheel(1000);
    for (std::int64_t delay : {0, 1, 7, 8, 9, 100, 8191, 8192, 8200, 30'000, 100'000}) {
        std::int64_t now = 1000;
        TimerWheel own(now);
        std::int64_t fired = -1;
        Timer timer([&] { fired = now; });
        own.arm(timer, now + delay);
        for (; fired < 0 && now < 200'000; ++now) own.advance(now);
        EXPECT_GE(fired, 1000 + delay);
        EXPECT_LE(fired, 1000 + delay + 8);
    }
}

TEST(TimerWheel, pushed_out_and_cancelled_timers_obey) {
    TimerWheel wheel(0);
    int fired = 0;
    Timer pushed([&] { ++fired; });
    Timer cancelled([&] { fired += 100; });
    wheel.arm(pushed, 50);
    wheel.arm(cancelled, 50);
    wheel.arm(pushed, 500);
    cancelled.cancel();
    EXPECT_FALSE(cancelled.armed());
    wheel.advance(400);
    EXPECT_EQ(fired, 0);
    wheel.arm(cancelled, 600);
    wheel.advance(520);
    EXPECT_EQ(fired, 1);
    cancelled.cancel();
    wheel.advance(5000);
    EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, pulled_in_timer_fires_at_the_earlier_time) {
    TimerWheel wheel(0);
    int fired = 0;
    Timer timer([&] { ++fired; });
    wheel.arm(timer, 5000);
    wheel.arm(timer, 20);
    wheel.advance(40);
    EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, action_may_destroy_and_rearm) {
    TimerWheel wheel(0);
    std::unique_ptr<Timer> self;
    self = std::make_unique<Timer>([&] { self.reset(); });
    wheel.arm(*self, 10);
    int count = 0;
    Timer next([&] {
        if (++count < 3) wheel.arm(next, count * 100);
    });
    wheel.arm(next, 10);
    for (std::int64_t now = 0; now < 1000; now += 5) wheel.advance(now);
    EXPECT_EQ(self, nullptr);
    EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace tandem::relay
