// SPDX-License-Identifier: Apache-2.0
// The order of queues that readers are told is the order in which the planner then serves them.
#include <gtest/gtest.h>

#include "base/random.h"
#include "sched/test_world.h"

namespace tandem::sched {
namespace {

std::vector<model::FlavorQuota> nominal(std::int64_t devices, std::int64_t weight = 1) {
    return {{.flavor = "h200", .nominal = devices * 1000, .weight = weight}};
}

std::vector<std::string> names(const World& world) {
    std::vector<std::string> names;
    for (const QueueTurn& turn : world.planner.snapshot()->queue_order())
        names.push_back(turn.queue);
    return names;
}

TEST(QueueOrder, own_quota_comes_before_borrowing_and_older_work_first_among_equals) {
    World world;
    world.pool("default");
    world.node("n", 4);
    world.queue("cohort");
    world.queue("late", nominal(2), "cohort");
    world.queue("early", nominal(2), "cohort");
    world.queue("guest", nominal(0), "cohort");
    world.queue("idle", nominal(1), "cohort");
    world.submit({.id = 1, .queue = "early", .devices = 1000, .preemptible = false});
    world.submit({.id = 2, .queue = "late", .count = 2, .devices = 1000, .preemptible = false});
    world.submit({.id = 3, .queue = "early", .devices = 1000, .preemptible = false});
    world.plan();
    world.submit({.id = 4, .queue = "guest", .count = 4, .devices = 1000});
    world.submit({.id = 5, .queue = "late", .count = 4, .devices = 1000});
    world.plan();
    // Both would borrow: of weights alike whoever borrows less; the guest has nothing of its own.
    EXPECT_EQ(names(world), (std::vector<std::string>{"guest", "late"}));
    world.end(2);
    world.settle();
    const auto order = world.planner.snapshot()->queue_order();
    ASSERT_EQ(order.size(), 2u);
    EXPECT_EQ(order[0].queue, "late");  // two of its four are its own again
    EXPECT_EQ(order[0].place, 1);
    EXPECT_EQ(order[1].of, 2);
    EXPECT_EQ(order[0].pool, "default");
}

TEST(QueueOrder, whoever_is_told_to_be_first_gets_the_device_that_comes) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed_from(seed));
        World world;
        world.pool("default");
        world.node("n", 6);
        world.queue("root", nominal(64));  // enough for all to borrow
        for (const char* cohort : {"x", "y"}) world.queue(cohort, {}, "root");
        const std::vector<std::string> leaves{"a", "b", "c", "d"};
        for (std::size_t i = 0; i < leaves.size(); ++i)
            world.queue(leaves[i], nominal(random.between(0, 3), random.between(1, 3)),
                        i < 2 ? "x" : "y");
        for (std::int64_t id = 1; id <= 16; ++id)
            world.submit({.id = id,
                          .queue = leaves[random.below(leaves.size())],
                          .devices = 1000,
                          .priority = random.between(0, 2),
                          .preemptible = false});
        world.plan();
        const auto order = names(world);
        ASSERT_FALSE(order.empty());
        world.node("more", 1);
        const Plan plan = world.plan();
        ASSERT_EQ(plan.placements.size(), 1u) << seed;
        EXPECT_EQ(world.want_of(plan.placements[0].workload.value).queue, order[0]) << seed;
    }
}

}  // namespace
}  // namespace tandem::sched
