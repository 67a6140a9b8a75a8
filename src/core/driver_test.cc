// SPDX-License-Identifier: Apache-2.0
#include "core/test_world.h"

namespace tandem::core {
namespace {

TEST(driver, full_store_undoes_the_whole_batch) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("first", 1));
    const std::uint64_t before = world.driver.state().digest();
    world.outcome = CommitOutcome::full;
    const model::Answer refused = world.apply(TestWorld::job("second", 1));
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->code, ErrorCode::storage_full);
    EXPECT_EQ(world.driver.state().digest(), before);
    EXPECT_EQ(world.driver.state().planner.recount(), "");
    EXPECT_EQ(world.driver.state().book.check(), "");
    world.outcome = CommitOutcome::committed;
    EXPECT_FALSE(world.apply(TestWorld::job("second", 1)).error);
}

TEST(driver, inputs_without_a_caller_survive_a_full_store) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.start_all();
    world.outcome = CommitOutcome::full;
    const auto task = world.tasks_of("one")[0];
    world.exit_task(task, 0);
    EXPECT_EQ(world.phase_of("one"), model::Phase::running);
    world.outcome = CommitOutcome::committed;
    world.run(world.driver.take_retry());
    EXPECT_EQ(world.phase_of("one"), model::Phase::succeeded);
}

TEST(driver, fatal_store_answers_nobody) {
    TestWorld world;
    world.outcome = CommitOutcome::fatal;
    const std::size_t answered = world.answers.size();
    EXPECT_EQ(world.run({model::Command{.ticket = 77, .caller = {}, .actions = {}, .idempotency_key = {}, .body_digest = {}}}),
              BatchResult::fatal);
    EXPECT_EQ(world.answers.size(), answered);
}

TEST(driver, each_changed_object_has_one_change_and_one_version_a_batch) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    std::int64_t last = 0;
    for (const model::BatchRecord& record : world.records) {
        std::set<RowId> seen;
        for (const model::Change& change : record.changes) {
            EXPECT_TRUE(seen.insert(model::meta_of(change.object).id).second);
            EXPECT_EQ(change.version, last + 1);
            last = change.version;
            EXPECT_EQ(model::meta_of(change.object).version, change.version);
        }
    }
}

TEST(driver, usage_rows_are_booked_once) {
    TestWorld world;
    model::UsageShipped shipped{.ticket = 1, .gateway = "g", .epoch = 1, .first_sequence = 1, .rows = {}};
    for (std::int64_t i = 1; i <= 3; ++i) shipped.rows.push_back({.gateway = {}, .epoch = 1, .sequence = i});
    world.run({shipped});
    EXPECT_EQ(world.records.back().requests.size(), 3u);
    EXPECT_EQ(world.acknowledged, 3);
    world.run({shipped});
    EXPECT_EQ(world.records.back().requests.size(), 0u);
    EXPECT_EQ(world.acknowledged, 3);
}

TEST(command, all_actions_are_done_or_none) {
    TestWorld world;
    model::Job bad = TestWorld::job("bad", 1);
    bad.spec.queue = "nowhere";
    const model::Answer answer = world.submit({model::ApplyObject{.object = TestWorld::job("good", 1)}, model::ApplyObject{.object = bad}});
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.failed_action, 1);
    EXPECT_EQ(answer.error->field, "spec.queue");
    EXPECT_FALSE(world.driver.state().table<model::Job>().find_named("default", "default", "good"));
}

// A refused request must not take away what other inputs of its batch have set going.
TEST(command, refused_command_in_the_batch_of_an_exit_loses_nothing) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.apply(TestWorld::job("two", 1));
    world.start_all();
    const auto task = world.tasks_of("one")[0];
    model::Command refused{.ticket = 900,
                           .caller = {.subject = std::string(platform_subject), .key_id = {}, .request_id = {}},
                           .actions = {model::DeleteObject{{model::Kind::queue, "", "", "default"}}},
                           .idempotency_key = {},
                           .body_digest = {},
                           .dry_run = false};
    world.run({model::TaskExited{.task = task, .exit = {.code = 0, .signal = 0, .at = world.now}, .start_error = {}}, refused});
    EXPECT_TRUE(world.answers[900].error);
    EXPECT_EQ(world.phase_of("one"), model::Phase::succeeded);
    EXPECT_EQ(world.phase_of("two"), model::Phase::starting);
}

TEST(command, one_idempotency_key_makes_one_object) {
    TestWorld world;
    const model::Answer first = world.submit({model::ApplyObject{.object = TestWorld::job("one", 1), .mode = model::ApplyMode::create}}, "k", "b");
    const model::Answer again = world.submit({model::ApplyObject{.object = TestWorld::job("one", 1), .mode = model::ApplyMode::create}}, "k", "b");
    ASSERT_FALSE(again.error);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.outcomes.front().uid, first.outcomes.front().uid);
    const model::Answer other = world.submit({model::ApplyObject{.object = TestWorld::job("two", 1)}}, "k", "c");
    ASSERT_TRUE(other.error);
    EXPECT_EQ(other.error->code, ErrorCode::mismatch);
}

TEST(command, stale_generation_is_a_conflict_and_status_never_makes_one) {
    TestWorld world;
    world.apply(TestWorld::job("one", 9));
    model::Job edit = world.job_named("one");
    edit.spec.priority = 5;
    EXPECT_FALSE(world.apply(edit).error);
    const model::Answer stale = world.apply(edit);
    EXPECT_FALSE(stale.error && stale.error->code != ErrorCode::conflict);
    edit.spec.priority = 6;
    const model::Answer conflict = world.apply(edit);
    ASSERT_TRUE(conflict.error);
    EXPECT_EQ(conflict.error->field, "metadata.generation");
}

TEST(command, stranger_is_refused_and_the_denial_is_audited) {
    TestWorld world;
    const model::Answer answer = world.submit({model::ApplyObject{.object = TestWorld::job("one", 1)}}, "", "", "user:mallory");
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code, ErrorCode::denied);
    ASSERT_FALSE(world.records.back().audit.empty());
    EXPECT_FALSE(world.records.back().audit.back().allowed);
}

TEST(command, deleted_job_goes_when_its_process_is_gone) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.start_all();
    world.submit({model::DeleteObject{{model::Kind::job, "default", "default", "one"}}});
    EXPECT_TRUE(world.driver.state().table<model::Job>().find_named("default", "default", "one"));
    world.stop_all();
    EXPECT_FALSE(world.driver.state().table<model::Job>().find_named("default", "default", "one"));
    EXPECT_EQ(world.driver.state().table<model::Replica>().size(), 0u);
}

}  // namespace
}  // namespace tandem::core
