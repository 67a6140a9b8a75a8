// SPDX-License-Identifier: Apache-2.0
#include "api/errands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>

namespace tandem::api {
namespace {

void wait_for_stop(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait(lock, stop, [] { return false; });
}

TEST(errands, run_beside_each_other_up_to_a_limit_and_end_with_their_owner) {
    std::atomic<int> ended = 0;
    std::latch begun(static_cast<std::ptrdiff_t>(Errands::running_max));
    {
        Errands errands;
        for (std::size_t i = 0; i < Errands::running_max; ++i)
            ASSERT_TRUE(errands.start([&](const std::stop_token& stop) {
                begun.count_down();
                wait_for_stop(stop);
                ++ended;
            }));
        begun.wait();
        const Status more = errands.start([](const std::stop_token&) { FAIL() << "must not run"; });
        ASSERT_FALSE(more);
        EXPECT_EQ(more.error().code, ErrorCode::unavailable);
    }
    EXPECT_EQ(ended, static_cast<int>(Errands::running_max));
}

TEST(errands, done_ones_make_room) {
    Errands errands;
    for (int round = 0; round < 40; ++round) {
        std::latch done(1);
        // The one before has said its last word, but may not have left yet: a few may overlap.
        while (!errands.start([&](const std::stop_token&) { done.count_down(); })) std::this_thread::yield();
        done.wait();
    }
}

}  // namespace
}  // namespace tandem::api
