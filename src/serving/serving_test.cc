// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/random.h"
#include "serving/rollout.h"
#include "serving/scale.h"

namespace tandem::serving {
namespace {

using model::ReasonCode;
using model::ServiceScale;

constexpr ServiceScale scale{.min = 0, .max = 3, .concurrency = 2, .idle_timeout = seconds(60)};
Instant at(std::int64_t s) {
    return Instant{s * 1000};
}

TEST(Scale, start_without_a_request_is_not_called_waking) {
    const auto decision = decide_scale({.min = 1, .max = 3}, {.load = {}, .desired = 0}, at(5));
    EXPECT_EQ(decision.desired, 1);
    EXPECT_EQ(decision.reason.code, ReasonCode::scaling);
}

TEST(Scale, first_waiting_request_wakes_at_once) {
    const auto decision = decide_scale(scale, {.load = {.waiting = 1}, .desired = 0}, at(5));
    EXPECT_EQ(decision.desired, 1);
    EXPECT_EQ(decision.reason.code, ReasonCode::woken);
}

TEST(Scale, more_in_flight_than_replicas_take_asks_for_more_up_to_max) {
    EXPECT_EQ(
        decide_scale(scale, {.load = {.in_flight = 2, .ready = 1}, .desired = 1}, at(5)).desired,
        1);
    const auto two = decide_scale(
        scale, {.load = {.waiting = 1, .in_flight = 2, .ready = 1}, .desired = 1}, at(5));
    EXPECT_EQ(two.desired, 2);
    EXPECT_EQ(two.reason.code, ReasonCode::scaling);
    EXPECT_EQ(decide_scale(
                  scale, {.load = {.waiting = 90, .in_flight = 2, .ready = 1}, .desired = 1}, at(5))
                  .desired,
              3);
}

TEST(Scale, falls_only_after_the_window_and_to_its_peak) {
    ScaleFacts facts{.load = {.in_flight = 1, .ready = 3}, .desired = 3, .last_request = at(100)};
    auto decision = decide_scale(scale, facts, at(100));
    EXPECT_EQ(decision.desired, 3);
    ASSERT_TRUE(decision.next_look_at);
    EXPECT_EQ(*decision.next_look_at, at(130));
    facts.memory = decision.memory;
    facts.load.in_flight = 3;  // a peak of two in the window
    facts.memory = decide_scale(scale, facts, at(110)).memory;
    facts.load.in_flight = 1;
    decision = decide_scale(scale, facts, at(130));
    EXPECT_EQ(decision.desired, 2);
}

TEST(Scale, last_replica_sleeps_after_idle_time_without_a_request) {
    ScaleFacts facts{.load = {.ready = 1}, .desired = 1, .last_request = at(100)};
    auto decision = decide_scale(scale, facts, at(120));
    EXPECT_EQ(decision.desired, 1);
    EXPECT_EQ(decision.next_look_at, std::optional(at(160)));
    facts.memory = decision.memory;
    decision = decide_scale(scale, facts, at(159));
    EXPECT_EQ(decision.desired, 1);
    decision = decide_scale(scale, facts, at(160));
    EXPECT_EQ(decision.desired, 0);
    EXPECT_EQ(decision.reason.code, ReasonCode::asleep_idle);
    facts.load.in_flight = 1;  // a long request keeps it, however old
    EXPECT_EQ(decide_scale(scale, facts, at(900)).desired, 1);
}

TEST(Scale, min_and_max_hold_and_edits_take_effect_at_once) {
    const ServiceScale two{.min = 2, .max = 4, .concurrency = 2, .idle_timeout = seconds(60)};
    EXPECT_EQ(decide_scale(two, {.desired = 0}, at(1)).desired, 2);
    EXPECT_EQ(decide_scale(two, {.desired = 9}, at(1)).desired, 4);
    EXPECT_EQ(decide_scale(two, {.load = {.ready = 2}, .desired = 2}, at(9999)).desired, 2);
    EXPECT_FALSE(decide_scale(two, {.load = {.ready = 2}, .desired = 2}, at(9999)).next_look_at);
}

// Left alone at the instants it asks for, any service comes to rest at min; and it never leaves
// [min, max].
TEST(Scale, idle_service_comes_to_rest_at_min) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed_from(seed));
        ServiceScale limits{.concurrency = random.between(1, 4),
                            .idle_timeout = seconds(random.between(1, 90))};
        limits.min = random.between(0, 2);
        limits.max = limits.min + random.between(1, 5);
        ScaleFacts facts{.desired = random.between(0, 9), .last_request = at(50)};
        Instant now = at(100);
        for (int i = 0; i < 20; ++i) {
            facts.load.waiting = random.between(0, 5);
            facts.load.in_flight = random.between(0, 9);
            const auto decision = decide_scale(limits, facts, now);
            EXPECT_GE(decision.desired, limits.min);
            EXPECT_LE(decision.desired, limits.max);
            facts.desired = decision.desired;
            facts.memory = decision.memory;
            facts.last_request = now;
            now = now + milliseconds(random.between(1, 40'000));
        }
        facts.load = {};
        for (int looks = 0; facts.desired != limits.min; ++looks) {
            ASSERT_LT(looks, 10) << "seed " << seed;
            const auto decision = decide_scale(limits, facts, now);
            facts.desired = decision.desired;
            facts.memory = decision.memory;
            if (facts.desired == limits.min) break;
            ASSERT_TRUE(decision.next_look_at) << "seed " << seed << ": nothing would wake it";
            now = std::max(now + milliseconds(1), *decision.next_look_at);
        }
    }
}

TEST(ChooseReplica, least_loaded_with_room_and_turns_among_equals) {
    const ReplicaLoad loads[] = {
        {.in_flight = 2, .limit = 4}, {.in_flight = 1, .limit = 4}, {.in_flight = 1, .limit = 4}};
    EXPECT_EQ(choose_replica(loads, 0), std::optional<std::size_t>(1));
    EXPECT_EQ(choose_replica(loads, 2), std::optional<std::size_t>(2));
    const ReplicaLoad shares[] = {{.in_flight = 2, .limit = 8}, {.in_flight = 1, .limit = 2}};
    EXPECT_EQ(choose_replica(shares, 1), std::optional<std::size_t>(0));
    const ReplicaLoad full[] = {{.in_flight = 4, .limit = 4},
                                {.in_flight = 0, .limit = 4, .draining = true}};
    EXPECT_FALSE(choose_replica(full, 7));
    EXPECT_FALSE(choose_replica({}, 7));
}

// Plays a rollout: each step is done, new replicas become ready in turn. Returns the order of
// steps.
TEST(Rollout, replaces_one_by_one_and_never_serves_with_less) {
    RolloutFacts facts{.desired = 2, .ready_timeout = seconds(10), .from = "m.v1", .to = "m.v2"};
    facts.replicas = {{.id = RowId{1}, .ready = true}, {.id = RowId{2}, .ready = true}};
    std::int64_t next = 3;
    std::vector<RowId> drained;
    for (int i = 0; i < 20; ++i) {
        std::int64_t ready = 0;
        for (const auto& replica : facts.replicas)
            ready += replica.ready && !replica.draining ? 1 : 0;
        EXPECT_GE(ready, 2);
        EXPECT_LE(facts.replicas.size(), 3U);
        const RolloutDecision decision = decide_rollout(facts, at(i));
        if (decision.step == RolloutStep::done) break;
        if (decision.step == RolloutStep::start_new) {
            facts.replicas.push_back({.id = RowId{next++}, .is_new = true, .started = at(i)});
        } else if (decision.step == RolloutStep::wait) {
            EXPECT_EQ(decision.next_look_at,
                      std::optional(*facts.replicas.back().started + seconds(10)));
            facts.replicas.back().ready = true;
        } else {
            ASSERT_EQ(decision.step, RolloutStep::drain_old);
            drained.push_back(decision.replica);
            std::erase_if(facts.replicas, [&](const RolloutReplica& replica) {
                return replica.id == decision.replica;
            });
        }
    }
    EXPECT_EQ(drained, (std::vector<RowId>{RowId{1}, RowId{2}}));
    EXPECT_EQ(decide_rollout(facts, at(30)).step, RolloutStep::done);
}

TEST(Rollout, new_version_not_ready_in_time_goes_back) {
    RolloutFacts facts{.desired = 1, .ready_timeout = seconds(10), .to = "m.v2"};
    facts.replicas = {{.id = RowId{1}, .ready = true},
                      {.id = RowId{2}, .is_new = true, .started = at(5)}};
    EXPECT_EQ(decide_rollout(facts, at(14)).step, RolloutStep::wait);
    const RolloutDecision decision = decide_rollout(facts, at(15));
    EXPECT_EQ(decision.step, RolloutStep::give_up);
    EXPECT_EQ(decision.replica, RowId{2});
    EXPECT_EQ(decision.reason.code, ReasonCode::not_ready_in_time);
    facts.replicas.pop_back();
    facts.starts_failed = 3;
    EXPECT_EQ(decide_rollout(facts, at(15)).step, RolloutStep::give_up);
}

TEST(Rollout, waits_for_capacity_without_a_deadline_and_ends_at_once_when_asleep) {
    RolloutFacts facts{.desired = 1, .ready_timeout = seconds(10)};
    facts.replicas = {{.id = RowId{1}, .ready = true}, {.id = RowId{2}, .is_new = true}};
    EXPECT_EQ(decide_rollout(facts, at(9999)).step, RolloutStep::wait);
    EXPECT_FALSE(decide_rollout(facts, at(9999)).next_look_at);
    facts = {.desired = 0};
    EXPECT_EQ(decide_rollout(facts, at(1)).step, RolloutStep::done);
    facts.replicas = {{.id = RowId{1}, .ready = true}};
    EXPECT_EQ(decide_rollout(facts, at(1)).step, RolloutStep::drain_old);
}

}  // namespace
}  // namespace tandem::serving
