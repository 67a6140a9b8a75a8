// SPDX-License-Identifier: Apache-2.0
#include "core/arrays.h"

#include "core/recover.h"
#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::JobAct;
using model::Phase;
using model::ReasonCode;

model::Job array(const std::string& name, std::int64_t count, std::int64_t max_running = 0) {
    model::Job job = TestWorld::job(name, 1);
    job.spec.command = {"work", "hard"};
    job.spec.array = model::JobArray{.count = count, .indices = {}, .max_running = max_running};
    return job;
}

model::Answer act(TestWorld& world, const std::string& name, JobAct wanted,
                  std::optional<std::int64_t> priority = std::nullopt) {
    return world.submit(
        {model::ActOnJob{{model::Kind::job, "default", "default", name}, wanted, priority}});
}

model::ElementCounts counts(const TestWorld& world, const std::string& name) {
    return *world.job_named(name).status.elements;
}

void expect_sound(const TestWorld& world) {
    EXPECT_EQ(world.driver.state().book.check(), "");
    EXPECT_EQ(world.driver.state().planner.recount(), "");
}

// Rows alone make the same planner and the same counts of submitted work.
void expect_recoverable(const TestWorld& world) {
    const State& live = world.driver.state();
    RecoveredState rows{.meta = live.meta};
    live.each_table([&](const auto& table) {
        for (const auto& [id, row] : table.rows()) rows.objects.push_back(row);
    });
    State again;
    ASSERT_TRUE(recover_state(again, std::move(rows)));
    EXPECT_EQ(again.planner.recount(), "");
    EXPECT_EQ(again.live.submitted.rows(), live.live.submitted.rows());
}

TEST(Array, elements_are_jobs_with_an_index_and_the_array_counts_them) {
    TestWorld world;
    world.add_node("n1", 2);
    EXPECT_FALSE(world.apply(array("sweep", 3)).error);
    EXPECT_EQ(counts(world, "sweep"),
              (model::ElementCounts{.total = 3, .made = 3, .pending = 1, .running = 2}));
    EXPECT_EQ(world.phase_of("sweep"), Phase::running);
    const auto starts = world.open<model::StartTask>();
    ASSERT_EQ(starts.size(), 2U);
    EXPECT_EQ(starts[1].env.at("TANDEM_ARRAY_INDEX"), "1");
    EXPECT_EQ(starts[1].env.at("TANDEM_ARRAY_COUNT"), "3");
    EXPECT_EQ(starts[1].env.at("TANDEM_ARRAY"), "sweep");
    EXPECT_EQ(starts[1].command, (std::vector<std::string>{"work", "hard"}));
    EXPECT_TRUE(world.job_named("sweep-1").spec.command.empty());
    expect_recoverable(world);
    world.start_all();
    world.exit_task(world.tasks_of("sweep-0")[0], 0);
    world.exit_task(world.tasks_of("sweep-1")[0], 3);
    world.start_all();
    world.exit_task(world.tasks_of("sweep-2")[0], 0);
    EXPECT_EQ(world.phase_of("sweep"), Phase::failed);
    EXPECT_EQ(counts(world, "sweep"),
              (model::ElementCounts{.total = 3, .made = 3, .succeeded = 2, .failed = 1}));
    EXPECT_EQ(world.job_named("sweep").status.reason.code, ReasonCode::elements_failed);
    EXPECT_TRUE(world.driver.state().live.submitted.rows().empty());
    expect_sound(world);
    expect_recoverable(world);
}

TEST(Array, indices_may_have_gaps_and_steps) {
    TestWorld world;
    model::Job job = array("sweep", 0);
    job.spec.array->indices = "7,10-20:5";
    EXPECT_FALSE(world.apply(job).error);
    for (const char* name : {"sweep-7", "sweep-10", "sweep-15", "sweep-20"})
        EXPECT_EQ(world.phase_of(name), Phase::pending);
    EXPECT_EQ(counts(world, "sweep").total, 4);
}

TEST(Array, no_more_run_than_its_cap_and_each_that_ends_lets_one_follow) {
    TestWorld world;
    world.add_node("n1", 8);
    world.apply(array("sweep", 6, 2));
    EXPECT_EQ(counts(world, "sweep").running, 2);
    EXPECT_EQ(world.job_named("sweep-4").status.reason.code, ReasonCode::array_limit);
    const auto verdict = world.driver.state().planner.verdict(world.job_named("sweep-4").meta.id);
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->proved);
    EXPECT_EQ(verdict->reason.code, ReasonCode::array_limit);
    EXPECT_EQ(verdict->holders.size(), 2U);
    world.start_all();
    world.exit_task(world.tasks_of("sweep-1")[0], 0);
    EXPECT_EQ(counts(world, "sweep").running, 2);
    EXPECT_EQ(world.phase_of("sweep-2"), Phase::starting);
    model::Job wider = array("sweep", 6, 4);
    EXPECT_FALSE(world.apply(wider).error);
    EXPECT_EQ(counts(world, "sweep").running, 4);
    expect_sound(world);
    expect_recoverable(world);
}

