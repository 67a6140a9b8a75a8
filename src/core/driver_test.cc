// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

TEST(driver, held_store_is_told_as_unavailable_and_undone) {
    TestWorld world;
    world.outcome = CommitOutcome::busy;
    const model::Answer refused = world.apply(TestWorld::job("one", 1));
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->code, ErrorCode::unavailable);
    EXPECT_FALSE(world.driver.state().table<model::Job>().find_named("default", "default", "one"));
    world.outcome = CommitOutcome::committed;
    EXPECT_FALSE(world.apply(TestWorld::job("one", 1)).error);
}

TEST(driver, stored_ends_are_settled_once_committed) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.start_all();
    const model::TaskName task = world.tasks_of("one")[0];
    world.outcome = CommitOutcome::full;
    world.exit_task(task, 0);
    EXPECT_TRUE(world.settled.empty());
    world.outcome = CommitOutcome::committed;
    world.run(world.driver.take_retry());
    EXPECT_EQ(world.settled, std::vector{task});
}

TEST(driver, overdue_intents_are_executed_again_without_a_restart) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    ASSERT_EQ(world.open<model::StartTask>().size(), 1u);
    const auto starts = [&] {
        return std::ranges::count_if(world.executed, [](const model::Intent& intent) {
            return std::holds_alternative<model::StartTask>(intent.body);
        });
    };
    EXPECT_EQ(starts(), 1);
    world.pass(seconds(10));
    EXPECT_EQ(starts(), 1);
    world.pass(seconds(25));
    EXPECT_EQ(starts(), 2);
}

TEST(driver, full_segment_is_followed_by_the_next_and_waiting_work_still_starts) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.apply(TestWorld::job("two", 1));
    world.start_all();
    world.full_segment = world.no_segment = true;
    world.run({model::TimerFired{}});
    EXPECT_EQ(world.segments, (std::vector<std::int64_t>{1}));  // no room: the one of before goes on
    EXPECT_EQ(world.driver.state().meta.segment, 1);
    world.no_segment = false;
    world.run({model::TimerFired{}});
    EXPECT_EQ(world.segments, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(world.driver.state().meta.segment, 2);
    world.outcome = CommitOutcome::full;  // what the new segment looks at is not lost with its first batch
    world.run({model::TimerFired{}});
    world.outcome = CommitOutcome::committed;
    world.exit_task(world.tasks_of("one")[0], 0);
    EXPECT_EQ(world.phase_of("one"), model::Phase::succeeded);
    EXPECT_EQ(world.phase_of("two"), model::Phase::starting);
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

TEST(command, replayed_answer_tells_the_version_of_then) {
    TestWorld world;
    const std::vector<model::Action> make{
        model::ApplyObject{.object = TestWorld::job("one", 9), .mode = model::ApplyMode::create}};
    const model::Answer first = world.submit(make, "k", "b");
    ASSERT_GT(first.outcomes.front().version, 0);
    model::Job edit = world.job_named("one");
    edit.spec.priority = 5;
    ASSERT_FALSE(world.apply(edit).error);
    ASSERT_GT(world.job_named("one").meta.version, first.outcomes.front().version);
    EXPECT_EQ(world.submit(make, "k", "b").outcomes.front().version, first.outcomes.front().version);
    world.submit({model::DeleteObject{.key = model::key_of(model::Object{edit})}}, "", "");
    EXPECT_EQ(world.submit(make, "k", "b").outcomes.front().version, first.outcomes.front().version);
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

TEST(driver, decayed_use_and_spent_evictions_are_in_the_rows_of_queues_and_come_back) {
    TestWorld world;
    world.add_node("n1", 1);
    model::Queue queue;
    queue.meta.name = "default";
    queue.spec.usage_half_life = hours(1);
    queue.spec.preemption.per_minute = 6;
    queue.spec.preemption.burst = 3;
    ASSERT_FALSE(world.apply(queue).error);
    world.apply(TestWorld::job("low", 1));
    world.start_all();
    world.pass(minutes(30));
    world.apply(TestWorld::job("high", 1, 5));
    world.stop_all();
    const model::Queue& row = *world.driver.state().table<model::Queue>().find_named("default");
    ASSERT_EQ(row.status.used.size(), 1u);
    EXPECT_EQ(row.status.used[0].flavor, "card");
    EXPECT_NE(row.status.used[0].amount, "0");
    ASSERT_TRUE(row.status.evictions_at);
    EXPECT_EQ(row.status.evictions_left, 2000);
    sched::Planner planner;
    planner.advance(world.now);
    planner.put_queue(row);
    planner.restore_memory({.queue = "default", .status = row.status});
    EXPECT_EQ(planner.recount(), "");
    ASSERT_EQ(planner.changed_memory().size(), 1u);
    EXPECT_EQ(planner.changed_memory()[0].status.evictions_left, 2000);
    EXPECT_EQ(planner.queue_lines()[0].faded_hours,
              world.driver.state().planner.queue_lines()[0].faded_hours);
    EXPECT_GT(planner.queue_lines()[0].faded_hours, 400);  // half an hour of one device, in milli-hours
}

TEST(driver, queue_that_is_emptied_lets_its_work_go_and_starts_nothing) {
    TestWorld world;
    world.add_node("n1", 2);
    world.apply(TestWorld::job("runs", 1));
    world.start_all();
    world.apply(TestWorld::job("urgent", 2, 5));
    EXPECT_EQ(world.phase_of("urgent"), model::Phase::claimed);
    model::Queue queue;
    queue.meta.name = "default";
    queue.spec.stop = model::StopPolicy::hold_and_drain;
    ASSERT_FALSE(world.apply(queue).error);
    EXPECT_EQ(world.phase_of("urgent"), model::Phase::pending);
    world.stop_all();
    EXPECT_EQ(world.phase_of("runs"), model::Phase::pending);
    EXPECT_EQ(world.driver.state().planner.pool_lines().front().used, 0);
    queue.spec.stop = model::StopPolicy::none;
    world.apply(queue);
    EXPECT_EQ(world.phase_of("urgent"), model::Phase::starting);
}


TEST(driver, jump_of_the_clock_is_an_event) {
    TestWorld world;
    world.add_node("n1", 1);
    world.run({model::ClockJumped{.by = Duration{-90'000}}});
    ASSERT_EQ(world.records.back().events.size(), 1u);
    const model::EventRecord& event = world.records.back().events[0];
    EXPECT_EQ(event.reason.code, model::ReasonCode::clock_jumped);
    EXPECT_EQ(event.reason.params.at(0).value, "-1m30s");
    EXPECT_EQ(event.about.name, "n1");
}

}  // namespace
}  // namespace tandem::core
