// SPDX-License-Identifier: Apache-2.0
#include "sched/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sched/test_world.h"

namespace tandem::sched {
namespace {

using model::ReasonCode;
using testing::ElementsAre;
using testing::IsEmpty;

void furnish(World& world, std::int64_t nodes, std::int64_t devices,
             std::vector<model::FlavorQuota> quotas = {}) {
    world.pool("default");
    world.queue("team", std::move(quotas));
    for (std::int64_t i = 0; i < nodes; ++i) world.node("n" + std::to_string(i), devices);
}

std::vector<std::int64_t> placed(const Plan& plan) {
    std::vector<std::int64_t> ids;
    for (const Placement& placement : plan.placements) ids.push_back(placement.workload.value);
    return ids;
}

TEST(Planner, empty_world_plans_nothing) {
    World world;
    EXPECT_THAT(world.plan().placements, IsEmpty());
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, gang_is_placed_whole_on_distinct_devices) {
    World world;
    furnish(world, 2, 4);
    world.submit({.id = 1, .count = 6, .flavor = "h200"});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 1U);
    std::set<std::pair<std::string, std::int64_t>> devices;
    for (const PlacedReplica& replica : plan.placements[0].replicas) {
        ASSERT_EQ(replica.devices.size(), 1U);
        EXPECT_EQ(replica.devices[0].milli, 1000);
        EXPECT_EQ(replica.flavor, "h200");
        devices.emplace(replica.node, replica.devices[0].index);
    }
    EXPECT_EQ(devices.size(), 6U);
    EXPECT_EQ(plan.placements[0].replicas[5].rank, 5);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, gang_that_does_not_fit_takes_nothing) {
    World world;
    furnish(world, 2, 4);
    world.submit({.id = 1, .count = 9});
    world.submit({.id = 2, .count = 8});
    EXPECT_THAT(placed(world.plan()), ElementsAre(2));
    EXPECT_EQ(world.why(1), ReasonCode::never_fits);
    EXPECT_EQ(world.param(1, "needed"), "9");
    EXPECT_EQ(world.param(1, "largest"), "8");
}

TEST(Planner, order_is_priority_then_age_then_id) {
    World world;
    furnish(world, 1, 2);
    world.submit({.id = 1});
    world.submit({.id = 2, .priority = 5});
    world.submit({.id = 3, .priority = 5});
    EXPECT_THAT(placed(world.plan()), ElementsAre(2, 3));
    EXPECT_EQ(world.why(1), ReasonCode::no_capacity);
    EXPECT_EQ(world.param(1, "free"), "0");
    EXPECT_EQ(world.param(1, "total"), "2");
}

TEST(Planner, best_fit_fills_the_fuller_node_first) {
    World world;
    furnish(world, 2, 4);
    world.submit({.id = 1, .devices = 3000});
    world.submit({.id = 2, .devices = 1000});
    world.submit({.id = 3, .devices = 4000});
    EXPECT_THAT(placed(world.plan()), ElementsAre(1, 2, 3));
}

TEST(Planner, halves_are_packed_two_to_a_device_but_never_across_projects) {
    World world;
    furnish(world, 1, 4);
    for (std::int64_t id = 1; id <= 4; ++id)
        world.submit({.id = id, .devices = 500, .project = id <= 3 ? "red" : "blue"});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 4U);
    std::map<std::int64_t, std::set<bool>> projects;
    std::map<std::int64_t, std::int64_t> used;
    for (const Placement& placement : plan.placements) {
        const auto& share = placement.replicas[0].devices[0];
        projects[share.index].insert(placement.workload.value <= 3);
        used[share.index] += share.milli;
    }
    EXPECT_EQ(used.size(), 3U);  // red 2 + 1, blue 1
    for (const auto& [device, who] : projects) EXPECT_EQ(who.size(), 1U);
    for (const auto& [device, milli] : used) EXPECT_LE(milli, 1000);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, sixteen_halves_in_one_burst_stand_two_to_a_device) {
    World world;
    furnish(world, 1, 8);
    for (std::int64_t id = 1; id <= 16; ++id) world.submit({.id = id, .devices = 500});
    std::map<std::int64_t, int> count;
    for (const Placement& placement : world.plan().placements)
        count[placement.replicas[0].devices[0].index] += 1;
    EXPECT_EQ(count.size(), 8U);
    for (const auto& [device, n] : count) EXPECT_EQ(n, 2);
}

