// SPDX-License-Identifier: Apache-2.0
#include "sched/permits.h"

#include <gtest/gtest.h>

#include "sched/planner.h"

namespace tandem::sched {
namespace {

using model::ReasonCode;

struct Counted {
    Planner planner{};
    std::int64_t now = 1000;
    std::vector<Permit> permits{};

    explicit Counted(std::vector<Permit> counted) : permits(std::move(counted)) {
        model::Node node;
        node.meta = {.id = RowId{1}, .name = "n"};
        node.status = {.ready = true};
        for (std::int64_t i = 0; i < 8; ++i)
            node.status.devices.push_back({.index = i, .flavor = "card"});
        planner.put_node(node);
        model::Pool pool;
        pool.meta = {.id = RowId{2}, .name = "default"};
        planner.put_pool(pool);
        model::Queue queue;
        queue.meta = {.id = RowId{3}, .name = "team"};
        planner.put_queue(queue);
    }
    void submit(std::int64_t id, std::int64_t replicas = 1) {
        Demand demand{.workload = RowId{id},
                      .queue = "team",
                      .project = "red",
                      .submitted = Instant{id},
                      .permits = permits};
        demand.parts.push_back({.role = "worker", .count = replicas, .each = {.devices = 1000}});
        planner.put_demand(demand);
    }
    // What is placed, by id.
    std::vector<std::int64_t> plan() {
        std::vector<std::int64_t> ids;
        now += 1000;
        for (const Placement& placement : planner.plan(Instant{now}, 1'000'000).placements) {
            ids.push_back(placement.workload.value);
            for (const PlacedReplica& placed : placement.replicas) put(placement.workload, placed);
        }
        EXPECT_EQ(planner.recount(), "");
        return ids;
    }
    void put(RowId workload, const PlacedReplica& placed) {
        std::vector<Permit> held = permits;
        for (Permit& permit : held) permit.limit = model::unlimited;
        planner.put_entry({.id = workload,
                           .part = placed.rank,
                           .workload = workload,
                           .node = placed.node,
                           .devices = placed.devices,
                           .flavor = placed.flavor,
                           .queue = "team",
                           .pool = "default",
                           .project = "red",
                           .permits = held});
    }
};

using Ids = std::vector<std::int64_t>;

TEST(Planner, counter_that_is_full_keeps_work_waiting_though_devices_are_free) {
    Counted world({{.name = "solver", .amount = 2, .limit = 5}});
    for (std::int64_t id = 11; id < 15; ++id) world.submit(id);
    EXPECT_EQ(world.plan(), (Ids{11, 12}));
    const auto verdict = world.planner.verdict(RowId{13});
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->proved);
    EXPECT_EQ(verdict->reason.code, ReasonCode::license_short);
    EXPECT_EQ(world.planner.snapshot()->counter_lines().at(0).used, 4);
    EXPECT_EQ(world.planner.snapshot()->counter_lines().at(0).holders, 2);
}

TEST(Planner, counter_is_held_until_the_last_entry_of_its_workload_is_gone) {
    Counted world({{.name = "solver", .amount = 1, .limit = 1}});
    world.submit(11, 3);
    world.submit(12);
    EXPECT_EQ(world.plan(), (Ids{11}));
    world.planner.remove_entry(RowId{11}, 0);
    world.planner.set_leaving(RowId{11}, 1);
    EXPECT_EQ(world.plan(), Ids{});
    world.planner.remove_entry(RowId{11}, 1);
    EXPECT_EQ(world.plan(), Ids{});
    world.planner.remove_entry(RowId{11}, 2);
    EXPECT_EQ(world.plan(), (Ids{12}));
}

TEST(Planner, waiting_for_a_counter_costs_nothing_and_a_release_wakes_only_whom_it_is_enough_for) {
    Counted world({{.name = "solver", .amount = 1, .limit = 4}});
    for (std::int64_t id = 11; id < 15; ++id) world.submit(id);
    world.plan();
    world.permits = {{.name = "solver", .amount = 3, .limit = 4}};
    for (std::int64_t id = 100; id < 1100; ++id) world.submit(id);
    world.plan();
    EXPECT_EQ(world.planner.plan(Instant{world.now}, 1'000'000).steps_used, 0);
    world.planner.remove_entry(RowId{11});
    EXPECT_EQ(world.planner.plan(Instant{world.now}, 1'000'000).steps_used, 0);
    world.planner.remove_entry(RowId{12});
    world.planner.remove_entry(RowId{13});
    EXPECT_EQ(world.plan(), (Ids{100}));
}

TEST(Planner, counters_come_back_with_an_undo) {
    Counted world({{.name = "solver", .amount = 1, .limit = 2}});
    world.submit(11);
    EXPECT_EQ(world.plan(), (Ids{11}));
    const std::uint64_t digest = world.planner.digest();
    const std::size_t mark = world.planner.mark();
    world.submit(12);
    EXPECT_EQ(world.plan(), (Ids{12}));
    world.planner.remove_entry(RowId{11});
    world.planner.rollback(mark);
    EXPECT_EQ(world.planner.digest(), digest);
    EXPECT_EQ(world.planner.recount(), "");
    EXPECT_EQ(world.planner.snapshot()->counter_lines().at(0).used, 1);
}

TEST(Planner, who_waits_is_listed_by_priority_then_age) {
    Counted world({{.bound = ReasonCode::queue_limit, .name = "team", .amount = 1, .limit = 0}});
    for (std::int64_t id = 11; id < 14; ++id) world.submit(id);
    world.plan();
    const auto lines = world.planner.snapshot()->waiting_lines("team", 2);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].workload, RowId{11});
    EXPECT_EQ(lines[1].position, 2);
}

}  // namespace
}  // namespace tandem::sched
