// SPDX-License-Identifier: Apache-2.0
#include "traffic/relay_state.h"

#include <gtest/gtest.h>

namespace tandem::traffic {
namespace {

TEST(RelayState, retry_ends_with_the_attempts_and_with_the_first_content) {
    RelayState state(2);
    state.attempt();
    EXPECT_TRUE(state.may_retry());
    state.answered();
    EXPECT_TRUE(state.may_retry()) << "an answer without content can still be replaced";
    state.retry();
    state.attempt();
    EXPECT_FALSE(state.may_retry()) << "that was the last attempt";
    RelayState other(3);
    other.attempt();
    other.answered();
    other.commit();
    EXPECT_FALSE(other.may_retry());
    other.complete();
    EXPECT_TRUE(other.over());
}

TEST(RelayStateDeathTest, steps_out_of_order_are_programmers_errors) {
    RelayState state(1);
    EXPECT_DEATH(state.commit(), "content follows an answer");
    EXPECT_DEATH(state.complete(), "only what was committed completes");
}

}  // namespace
}  // namespace tandem::traffic