TEST(Planner, halves_of_one_gang_share_no_device) {
    World world;
    furnish(world, 1, 4);
    world.submit({.id = 1, .count = 3, .devices = 500});
    world.submit({.id = 2, .count = 5, .devices = 500});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 1U);
    std::set<std::int64_t> devices;
    for (const PlacedReplica& replica : plan.placements[0].replicas)
        devices.insert(replica.devices[0].index);
    EXPECT_EQ(devices.size(), 3U);
    EXPECT_EQ(world.why(2), ReasonCode::never_fits);
}

TEST(Planner, any_flavor_is_one_flavor_for_the_whole_part) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 2, "a100");
    world.node("b", 3, "h200");
    world.submit({.id = 1, .count = 3});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 1U);
    for (const PlacedReplica& replica : plan.placements[0].replicas)
        EXPECT_EQ(replica.flavor, "h200");
    world.submit({.id = 2, .count = 2, .flavor = "h200"});
    EXPECT_THAT(placed(world.plan()), IsEmpty());
    EXPECT_EQ(world.why(2), ReasonCode::no_capacity);
}

TEST(Planner, cpu_and_memory_bind_per_node) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4, "h200", 3000);
    world.node("b", 4, "h200", 9000);
    world.submit({.id = 1, .count = 2, .cpu = 4000});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 1U);
    for (const PlacedReplica& replica : plan.placements[0].replicas) EXPECT_EQ(replica.node, "b");
    world.submit({.id = 2, .devices = 0, .cpu = 3000});
    EXPECT_THAT(placed(world.plan()), ElementsAre(2));
    world.submit({.id = 3, .devices = 0, .cpu = 3000});
    EXPECT_THAT(placed(world.plan()), IsEmpty());
    EXPECT_EQ(world.why(3), ReasonCode::no_capacity);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, nodes_not_ready_cordoned_and_unhealthy_devices_take_nothing) {
    World world;
    furnish(world, 3, 1);
    world.edit_node("n0", [](model::Node& node) { node.status.ready = false; });
    world.edit_node("n1", [](model::Node& node) { node.spec.unschedulable = true; });
    world.edit_node("n2", [](model::Node& node) { node.status.devices[0].healthy = false; });
    world.submit({.id = 1});
    EXPECT_THAT(placed(world.plan()), IsEmpty());
    EXPECT_EQ(world.why(1), ReasonCode::no_capacity);
    world.edit_node("n2", [](model::Node& node) { node.status.devices[0].healthy = true; });
    EXPECT_THAT(placed(world.plan()), ElementsAre(1));
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, freed_capacity_wakes_the_classes_that_wait_for_it) {
    World world;
    furnish(world, 1, 2);
    world.submit({.id = 1, .devices = 2000});
    world.plan();
    world.submit({.id = 2});
    EXPECT_THAT(placed(world.plan()), IsEmpty());
    world.end(1);
    EXPECT_THAT(placed(world.plan()), ElementsAre(2));
}

TEST(Planner, sleeping_classes_cost_nothing) {
    World world;
    furnish(world, 1, 1);
    world.submit({.id = 1});
    world.plan();
    for (std::int64_t id = 2; id < 1000; ++id) world.submit({.id = id});
    EXPECT_LE(world.plan().steps_used, 10);  // one look for all of them: they are alike
    EXPECT_EQ(world.plan().steps_used, 0);
    world.edit_node("n0", [](model::Node&) {});  // a report that changes nothing wakes nobody
    EXPECT_EQ(world.plan().steps_used, 0);
}