TEST(Array, full_array_keeps_nobody_of_its_queue_waiting) {
    TestWorld world;
    world.add_node("n1", 3);
    world.apply(array("sweep", 4, 1));
    world.apply(TestWorld::job("other", 2));
    EXPECT_EQ(world.phase_of("other"), Phase::starting);
}

TEST(Array, large_arrays_are_made_a_part_in_each_batch) {
    TestWorld world;
    world.apply(array("sweep", 2500));
    EXPECT_EQ(counts(world, "sweep").made, 1000);
    EXPECT_EQ(world.driver.next_wake().value_or(Instant{}), world.now);
    EXPECT_EQ(world.apply(TestWorld::job("sweep-2400", 1)).error->code, ErrorCode::conflict);
    expect_recoverable(world);
    world.pass(seconds(1));
    EXPECT_EQ(counts(world, "sweep").made, 2500);
    EXPECT_EQ(counts(world, "sweep").pending, 2500);
    EXPECT_FALSE(act(world, "sweep", JobAct::cancel).error);
    EXPECT_EQ(world.phase_of("sweep"), Phase::cancelled);
    EXPECT_TRUE(world.driver.state().live.submitted.rows().empty());
    world.submit({model::DeleteObject{{model::Kind::job, "default", "default", "sweep"}}});
    world.pass(seconds(1));
    EXPECT_EQ(world.driver.state().table<model::Job>().size(), 0U);
}

TEST(Array, cancelled_before_all_are_made_it_makes_no_more) {
    TestWorld world;
    world.apply(array("sweep", 1500));
    act(world, "sweep", JobAct::cancel);
    world.pass(seconds(1));
    EXPECT_EQ(counts(world, "sweep").made, 1000);
    EXPECT_EQ(world.phase_of("sweep"), Phase::cancelled);
    EXPECT_TRUE(world.driver.state().live.submitted.rows().empty());
    EXPECT_FALSE(act(world, "sweep", JobAct::retry).error);
    world.pass(seconds(1));
    EXPECT_EQ(counts(world, "sweep").pending, 1500);
    EXPECT_EQ(world.driver.state().live.submitted.rows().begin()->second, 1500);
}

TEST(Array, acts_reach_the_whole_or_one_element) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(array("sweep", 2));
    world.start_all();
    EXPECT_FALSE(act(world, "sweep", JobAct::suspend).error);
    world.stop_all(75, 0);
    EXPECT_EQ(counts(world, "sweep").pending, 2);
    EXPECT_EQ(world.job_named("sweep-1").status.reason.code, ReasonCode::suspended);
    EXPECT_FALSE(act(world, "sweep-0", JobAct::hold).error);
    EXPECT_FALSE(act(world, "sweep", JobAct::resume).error);
    EXPECT_EQ(world.phase_of("sweep-0"), Phase::pending);
    EXPECT_EQ(world.phase_of("sweep-1"), Phase::starting);
    EXPECT_FALSE(act(world, "sweep-0", JobAct::cancel).error);
    EXPECT_EQ(world.phase_of("sweep-0"), Phase::cancelled);
    EXPECT_EQ(act(world, "sweep", JobAct::front).error->code, ErrorCode::conflict);
    world.start_all();
    world.exit_task(world.tasks_of("sweep-1")[0], 0);
    EXPECT_EQ(world.phase_of("sweep"), Phase::cancelled);
    EXPECT_FALSE(act(world, "sweep", JobAct::retry).error);
    EXPECT_EQ(world.phase_of("sweep-0"), Phase::pending);  // still held
    EXPECT_FALSE(act(world, "sweep-0", JobAct::release).error);
    EXPECT_EQ(world.phase_of("sweep-0"), Phase::starting);
    expect_sound(world);
}

TEST(Array, tried_again_it_is_over_when_its_elements_are) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(array("sweep", 3));
    world.start_all();
    for (int i : {0, 1}) world.exit_task(world.tasks_of(fmt::format("sweep-{}", i))[0], 0);
    world.exit_task(world.tasks_of("sweep-2")[0], 1);
    EXPECT_EQ(world.phase_of("sweep"), Phase::failed);
    EXPECT_FALSE(act(world, "sweep", JobAct::retry).error);
    EXPECT_FALSE(model::is_terminal(world.phase_of("sweep")));
    world.start_all();
    EXPECT_EQ(world.phase_of("sweep"), Phase::running);
    EXPECT_EQ(counts(world, "sweep").failed, 0);
    world.exit_task(world.tasks_of("sweep-2")[0], 0);
    EXPECT_EQ(world.phase_of("sweep"), Phase::succeeded);
    expect_sound(world);
}

TEST(Array, held_array_starts_none_of_its_elements) {
    TestWorld world;
    world.apply(array("sweep", 2));
    act(world, "sweep", JobAct::hold);
    world.add_node("n1", 4);
    EXPECT_EQ(world.job_named("sweep-0").status.reason.code, ReasonCode::held);
    act(world, "sweep", JobAct::release);
    EXPECT_EQ(counts(world, "sweep").running, 2);
}

