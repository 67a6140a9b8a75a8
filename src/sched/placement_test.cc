// SPDX-License-Identifier: Apache-2.0
// Where the planner puts work: policies of pools, choices of flavors, shares.
#include <gtest/gtest.h>

#include "base/random.h"
#include "sched/test_world.h"

namespace tandem::sched {
namespace {

struct SmallWorld : World {
    explicit SmallWorld(model::PlacementPolicy placement = model::PlacementPolicy::tandem) {
        pool("default", {.placement = placement});
        queue("team");
    }
};

// Nodes of the replicas that a plan placed, in its order.
std::vector<std::string> nodes_of(const Plan& plan) {
    std::vector<std::string> nodes;
    for (const Placement& placement : plan.placements) {
        for (const PlacedReplica& replica : placement.replicas) nodes.push_back(replica.node);
    }
    return nodes;
}

std::string flavor_of(const Plan& plan) {
    return plan.placements.empty() ? "none" : plan.placements.front().replicas.front().flavor;
}

using Nodes = std::vector<std::string>;

TEST(Placement, pack_fills_the_fullest_node_and_spread_the_emptiest) {
    for (const auto placement : {model::PlacementPolicy::pack, model::PlacementPolicy::spread}) {
        SmallWorld world(placement);
        world.node("a", 4);
        world.node("b", 4);
        world.submit({.id = 1});
        world.plan();
        world.submit({.id = 2});
        const bool packs = placement == model::PlacementPolicy::pack;
        EXPECT_EQ(nodes_of(world.plan()), Nodes{packs ? "a" : "b"});
        world.submit({.id = 3, .devices = 500});
        EXPECT_EQ(nodes_of(world.plan()), Nodes{"a"});
        world.submit({.id = 4, .devices = 500});
        EXPECT_EQ(nodes_of(world.plan()), Nodes{packs ? "a" : "b"});
        EXPECT_EQ(world.planner.recount(), "");
    }
}

TEST(Placement, either_of_two_flavors_is_chosen_by_score_and_the_next_preference_comes_after) {
    SmallWorld world;
    world.node("v", 2, "v100");
    world.node("t", 2, "t4");
    world.node("h", 2, "h100");
    for (std::int64_t id = 50; id < 60; ++id)  // they insist on v100: its price is high
        world.submit({.id = id, .devices = 9000, .flavor = "v100"});
    world.submit({.id = 1, .flavor = "t4|v100,h100"});
    EXPECT_EQ(flavor_of(world.plan()), "t4");
    world.submit({.id = 2, .flavor = "t4|v100,h100"});
    EXPECT_EQ(flavor_of(world.plan()), "t4");
    world.submit({.id = 3, .count = 2, .flavor = "t4|v100,h100"});
    EXPECT_EQ(flavor_of(world.plan()), "v100");
    world.submit({.id = 4, .flavor = "t4|v100,h100"});
    EXPECT_EQ(flavor_of(world.plan()), "h100");
    world.submit({.id = 5, .flavor = "t4|v100"});
    EXPECT_EQ(flavor_of(world.plan()), "none");
    EXPECT_EQ(world.why(5), model::ReasonCode::no_capacity);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Placement, a_flavor_that_exists_nowhere_can_never_fit) {
    SmallWorld world;
    world.node("a", 2, "t4");
    world.submit({.id = 1, .flavor = "x1|x2"});
    world.plan();
    EXPECT_EQ(world.why(1), model::ReasonCode::never_fits);
}

TEST(Placement, shares_of_two_projects_stand_on_two_devices) {
    SmallWorld world;
    world.node("a", 2);
    world.submit({.id = 1, .devices = 300, .project = "red"});
    world.submit({.id = 2, .devices = 300, .project = "blue"});
    world.submit({.id = 3, .devices = 300, .project = "red"});
    world.submit({.id = 4, .devices = 300, .project = "blue"});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 4u);
    const auto device = [&](std::size_t i) {
        return plan.placements[i].replicas.front().devices.front().index;
    };
    EXPECT_EQ(device(0), device(2));
    EXPECT_EQ(device(1), device(3));
    EXPECT_NE(device(0), device(1));
    world.submit({.id = 5, .devices = 300, .project = "green"});
    EXPECT_TRUE(world.plan().placements.empty());
}

TEST(Placement, a_share_takes_the_device_that_leaves_no_useless_rest) {
    SmallWorld world;
    world.node("a", 2);
    std::vector<TypicalWork> typical{{.devices = 500, .count = 1}};
    world.planner.set_typical(typical);
    world.submit({.id = 1, .devices = 500});
    world.plan();
    world.submit({.id = 2, .devices = 300});
    world.plan();
    world.submit({.id = 3, .devices = 500});
    const Plan plan = world.plan();
    EXPECT_EQ(plan.placements.front().replicas.front().devices.front().milli, 500);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(Placement, a_device_named_by_waiting_work_is_kept_for_it) {
    SmallWorld world;
    world.node("scarce", 8, "t4");
    world.node("plenty", 8, "g2");
    for (std::int64_t id = 100; id < 140; ++id)
        world.submit({.id = id, .count = 2, .devices = 8000, .flavor = "t4"});  // wait for two nodes
    world.submit({.id = 1});
    EXPECT_EQ(nodes_of(world.plan()), Nodes{"plenty"});
}

// Two planners with the same rows, one of which lived through other work before.
TEST(Placement, depends_on_the_picture_alone) {
    Random random(seed_from(5));
    for (int round = 0; round < 30; ++round) {
        SmallWorld lived;
        SmallWorld fresh;
        for (World* world : {&lived, &fresh}) {
            for (int n = 0; n < 6; ++n)
                world->node("n" + std::to_string(n), 4, n < 2 ? "t4" : "g2", 32'000);
        }
        for (std::int64_t id = 1; id <= 8; ++id)
            lived.submit({.id = id, .devices = random.between(1, 4) * 1000,
                          .flavor = id % 2 == 0 ? "g2" : "", .cpu = 1000});
        lived.plan();
        for (std::int64_t id = 1; id <= 8; ++id) lived.end(id);
        for (std::int64_t id = 1; id <= 8; ++id) lived.planner.remove_demand(RowId{id});
        for (std::int64_t id = 11; id <= 30; ++id) {
            const std::int64_t kind = random.between(0, 2);
            const std::int64_t amount = random.between(1, 4);
            const std::int64_t cpu = random.between(1, 8) * 1000;
            const Want want{.id = id, .devices = kind == 0 ? amount * 200 : amount * 1000,
                            .flavor = kind == 1 ? "t4|g2" : "", .cpu = cpu};
            lived.submit(want);
            fresh.submit(want);
            EXPECT_EQ(nodes_of(lived.plan()), nodes_of(fresh.plan())) << round << " " << id;
        }
    }
}

TEST(Placement, rolled_back_plans_come_out_again_the_same) {
    SmallWorld world;
    for (int n = 0; n < 4; ++n) world.node("n" + std::to_string(n), 8, "g2", 64'000);
    for (std::int64_t id = 1; id <= 12; ++id)
        world.submit({.id = id, .devices = id % 3 == 0 ? 400 : 1000 * (id % 4 + 1), .cpu = 2000});
    const std::size_t mark = world.planner.mark();
    const std::uint64_t before = world.planner.digest();
    const Nodes first = nodes_of(world.planner.plan(Instant{1}, 1'000'000));
    world.planner.rollback(mark);
    EXPECT_EQ(world.planner.digest(), before);
    EXPECT_EQ(nodes_of(world.planner.plan(Instant{1}, 1'000'000)), first);
    EXPECT_GT(first.size(), 8u);
}

TEST(Placement, work_without_devices_keeps_off_nodes_with_free_devices) {
    SmallWorld world;
    world.node("cards", 2, "g2", 8000);
    world.node("plain", 0, "", 8000);
    world.submit({.id = 1, .devices = 0, .cpu = 4000});
    EXPECT_EQ(nodes_of(world.plan()), Nodes{"plain"});
    world.submit({.id = 2, .devices = 2000, .cpu = 1000});
    world.plan();
    world.submit({.id = 3, .count = 2, .devices = 0, .cpu = 4000});
    EXPECT_EQ(nodes_of(world.plan()), (Nodes{"plain", "cards"}));
    EXPECT_EQ(world.planner.recount(), "");
}

Demand selecting(std::int64_t id, model::Labels selector, std::vector<std::string> tolerations = {},
                 std::int64_t devices = 1000) {
    Demand demand{.workload = RowId{id}, .queue = "team", .project = "red", .submitted = Instant{id}};
    demand.parts.push_back({.role = "worker",
                            .each = {.devices = devices,
                                     .node_selector = std::move(selector),
                                     .tolerations = std::move(tolerations)}});
    return demand;
}

TEST(Placement, only_nodes_with_the_selected_labels_are_taken) {
    for (const auto placement :
         {model::PlacementPolicy::tandem, model::PlacementPolicy::pack}) {
        SmallWorld world(placement);
        for (const char* name : {"a", "b"}) world.node(name, 2);
        world.edit_node("b", [](model::Node& node) { node.meta.labels["disk"] = "nvme"; });
        world.planner.put_demand(selecting(1, {{"disk", "nvme"}}));
        world.planner.put_demand(selecting(2, {{"disk", "nvme"}}, {}, 300));
        world.planner.put_demand(selecting(3, {{"disk", "tape"}}));
        const Plan plan = world.planner.plan(Instant{5}, 1'000'000);
        EXPECT_EQ(nodes_of(plan), (Nodes{"b", "b"}));
        EXPECT_EQ(world.why(3), model::ReasonCode::never_fits);
        world.planner.forget();
        world.edit_node("a", [](model::Node& node) { node.meta.labels["disk"] = "tape"; });
        EXPECT_EQ(nodes_of(world.planner.plan(Instant{6}, 1'000'000)), Nodes{"a"});
    }
}

TEST(Placement, a_taint_keeps_away_what_does_not_tolerate_it) {
    SmallWorld world;
    world.node("a", 2);
    world.edit_node("a", [](model::Node& node) { node.spec.taints = {"team=vision"}; });
    world.planner.put_demand(selecting(1, {}));
    world.planner.put_demand(selecting(2, {}, {"other"}));
    world.planner.put_demand(selecting(3, {}, {"team=vision"}));
    world.planner.put_demand(selecting(4, {}, {"*"}));
    const Plan plan = world.planner.plan(Instant{5}, 1'000'000);
    ASSERT_EQ(plan.placements.size(), 2u);
    EXPECT_EQ(plan.placements[0].workload, RowId{3});
    EXPECT_EQ(plan.placements[1].workload, RowId{4});
    world.planner.forget();
    world.edit_node("a", [](model::Node& node) { node.spec.taints = {}; });
    EXPECT_EQ(world.planner.plan(Instant{6}, 1'000'000).placements.size(), 2u);
}

}  // namespace
}  // namespace tandem::sched
