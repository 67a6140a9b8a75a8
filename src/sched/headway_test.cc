// SPDX-License-Identifier: Apache-2.0
// Backfill in the planner: the first without a place keeps its time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "sched/test_world.h"

namespace tandem::sched {
namespace {

bool has(const Plan& plan, std::int64_t id) {
    return std::ranges::any_of(plan.placements, [id](const Placement& placement) {
        return placement.workload == RowId{id};
    });
}

// Two nodes of four; work 1 has one of them for `length`, and work 2 wants both whole.
void begin(World& world, Duration length) {
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.node("b", 4);
    world.submit({.id = 1, .count = 1, .devices = 4000, .preemptible = false, .length = length});
    EXPECT_TRUE(has(world.plan(), 1));
    world.submit(
        {.id = 2, .count = 2, .devices = 4000, .preemptible = false, .length = seconds(50)});
    EXPECT_TRUE(world.plan().placements.empty());
}

TEST(Headway, work_that_ends_before_the_heads_start_passes_and_longer_work_waits) {
    World world;
    begin(world, seconds(100));
    world.submit({.id = 3, .preemptible = false, .length = seconds(150)});
    const Plan held = world.plan();
    EXPECT_FALSE(has(held, 3));
    ASSERT_EQ(held.promises.size(), 1u);
    EXPECT_EQ(held.promises[0].workload, RowId{2});
    EXPECT_EQ(held.promises[0].start, Instant{2000} + seconds(100));
    world.submit({.id = 4, .preemptible = false, .length = seconds(90)});
    EXPECT_TRUE(has(world.plan(), 4));
    EXPECT_EQ(world.why(3), model::ReasonCode::behind);
    EXPECT_EQ(world.planner.recount(), "");
    world.end(4);
    world.end(1);
    const Plan freed = world.plan();
    EXPECT_TRUE(has(freed, 2));
    EXPECT_FALSE(has(freed, 3));
    world.end(2);
    EXPECT_TRUE(has(world.plan(), 3));
}

TEST(Headway, longer_work_passes_where_the_head_fits_beside_it) {
    World world;
    begin(world, seconds(100));
    world.node("c", 2);  // too small for the head
    world.submit({.id = 3, .devices = 2000, .preemptible = false, .length = hours(9)});
    EXPECT_TRUE(has(world.plan(), 3));
}

TEST(Headway, work_that_can_be_evicted_for_the_head_passes) {
    World world;
    begin(world, seconds(100));
    world.submit({.id = 3, .priority = -1, .preemptible = true});
    EXPECT_TRUE(has(world.plan(), 3));
}

TEST(Headway, without_a_stated_end_evictable_work_passes_until_the_head_starves) {
    World world;
    begin(world, Duration{});
    world.submit({.id = 3, .preemptible = false});
    EXPECT_FALSE(has(world.plan(), 3));  // neither a length nor evictable
    world.submit({.id = 4, .preemptible = true});
    EXPECT_TRUE(has(world.plan(), 4));
    world.now += hours(2).ms;
    world.submit({.id = 5, .preemptible = true});
    EXPECT_FALSE(has(world.plan(), 5));
}

TEST(Headway, head_that_never_fits_holds_nobody_up) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.submit({.id = 1, .preemptible = false, .length = seconds(10)});
    world.submit({.id = 2, .count = 3, .devices = 4000, .preemptible = false});
    world.submit({.id = 3, .preemptible = false});
    const Plan plan = world.plan();
    EXPECT_TRUE(has(plan, 1));
    EXPECT_TRUE(has(plan, 3));
}

TEST(Headway, other_queues_are_not_held_up) {
    World world;
    begin(world, seconds(100));
    world.queue("other");
    world.submit({.id = 3, .queue = "other", .preemptible = false, .length = hours(9)});
    EXPECT_TRUE(has(world.plan(), 3));
}

TEST(Headway, what_the_same_plan_placed_counts_with_its_stated_end) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.node("b", 4);
    world.submit({.id = 1, .devices = 4000, .preemptible = false, .length = seconds(100)});
    world.submit({.id = 2, .count = 2, .devices = 4000, .preemptible = false});
    world.submit({.id = 3, .preemptible = false, .length = seconds(150)});
    world.submit({.id = 4, .preemptible = false, .length = seconds(100)});
    const Plan plan = world.plan();
    EXPECT_TRUE(has(plan, 1));
    EXPECT_FALSE(has(plan, 3));
    EXPECT_TRUE(has(plan, 4));
    ASSERT_FALSE(plan.promises.empty());
    EXPECT_EQ(plan.promises[0].start, Instant{world.now} + seconds(100));
}

TEST(Headway, next_behind_one_that_never_fits_keeps_its_time) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.submit({.id = 1, .devices = 2000, .preemptible = false, .length = seconds(100)});
    EXPECT_TRUE(has(world.plan(), 1));
    world.submit({.id = 2, .count = 3, .devices = 4000, .preemptible = false});
    world.submit({.id = 3, .devices = 4000, .preemptible = false});
    world.submit({.id = 4, .preemptible = false, .length = seconds(500)});
    EXPECT_FALSE(has(world.plan(), 4));
    world.planner.remove_demand(RowId{3});
    EXPECT_TRUE(has(world.plan(), 4));
}

TEST(Headway, held_work_goes_when_the_head_can_no_longer_have_a_place) {
    World world;
    begin(world, seconds(100));
    world.submit({.id = 3, .preemptible = false, .length = seconds(150)});
    EXPECT_FALSE(has(world.plan(), 3));
    world.end(1);
    world.edit_node("a", [](model::Node& node) { node.status.ready = false; });
    EXPECT_TRUE(has(world.plan(), 3));
}

