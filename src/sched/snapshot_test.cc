// SPDX-License-Identifier: Apache-2.0
// What a snapshot shares with the one before, and the verdicts that need more than sums.
#include "sched/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/test_world.h"

namespace tandem::sched {
namespace {

using model::ReasonCode;

void crowd(World& world, std::int64_t pending) {
    world.pool("default");
    world.queue("team");
    world.queue("other");
    for (int i = 0; i < 64; ++i) world.node("n" + std::to_string(i), 8);
    world.submit({.id = 1, .queue = "other", .count = 512});
    world.plan();
    for (std::int64_t id = 2; id < 2 + pending; ++id)
        world.submit({.id = id, .devices = 1000 * (1 + id % 4)});
    world.plan();
}

TEST(Snapshot, nothing_changed_is_the_same_snapshot) {
    World world;
    crowd(world, 10);
    const auto before = world.planner.snapshot();
    world.plan();
    EXPECT_EQ(world.planner.snapshot(), before);
}

TEST(Snapshot, untouched_leaves_and_cards_are_shared) {
    World world;
    crowd(world, 20'000);
    const auto before = world.planner.snapshot();
    world.submit({.id = 50'000, .devices = 1000});
    world.plan();
    const auto after = world.planner.snapshot();
    const SnapshotTables& a = before->tables();
    const SnapshotTables& b = after->tables();
    EXPECT_EQ(a.waiting.size() + 1, b.waiting.size());
    int shared = 0;
    for (std::int64_t id = 2; id < 20'002; ++id)
        shared += a.waiting.leaf_at(id) == b.waiting.leaf_at(id) ? 1 : 0;
    EXPECT_GE(shared, 20'000 - 64);
    EXPECT_EQ(a.nodes.leaf_at(1), b.nodes.leaf_at(1));
    EXPECT_EQ(a.holders.leaf_at(1), b.holders.leaf_at(1));
    int changed_classes = 0;
    int changed_chunks = 0;
    b.classes.each([&](std::int64_t index, const Card<ClassCard>& card) {
        const Card<ClassCard>& old = *a.classes.find(index);
        if (old == card) return;
        changed_classes += 1;
        for (std::size_t i = 0; i < card->members.size(); ++i)
            if (i >= old->members.size() || old->members[i] != card->members[i])
                changed_chunks += 1;
    });
    EXPECT_EQ(changed_classes, 1);
    EXPECT_EQ(changed_chunks, 1);
}

TEST(Snapshot, an_older_one_keeps_telling_its_moment) {
    World world;
    crowd(world, 3);
    const auto before = world.planner.snapshot();
    EXPECT_EQ(before->position(RowId{4}), 3);
    world.planner.remove_demand(RowId{2});
    world.end(1);
    EXPECT_EQ(before->position(RowId{4}), 3);
    EXPECT_EQ(before->pool_lines()[0].used, 512'000);
    EXPECT_EQ(world.planner.snapshot()->position(RowId{4}), 2);
    EXPECT_EQ(world.planner.snapshot()->pool_lines()[0].used, 0);
}

TEST(Snapshot, all_pending_have_a_verdict_with_numbers) {
    World world;
    crowd(world, 5'000);
    const auto snapshot = world.planner.snapshot();
    for (std::int64_t id = 2; id < 5'002; ++id) {
        const auto verdict = snapshot->verdict(RowId{id});
        ASSERT_TRUE(verdict);
        ASSERT_EQ(verdict->reason.code, ReasonCode::no_capacity);
        ASSERT_TRUE(verdict->proved);
        ASSERT_FALSE(verdict->remedies.empty());
    }
}

TEST(Snapshot, a_gang_too_large_is_told_what_would_be_needed) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 4);
    world.node("b", 4);
    world.submit({.id = 1, .devices = 1000});
    world.plan();
    world.submit({.id = 2, .count = 3, .devices = 4000});
    world.plan();
    const auto verdict = world.planner.verdict(RowId{2});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason, (model::Reason{ReasonCode::never_fits,
                                              {{"flavor", "h200"},
                                               {"needed", "12"},
                                               {"largest", "8"},
                                               {"members", "3"},
                                               {"membersThatFit", "2"}}}));
    EXPECT_TRUE(verdict->proved);
    ASSERT_EQ(verdict->remedies.size(), 1U);
    EXPECT_EQ(verdict->remedies[0].steps[0].params[0].value, "2");
}

TEST(Snapshot, each_flavor_that_would_do_has_a_remedy) {
    World world;
    world.pool("default");
    world.queue("team", {{.flavor = "h200", .nominal = 1000}, {.flavor = "a100", .nominal = 8000}});
    world.node("a", 2, "h200");
    world.node("b", 2, "a100");
    world.node("c", 8, "l4");
    world.submit({.id = 1, .count = 2, .flavor = "a100"});
    world.plan();
    world.submit({.id = 2, .count = 2, .flavor = "h200|a100"});
    world.plan();
    const auto verdict = world.planner.verdict(RowId{2});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason.code, ReasonCode::no_capacity);
    ASSERT_EQ(verdict->remedies.size(), 2U);
    EXPECT_EQ(verdict->remedies[0].steps[0], (model::Reason{ReasonCode::places,
                                                            {{"places", "2"},
                                                             {"each", "1"},
                                                             {"flavor", "a100"}}}));
    EXPECT_EQ(verdict->remedies[1].steps[0].code, ReasonCode::quota_exhausted);
    std::vector<News> list;
    world.planner.take_news(10, list);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].reason.code, ReasonCode::no_capacity);  // not that h200 is out of its reach
}

TEST(Snapshot, parts_of_a_gang_may_differ_in_flavor) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 1, "h200");
    world.node("b", 2, "a100");
    Demand demand{.workload = RowId{1}, .queue = "team", .project = "red"};
    demand.parts.push_back({.role = "head", .each = {.devices = 1000, .flavor = "h200|l4"}});
    demand.parts.push_back({.role = "worker", .count = 3, .each = {.devices = 1000, .flavor = "a100|l4"}});
    world.planner.put_demand(demand);
    world.plan();
    const auto verdict = world.planner.verdict(RowId{1});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason.code, ReasonCode::never_fits);
    ASSERT_EQ(verdict->remedies.size(), 1U);
    EXPECT_EQ(verdict->remedies[0].steps[0], (model::Reason{ReasonCode::places,
                                                            {{"places", "1"},
                                                             {"each", "1"},
                                                             {"flavor", "a100"}}}));
    world.planner.forget();
    world.node("c", 1, "a100");
    EXPECT_EQ(world.planner.plan(Instant{9}, 1'000'000).placements.size(), 1U);
}