TEST(Array, waits_for_other_jobs_as_a_whole_and_others_for_it) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(TestWorld::job("first", 1));
    model::Job job = array("sweep", 2);
    job.spec.after = {{"first", model::DependencyWhen::ok}};
    world.apply(job);
    model::Job last = TestWorld::job("last", 1);
    last.spec.after = {{"sweep", model::DependencyWhen::ok}};
    world.apply(last);
    EXPECT_EQ(counts(world, "sweep").made, 0);
    EXPECT_EQ(world.job_named("sweep").status.reason.code, ReasonCode::waiting_for_job);
    world.start_all();
    world.exit_task(world.tasks_of("first")[0], 0);
    EXPECT_EQ(counts(world, "sweep").running, 2);
    world.start_all();
    for (const char* name : {"sweep-0", "sweep-1"}) world.exit_task(world.tasks_of(name)[0], 0);
    EXPECT_EQ(world.phase_of("sweep"), Phase::succeeded);
    EXPECT_EQ(world.phase_of("last"), Phase::starting);
}

TEST(Array, elements_retry_by_themselves) {
    TestWorld world;
    world.add_node("n1", 2);
    model::Job job = array("sweep", 2);
    job.spec.retries = {.limit = 1, .backoff = seconds(1)};
    world.apply(job);
    world.start_all();
    world.exit_task(world.tasks_of("sweep-0")[0], 1);
    EXPECT_EQ(world.job_named("sweep-0").status.failures, 1);
    EXPECT_EQ(counts(world, "sweep").pending, 1);
    world.pass(seconds(2));
    EXPECT_EQ(world.phase_of("sweep-0"), Phase::starting);
    EXPECT_EQ(world.job_named("sweep-1").status.failures, 0);
}

TEST(Array, element_whose_outputs_are_stored_is_counted_as_over) {
    TestWorld world;
    world.add_node("n1", 1);
    model::Job job = array("sweep", 1);
    job.spec.outputs = {{.name = "weights", .path = "weights.bin"}};
    world.apply(job);
    world.start_all();
    const model::TaskName task = world.tasks_of("sweep-0")[0];
    world.exit_task(task, 0);
    EXPECT_EQ(world.phase_of("sweep"), Phase::running);
    world.run({model::OutputStored{
        .task = task, .outputs = {{.name = "weights", .digest = "sha256:0", .bytes = 1}}}});
    EXPECT_EQ(world.phase_of("sweep-0"), Phase::succeeded);
    EXPECT_EQ(world.phase_of("sweep"), Phase::succeeded);
}

TEST(Array, what_cannot_be_is_refused_and_leaves_nothing) {
    TestWorld world;
    world.apply(TestWorld::job("taken-1", 1));
    EXPECT_EQ(world.apply(array("taken", 2)).error->field, "metadata.name");
    EXPECT_EQ(world.apply(array("sweep", 0)).error->field, "spec.array.count");
    EXPECT_EQ(world.apply(array("sweep", 10'001)).error->field, "spec.array.count");
    model::Job both = array("sweep", 2);
    both.spec.array->indices = "0-3";
    EXPECT_EQ(world.apply(both).error->field, "spec.array.indices");
    for (const char* text :
         {"", "3-1", "1,1", "x", "1-", "1-5:0", "-1", "0-1000000", "0-20000", "1,,2"}) {
        model::Job job = array("sweep", 0);
        job.spec.array->indices = text;
        EXPECT_TRUE(world.apply(job).error) << text;
    }
    EXPECT_FALSE(world.apply(array("sweep", 2)).error);
    EXPECT_EQ(world.apply(array("sweep", 3)).error->field, "spec");
    EXPECT_EQ(world.apply(TestWorld::job("sweep", 1)).error->field, "spec.array");
    EXPECT_EQ(world.apply(TestWorld::job("sweep-1", 1)).error->code, ErrorCode::conflict);
    EXPECT_EQ(
        world.submit({model::DeleteObject{{model::Kind::job, "default", "default", "sweep-1"}}})
            .error->code,
        ErrorCode::conflict);
    EXPECT_EQ(world.driver.state().table<model::Job>().size(), 4U);
}

TEST(Array, full_disk_while_elements_are_made_leaves_none_of_them) {
    TestWorld world;
    world.add_node("n1", 1);
    world.outcome = CommitOutcome::full;
    world.apply(array("sweep", 3, 1));
    EXPECT_EQ(world.driver.state().table<model::Job>().size(), 0U);
    EXPECT_TRUE(world.driver.state().live.submitted.rows().empty());
    world.outcome = CommitOutcome::committed;
    EXPECT_FALSE(world.apply(array("sweep", 3, 1)).error);
    EXPECT_EQ(counts(world, "sweep").running, 1);
    expect_sound(world);
}

}  // namespace
}  // namespace tandem::core
