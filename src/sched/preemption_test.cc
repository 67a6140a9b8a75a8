// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/planner.h"
#include "sched/test_world.h"

namespace tandem::sched {
namespace {

using model::ReasonCode;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

model::FlavorQuota quota(std::int64_t nominal) {
    return {.flavor = "h200", .nominal = nominal * 1000};
}

std::vector<std::int64_t> victims(const Plan& plan) {
    std::vector<std::int64_t> ids;
    for (const Placement& placement : plan.placements) {
        for (const Eviction& eviction : placement.evictions) ids.push_back(eviction.workload.value);
    }
    return ids;
}
std::vector<std::int64_t> placed(const Plan& plan) {
    std::vector<std::int64_t> ids;
    for (const Placement& placement : plan.placements) ids.push_back(placement.workload.value);
    return ids;
}

TEST(Preemption, higher_priority_takes_the_cheapest_lower_one_by_a_claim) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 2);
    world.submit({.id = 1, .priority = 1});
    world.plan();
    world.submit({.id = 2, .priority = 1});
    world.plan();
    world.submit({.id = 3, .priority = 2});
    const Plan plan = world.plan();
    EXPECT_THAT(placed(plan), ElementsAre(3));
    EXPECT_THAT(victims(plan), ElementsAre(2));  // started later: less is lost
    EXPECT_EQ(plan.placements[0].evictions[0].why, ReasonCode::preempted);
    const RowId claim{world.replicas_of(3)[0]};
    EXPECT_EQ(world.planner.find_entry(claim)->kind, EntryKind::claim);
    EXPECT_FALSE(world.planner.claim_is_free(claim));
    EXPECT_EQ(world.why(3), ReasonCode::waiting_for_victims);
    EXPECT_THAT(world.plan().placements, IsEmpty());
    world.settle();
    EXPECT_EQ(world.planner.find_entry(claim)->kind, EntryKind::allocation);
    EXPECT_THAT(world.plan().placements,
                IsEmpty());  // the victim waits, nobody goes round in circles
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Preemption, equal_priority_and_not_preemptible_stay) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 2);
    world.submit({.id = 1, .priority = 5});
    world.submit({.id = 2, .priority = 1, .preemptible = false});
    world.plan();
    world.submit({.id = 3, .priority = 5});
    EXPECT_THAT(world.plan().placements, IsEmpty());
    EXPECT_EQ(world.why(3), ReasonCode::no_capacity);
}

// 4 nodes of 8; 6 of each are held by high priority: an 8-device job can't be helped and harms
// nobody.
TEST(Preemption, nobody_leaves_unless_the_whole_placement_is_proved) {
    World world;
    world.pool("default");
    world.queue("team");
    for (int n = 0; n < 4; ++n) world.node("n" + std::to_string(n), 8);
    std::int64_t id = 1;
    for (int n = 0; n < 4; ++n) {
        world.submit({.id = id++, .devices = 6000, .priority = 9});
        world.plan();
        for (int k = 0; k < 2; ++k) {
            world.submit({.id = id++, .priority = 1});
            world.plan();
        }
    }
    world.submit({.id = 100, .devices = 8000, .priority = 5});
    EXPECT_THAT(world.plan().placements, IsEmpty());
    world.submit({.id = 101, .devices = 1000, .priority = 5});
    const Plan plan = world.plan();
    EXPECT_THAT(placed(plan), ElementsAre(101));
    EXPECT_EQ(victims(plan).size(), 1U);
}

TEST(Preemption, victims_are_no_more_than_needed_and_whole_gangs) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.node("b", 4);
    world.submit({.id = 1, .count = 4});  // node a
    world.plan();
    world.submit({.id = 2, .count = 2});  // node b
    world.submit({.id = 3, .count = 2});
    world.plan();
    world.submit({.id = 4, .devices = 4000, .priority = 1});
    const Plan plan = world.plan();
    EXPECT_THAT(placed(plan), ElementsAre(4));
    ASSERT_EQ(plan.placements[0].replicas.size(), 1U);
    if (plan.placements[0].replicas[0].node == "a")
        EXPECT_THAT(victims(plan), ElementsAre(1));
    else
        EXPECT_THAT(victims(plan), UnorderedElementsAre(2, 3));
}