TEST(Headway, work_that_its_queue_never_evicts_does_not_pass_as_evictable) {
    World world;
    begin(world, seconds(100));
    world.edit_queue("team", [](model::QueueSpec& spec) {
        spec.preemption.within_queue = model::WithinQueue::never;
    });
    world.submit({.id = 3, .priority = -1});
    EXPECT_FALSE(has(world.plan(), 3));
}

TEST(Headway, who_fits_beside_passes_after_short_work_took_what_the_head_waits_for) {
    World world;
    begin(world, seconds(100));
    world.node("c", 3);  // too small for the head
    world.submit({.id = 3, .devices = 4000, .preemptible = false, .length = seconds(50)});
    world.submit({.id = 4, .devices = 3000, .preemptible = false, .length = hours(9)});
    const Plan plan = world.plan();
    EXPECT_TRUE(has(plan, 3));
    EXPECT_TRUE(has(plan, 4));
    world.end(3);
    world.end(1);
    EXPECT_TRUE(has(world.plan(), 2));
}

TEST(Headway, time_is_found_anew_after_somebody_before_the_head_took_a_place) {
    World world;
    begin(world, seconds(100));
    world.submit({.id = 3, .priority = 1, .preemptible = false, .length = hours(1)});
    world.submit({.id = 4, .preemptible = false, .length = seconds(150)});
    const Plan plan = world.plan();
    EXPECT_TRUE(has(plan, 3));
    EXPECT_TRUE(has(plan, 4));  // the head waits for an hour now
    ASSERT_FALSE(plan.promises.empty());
    EXPECT_EQ(plan.promises.back().start, Instant{world.now} + hours(1));
}

TEST(Headway, rollback_brings_everything_back) {
    World world;
    begin(world, seconds(100));
    world.submit({.id = 3, .preemptible = false, .length = seconds(150)});
    const std::size_t mark = world.planner.mark();
    const std::uint64_t before = world.planner.digest();
    world.planner.plan(Instant{5000}, 1'000'000);
    world.planner.rollback(mark);
    EXPECT_EQ(world.planner.digest(), before);
    world.planner.forget();
    EXPECT_EQ(world.planner.recount(), "");
}

// What runs, for an own count of when a gang would fit.
struct Holds {
    std::int64_t ends = 0;  // 0: not stated
    std::int64_t id = 0;
    std::string node{};
    std::int64_t devices = 0;
};

// Letting go in order of the ends, those without one last; nothing: not even with all gone.
std::optional<std::int64_t> first_fit(std::map<std::string, std::int64_t> free,
                                      std::vector<Holds> running, std::int64_t count,
                                      std::int64_t size, std::int64_t now) {
    std::ranges::sort(running, [](const Holds& a, const Holds& b) {
        if ((a.ends == 0) != (b.ends == 0)) return b.ends == 0;
        return a.ends != b.ends ? a.ends < b.ends : a.id < b.id;
    });
    std::int64_t at = now;
    for (std::size_t gone = 0;; ++gone) {
        std::int64_t members = 0;
        for (const auto& [node, devices] : free) members += devices / size;
        if (members >= count) return at;
        if (gone == running.size()) return std::nullopt;
        at = running[gone].ends;
        free[running[gone].node] += running[gone].devices;
    }
}

TEST(Headway, start_of_a_gang_is_the_first_end_at_which_it_fits) {
    int told = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        Random random(seed_from(seed));
        const auto draw = [&](std::int64_t low, std::int64_t high) {
            return random.between(low, high);
        };
        World world;
        world.pool("default");
        world.queue("team");
        std::map<std::string, std::int64_t> free;
        for (std::int64_t n = draw(2, 6); n > 0; --n) {
            const std::string name = "n" + std::to_string(n);
            free[name] = draw(1, 4);
            world.node(name, free[name]);
        }
        std::vector<Holds> running;
        for (std::int64_t id = 1; id <= 12; ++id) {
            const std::int64_t devices = draw(1, 2);
            const Duration length = seconds(draw(0, 5) == 0 ? 0 : draw(2, 40) * 10);
            world.submit(
                {.id = id, .devices = devices * 1000, .preemptible = false, .length = length});
            const Plan plan = world.plan();
            for (const Placement& placement : plan.placements) {
                const std::int64_t ends = length.ms == 0 ? 0 : world.now + length.ms;
                running.push_back({ends, id, placement.replicas[0].node, devices});
                free[placement.replicas[0].node] -= devices;
            }
            world.planner.remove_demand(RowId{id});
        }
        const std::int64_t count = draw(1, 4);
        const std::int64_t size = draw(1, 4);
        world.submit({.id = 50, .count = count, .devices = size * 1000, .preemptible = false});
        if (has(world.plan(), 50)) continue;
        world.submit({.id = 60, .preemptible = false, .length = hours(1000)});
        const Plan plan = world.plan();
        const auto expected = first_fit(free, running, count, size, world.now);
        if (!expected || plan.promises.empty()) {
            EXPECT_TRUE(plan.promises.empty() || expected) << seed;
            continue;
        }
        told += 1;
        const std::optional<Instant> start =
            *expected == 0 ? std::nullopt : std::optional(Instant{std::max(*expected, world.now)});
        EXPECT_EQ(plan.promises[0].start, start) << seed;
    }
    EXPECT_GT(told, 20);
}

}  // namespace
}  // namespace tandem::sched