TEST(Planner, admissible_work_behind_ten_thousand_others_starts_at_once) {
    World world;
    furnish(world, 1, 1);
    world.node("spare", 1, "a100");
    world.submit({.id = 1, .flavor = "h200"});
    world.plan();
    for (std::int64_t id = 2; id < 10'000; ++id) world.submit({.id = id, .flavor = "h200"});
    world.submit({.id = 10'000, .flavor = "a100"});
    const Plan plan = world.plan();
    EXPECT_THAT(placed(plan), ElementsAre(10'000));
    EXPECT_LE(plan.steps_used, 20);
}

TEST(Planner, small_budget_goes_on_where_it_stopped) {
    World world;
    furnish(world, 1, 8);
    for (std::int64_t id = 1; id <= 8; ++id) world.submit({.id = id});
    int calls = 0;
    while (world.plan(1).exhausted) ASSERT_LT(++calls, 20);
    EXPECT_EQ(world.running().size(), 8U);
}

TEST(Planner, verdict_tells_position_and_what_would_help) {
    World world;
    furnish(world, 1, 4);
    world.submit({.id = 1, .devices = 3000, .priority = 7});
    world.plan();
    world.submit({.id = 2, .devices = 2000});
    world.submit({.id = 3, .devices = 2000});
    world.plan();
    const auto verdict = world.planner.verdict(RowId{3});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->position, 2);
    EXPECT_EQ(verdict->reason.code, ReasonCode::no_capacity);
    EXPECT_EQ(verdict->waiting, 2);
    EXPECT_TRUE(verdict->proved);
    ASSERT_EQ(verdict->remedies.size(), 1U);
    EXPECT_THAT(verdict->remedies[0].steps,
                ElementsAre(model::Reason{ReasonCode::places,
                                          {{"places", "1"}, {"each", "2"}, {"flavor", "h200"}}}));
    EXPECT_THAT(verdict->protections,
                ElementsAre(model::Reason{
                    ReasonCode::no_lower_priority,
                    {{"queue", "team"}, {"priority", "0"}, {"lowest", "7"}}}));
    ASSERT_EQ(verdict->funnels.size(), 1U);
    EXPECT_EQ(verdict->funnels[0], (model::NodeFunnel{.pool = "default",
                                                      .flavor = "h200",
                                                      .nodes = 1,
                                                      .with_flavor = 1,
                                                      .usable = 1,
                                                      .admitted = 1,
                                                      .with_room = 0,
                                                      .cut = "room",
                                                      .free_milli = 1000,
                                                      .total_milli = 4000}));
    ASSERT_EQ(verdict->holders.size(), 1U);
    EXPECT_EQ(verdict->holders[0].workload, RowId{1});
    EXPECT_EQ(verdict->holders[0].milli, 3000);
    EXPECT_FALSE(world.planner.verdict(RowId{1}));
}

TEST(Planner, verdict_names_missing_queue_pool_and_project) {
    World world;
    world.pool("default", {.projects = {"red"}});
    world.queue("team");
    world.queue("lost", {}, "", "nowhere");
    world.node("a", 1);
    world.submit({.id = 1, .queue = "none"});
    world.submit({.id = 2, .queue = "lost"});
    world.submit({.id = 3, .project = "blue"});
    EXPECT_THAT(placed(world.plan()), IsEmpty());
    EXPECT_EQ(world.why(1), ReasonCode::queue_unavailable);
    EXPECT_EQ(world.why(2), ReasonCode::pool_unavailable);
    EXPECT_EQ(world.why(3), ReasonCode::not_allowed_in_pool);
    world.queue("none");
    EXPECT_THAT(placed(world.plan()), ElementsAre(1));
}

TEST(Planner, reserved_pool_is_filled_and_refuses_others_while_idle) {
    World world;
    furnish(world, 2, 2);
    world.pool("vip", {.form = model::Form::reserved,
                       .projects = {"red"},
                       .from = "default",
                       .flavor = "h200",
                       .devices = 3});
    world.queue("held", {}, "", "vip");
    const Plan plan = world.plan();
    ASSERT_EQ(plan.pools.size(), 1U);
    EXPECT_EQ(plan.pools[0].pool, world.pool_id("vip"));
    EXPECT_EQ(plan.pools[0].devices.size(), 3U);
    EXPECT_THAT(world.plan().pools, IsEmpty());
    world.submit({.id = 1, .count = 2});
    EXPECT_THAT(placed(world.plan()), IsEmpty());  // one device is left outside the pool
    EXPECT_EQ(world.param(1, "free"), "");
    EXPECT_EQ(world.why(1), ReasonCode::never_fits);
    world.submit({.id = 2, .queue = "held", .count = 3});
    world.submit({.id = 3, .queue = "held", .project = "blue"});
    EXPECT_THAT(placed(world.plan()), ElementsAre(2));
    EXPECT_EQ(world.why(3), ReasonCode::not_allowed_in_pool);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, reserved_pool_takes_devices_as_they_come_free) {
    World world;
    furnish(world, 1, 2);
    world.submit({.id = 1, .count = 2});
    world.plan();
    world.pool("vip",
               {.form = model::Form::reserved, .from = "default", .flavor = "h200", .devices = 1});
    world.queue("held", {}, "", "vip");
    world.submit({.id = 2, .queue = "held"});
    EXPECT_THAT(world.plan().pools, IsEmpty());
    EXPECT_EQ(world.why(2), ReasonCode::pool_unavailable);
    world.submit({.id = 3, .count = 1});
    world.end(1);
    const Plan plan = world.plan();
    EXPECT_EQ(plan.pools.size(), 1U);
    EXPECT_THAT(placed(plan), testing::UnorderedElementsAre(2, 3));
    EXPECT_NE(world.planner.owner_of("n0", plan.pools[0].devices[0].index), "default");
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Planner, lines_of_an_idle_queue_show_the_devices_of_its_pool) {
    World world;
    world.pool("default");
    world.queue("root");
    world.node("a", 4);
    const auto queues = world.planner.queue_lines();
    ASSERT_EQ(queues.size(), 1U);
    EXPECT_EQ(queues[0].flavor, "h200");
    EXPECT_EQ(queues[0].hardware, 4000);
}

TEST(Planner, lines_show_usage_borrowing_and_idle_devices) {
    World world;
    world.pool("default");
    world.queue("root");
    world.queue("team", {{.flavor = "h200", .nominal = 1000}}, "root");
    world.queue("other", {{.flavor = "h200", .nominal = 3000}}, "root");
    world.node("a", 4);
    world.submit({.id = 1, .count = 2});
    world.submit({.id = 2, .count = 3});
    world.plan();
    const auto queues = world.planner.queue_lines();
    ASSERT_EQ(queues.size(), 3U);
    EXPECT_EQ(queues[1].queue, "root");
    EXPECT_EQ(queues[1].used, 2000);
    EXPECT_EQ(queues[2].queue, "team");
    EXPECT_EQ(queues[2].borrowed, 1000);
    EXPECT_EQ(queues[2].waiting, 1);
    const auto pools = world.planner.pool_lines();
    ASSERT_EQ(pools.size(), 1U);
    EXPECT_EQ(pools[0].total, 4000);
    EXPECT_EQ(pools[0].used, 2000);
    EXPECT_EQ(pools[0].idle, 2000);
    EXPECT_EQ(world.planner.owner_of("a", 3), "default");
    EXPECT_EQ(world.planner.owner_of("a", 9), "");
}

TEST(Planner, what_core_does_not_confirm_is_given_back) {
    World world;
    furnish(world, 1, 1);
    world.planner.mark();
    world.submit({.id = 1});
    EXPECT_EQ(world.planner.plan(Instant{1}, 1000).placements.size(), 1U);
    world.planner.forget();
    world.submit({.id = 2});
    EXPECT_THAT(placed(world.plan()), ElementsAre(2));
}

TEST(Planner, rollback_takes_back_a_plan) {
    World world;
    furnish(world, 2, 2, {{.flavor = "h200", .nominal = 3000}});
    world.submit({.id = 1, .count = 2});
    world.planner.forget();
    const std::uint64_t before = world.planner.digest();
    const std::size_t mark = world.planner.mark();
    world.plan();
    world.submit({.id = 2});
    world.edit_node("n0", [](model::Node& node) { node.status.devices[0].healthy = false; });
    world.queue("team", {{.flavor = "h200", .nominal = 1000}});
    world.plan();
    EXPECT_NE(world.planner.digest(), before);
    world.planner.rollback(mark);
    EXPECT_EQ(world.planner.digest(), before);
    EXPECT_EQ(world.planner.recount(), "");
    EXPECT_THAT(placed(world.planner.plan(Instant{1}, 1000)), ElementsAre(1));
}

}  // namespace
}  // namespace tandem::sched