// Two members of two devices each: two single jobs on b, then the gang on a, which makes room for
// both.
TEST(Preemption, nobody_leaves_in_vain_where_a_gang_frees_more_than_is_needed) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.submit({.id = 1, .devices = 4000});
    world.plan();
    world.node("b", 2);
    world.submit({.id = 2});
    world.submit({.id = 3});
    world.plan();
    for (int n = 0; n < 10;
         ++n) {  // more candidates than are looked at one set by one, and of no use
        world.node("c" + std::to_string(n), 2);
        world.submit({.id = 10 + n, .preemptible = false});
        world.plan();
        world.submit({.id = 30 + n});
        world.plan();
    }
    world.submit({.id = 100, .count = 2, .devices = 2000, .priority = 1});
    EXPECT_THAT(victims(world.plan()), ElementsAre(1));
    EXPECT_EQ(world.planner.recount(), "");
}

// Cohort {A nominal 3; B nominal 0}: B borrows 1; A(4) can never be, A(3) takes back, once.
TEST(Preemption, nominal_is_reclaimed_once_and_the_too_large_head_harms_nobody) {
    World world;
    world.pool("default");
    world.queue("root");
    world.queue("a", {quota(3)}, "root");
    world.queue("b", {quota(0)}, "root");
    world.node("n", 8);
    world.submit({.id = 1, .queue = "b"});
    world.plan();
    world.submit({.id = 2, .queue = "a", .count = 4});
    world.submit({.id = 3, .queue = "a", .count = 3});
    const Plan plan = world.plan();
    EXPECT_THAT(placed(plan), ElementsAre(3));
    EXPECT_THAT(victims(plan), ElementsAre(1));
    EXPECT_EQ(plan.placements[0].evictions[0].why, ReasonCode::reclaimed);
    EXPECT_EQ(world.why(2), ReasonCode::quota_too_small);
    EXPECT_EQ(world.param(2, "queue"), "root");
    EXPECT_EQ(world.param(2, "limit"), "3");
    for (int round = 0; round < 5; ++round) {
        world.settle();
        EXPECT_THAT(world.plan().placements, IsEmpty());
    }
    EXPECT_THAT(world.running(), ElementsAre(3));
}

TEST(Preemption, work_within_its_nominal_is_never_reclaimed) {
    World world;
    world.pool("default");
    world.queue("root");
    world.queue("a", {quota(1)}, "root");
    world.queue("b", {{.flavor = "h200", .nominal = 1000, .weight = 0}}, "root");
    world.node("n", 1);
    world.submit({.id = 1, .queue = "b"});
    world.plan();
    world.submit({.id = 2, .queue = "a", .priority = 100});
    EXPECT_THAT(world.plan().placements, IsEmpty());
    EXPECT_EQ(world.why(2), ReasonCode::no_capacity);
}

TEST(Preemption, borrowers_stay_as_long_as_only_borrowing_would_be_served) {
    World world;
    world.pool("default");
    world.queue("root");
    world.queue("a", {quota(1)}, "root");
    world.queue("b", {quota(1)}, "root");
    world.node("n", 2);
    world.submit({.id = 1, .queue = "a"});
    world.submit({.id = 2, .queue = "a"});
    world.plan();
    world.submit({.id = 3, .queue = "b", .count = 2, .priority = 50});  // would borrow itself
    EXPECT_THAT(world.plan().placements, IsEmpty());
    world.submit({.id = 4, .queue = "b"});
    EXPECT_THAT(victims(world.plan()), ElementsAre(2));
}