TEST(Snapshot, labels_and_taints_are_known) {
    World world;
    world.pool("default");
    world.queue("team");
    world.node("a", 2);
    world.node("b", 2);
    world.edit_node("b", [](model::Node& node) { node.meta.labels["disk"] = "nvme"; });
    const auto selecting = [&](std::int64_t id, std::int64_t count) {
        Demand demand{
            .workload = RowId{id}, .queue = "team", .project = "red", .submitted = Instant{id}};
        demand.parts.push_back(
            {.count = count, .each = {.devices = 1000, .node_selector = {{"disk", "nvme"}}}});
        world.planner.put_demand(demand);
    };
    selecting(1, 3);
    world.planner.plan(Instant{5}, 1'000'000);
    const auto verdict = world.planner.verdict(RowId{1});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason.code, ReasonCode::never_fits);
    EXPECT_EQ(world.param(1, "membersThatFit"), "2");
    ASSERT_EQ(verdict->remedies.size(), 1U);
    EXPECT_EQ(verdict->remedies[0].steps[0], (model::Reason{ReasonCode::places,
                                                            {{"places", "1"},
                                                             {"each", "1"},
                                                             {"flavor", "h200"},
                                                             {"nodes", "disk=nvme"}}}));
    world.edit_node("a", [](model::Node& node) { node.spec.taints = {"upgrade"}; });
    world.submit({.id = 2, .count = 3});
    world.planner.plan(Instant{6}, 1'000'000);
    EXPECT_EQ(world.why(2), ReasonCode::never_fits);
    world.node("c", 1);
    world.edit_node("c", [](model::Node& node) { node.meta.labels["disk"] = "nvme"; });
    const Plan plan = world.planner.plan(Instant{7}, 1'000'000);
    ASSERT_EQ(plan.placements.size(), 1U);
    EXPECT_EQ(plan.placements[0].workload, RowId{1});
}