TEST(Preemption, two_claimants_never_share_a_victim) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 3);
    for (std::int64_t id = 1; id <= 3; ++id) world.submit({.id = id});
    world.plan();
    world.submit({.id = 4, .count = 2, .priority = 1});
    world.submit({.id = 5, .count = 2, .priority = 1});
    const Plan plan = world.plan();
    EXPECT_THAT(placed(plan), ElementsAre(4));
    EXPECT_EQ(victims(plan).size(), 2U);
    EXPECT_THAT(world.plan().placements, IsEmpty());
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Preemption, freed_capacity_goes_to_the_claimant_not_to_the_next_in_line) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 1);
    world.submit({.id = 1});
    world.plan();
    world.submit({.id = 2, .priority = 5});
    world.plan();
    world.submit({.id = 3, .priority = 4});
    world.settle();
    EXPECT_THAT(world.plan().placements, IsEmpty());
    EXPECT_THAT(world.running(), ElementsAre(2));
    EXPECT_EQ(world.planner.find_entry(RowId{world.replicas_of(2)[0]})->kind,
              EntryKind::allocation);
}

TEST(Preemption, work_that_leaves_anyway_spares_others) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 2);
    world.submit({.id = 1});
    world.submit({.id = 2});
    world.plan();
    world.planner.set_leaving(RowId{world.replicas_of(1)[0]});
    world.submit({.id = 3, .priority = 5});
    EXPECT_THAT(world.plan().placements, IsEmpty());
    EXPECT_EQ(world.why(3), ReasonCode::waiting_for_victims);
    world.end(1);
    EXPECT_THAT(victims(world.plan()), IsEmpty());
    EXPECT_THAT(world.running(), ElementsAre(2, 3));
}

TEST(Fairness, under_nominal_first_then_the_smaller_weighted_share) {
    World world;
    world.pool("default");
    world.queue("root");
    world.queue("a", {{.flavor = "h200", .nominal = 1000, .weight = 1}}, "root");
    world.queue("b", {{.flavor = "h200", .nominal = 1000, .weight = 3}}, "root");
    world.queue("spare", {quota(8)}, "root");
    world.node("n", 10);
    for (std::int64_t id = 1; id <= 10; ++id) world.submit({.id = id, .queue = "a"});
    for (std::int64_t id = 11; id <= 20; ++id) world.submit({.id = id, .queue = "b"});
    EXPECT_EQ(world.plan().placements.size(), 10U);
    std::int64_t of_a = 0;
    for (std::int64_t id : world.running()) of_a += id <= 10 ? 1 : 0;
    EXPECT_EQ(of_a, 3);  // 1 + 2 against 1 + 6 borrowed
}

TEST(Quota, limits_of_borrowing_lending_and_max_hold) {
    World world;
    world.pool("default");
    world.queue("root");
    world.queue("a", {{.flavor = "h200", .nominal = 1000, .borrow_limit = 1000}}, "root");
    world.queue("b", {{.flavor = "h200", .nominal = 4000, .lend_limit = 2000}}, "root");
    world.queue("c", {{.flavor = "h200", .nominal = 0, .max = 1000}}, "root");
    world.node("n", 10);
    for (std::int64_t id = 1; id <= 4; ++id) world.submit({.id = id, .queue = "a"});
    world.plan();
    EXPECT_THAT(world.running(), ElementsAre(1, 2));
    EXPECT_EQ(world.param(3, "queue"), "a");
    world.submit({.id = 5, .queue = "c"});
    world.submit({.id = 6, .queue = "c"});
    world.plan();
    EXPECT_THAT(world.running(), ElementsAre(1, 2, 5));  // max 1; and b lends 2 in all
    EXPECT_EQ(world.param(6, "limit"), "1");
    world.submit({.id = 7, .queue = "b", .count = 2});
    world.plan();
    EXPECT_THAT(world.running(), ElementsAre(1, 2, 5, 7));
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Quota, star_covers_flavors_without_an_entry_each_for_itself) {
    World world;
    world.pool("default");
    world.queue("team", {{.flavor = "*", .nominal = 1000}, {.flavor = "h200", .nominal = 2000}});
    world.node("n", 4);
    world.node("m", 4, "a100");
    for (std::int64_t id = 1; id <= 3; ++id) world.submit({.id = id, .flavor = "h200"});
    for (std::int64_t id = 4; id <= 6; ++id) world.submit({.id = id, .flavor = "a100"});
    world.plan();
    EXPECT_THAT(world.running(), ElementsAre(1, 2, 4));
}

}  // namespace
}  // namespace tandem::sched