TEST(Snapshot, policies_that_forbid_eviction_are_named) {
    World world;
    world.pool("default");
    model::Queue queue;
    queue.meta = {.id = RowId{7}, .name = "team"};
    queue.spec = {.pool = "default", .preemption = {.within_queue = model::WithinQueue::never}};
    world.planner.put_queue(queue);
    world.node("a", 1);
    world.submit({.id = 1});
    world.plan();
    world.submit({.id = 2, .priority = 5});
    world.plan();
    const auto codes = [&] {
        std::vector<ReasonCode> list;
        const auto verdict = world.planner.verdict(RowId{2});
        for (const model::Reason& one : verdict->protections) list.push_back(one.code);
        return list;
    };
    EXPECT_EQ(codes(), std::vector{ReasonCode::preemption_forbidden});
    queue.spec.preemption = {};
    queue.spec.min_run_time = Duration{3'600'000};
    world.planner.put_queue(queue);
    world.plan();
    EXPECT_EQ(codes(), std::vector{ReasonCode::ran_too_short});
}

TEST(Snapshot, every_limit_on_the_way_is_named) {
    World world;
    world.pool("default");
    world.queue("root", {{.flavor = "h200", .nominal = 1000}});
    world.queue("team", {{.flavor = "h200", .nominal = 1000, .max = 4000}}, "root");
    world.node("a", 8);
    world.submit({.id = 1, .count = 5});
    world.plan();
    const auto verdict = world.planner.verdict(RowId{1});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason.code, ReasonCode::quota_too_small);
    ASSERT_EQ(verdict->constraints.size(), 2U);
    ASSERT_EQ(verdict->remedies.size(), 1U);
    EXPECT_EQ(verdict->remedies[0].steps.size(), 2U);
}

TEST(Snapshot, a_stopped_queue_says_so) {
    World world;
    world.pool("default");
    model::Queue queue;
    queue.meta = {.id = RowId{7}, .name = "team"};
    queue.spec = {.pool = "default", .stop = model::StopPolicy::hold};
    world.planner.put_queue(queue);
    world.submit({.id = 1});
    world.plan();
    EXPECT_EQ(world.why(1), ReasonCode::queue_stopped);
}

TEST(News, come_once_for_each_change_of_cause) {
    World world;
    world.pool("default");
    world.queue("team", {{.flavor = "h200", .nominal = 2000}});
    world.node("a", 1);
    const auto news = [&] {
        world.plan();  // what was placed before may have woken somebody
        std::vector<News> list;
        EXPECT_FALSE(world.planner.take_news(100, list));
        return list;
    };
    world.submit({.id = 1});
    world.submit({.id = 2});
    world.submit({.id = 3, .count = 3});
    world.plan();
    const auto first = news();
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].workload, RowId{2});
    EXPECT_EQ(first[0].reason.code, ReasonCode::no_capacity);
    EXPECT_EQ(first[1].reason.code, ReasonCode::never_fits);
    world.end(1);
    world.planner.remove_demand(RowId{2});
    world.submit({.id = 4});
    world.plan();
    EXPECT_EQ(news().size(), 0U);  // 4 runs; 3 waits for what it waited for
    world.node("b", 2);
    world.plan();
    const auto changed = news();
    ASSERT_EQ(changed.size(), 1U);
    EXPECT_EQ(changed[0].workload, RowId{3});
    EXPECT_EQ(changed[0].reason.code, ReasonCode::quota_too_small);
}

TEST(News, are_told_in_portions_and_again_after_a_rollback) {
    World world;
    crowd(world, 10);
    std::vector<News> list;
    EXPECT_TRUE(world.planner.take_news(4, list));
    EXPECT_TRUE(world.planner.take_news(4, list));
    EXPECT_FALSE(world.planner.take_news(4, list));
    EXPECT_EQ(list.size(), 10U);
    list.clear();
    world.planner.forget();
    const std::size_t mark = world.planner.mark();
    world.submit({.id = 99});
    world.plan();
    EXPECT_FALSE(world.planner.take_news(100, list));
    EXPECT_EQ(list.size(), 1U);
    world.planner.rollback(mark);
    world.planner.plan(Instant{world.now}, 1'000'000);
    list.clear();
    EXPECT_FALSE(world.planner.take_news(100, list));
    EXPECT_EQ(list.size(), 10U);
}

}  // namespace
}  // namespace tandem::sched
