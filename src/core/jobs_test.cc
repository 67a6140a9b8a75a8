// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::Phase;

TEST(job, gang_runs_and_succeeds_when_every_rank_exits_zero) {
    TestWorld world;
    world.add_node("n1", 2);
    EXPECT_FALSE(world.apply(TestWorld::job("train", 2)).error);
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
    EXPECT_EQ(world.open<model::StartTask>().size(), 2u);
    world.start_all();
    EXPECT_EQ(world.phase_of("train"), Phase::running);
    const auto tasks = world.tasks_of("train");
    world.exit_task(tasks[0], 0);
    EXPECT_EQ(world.phase_of("train"), Phase::running);
    world.exit_task(tasks[1], 0);
    EXPECT_EQ(world.phase_of("train"), Phase::succeeded);
    EXPECT_EQ(world.driver.state().planner.recount(), "");
    EXPECT_EQ(world.driver.state().book.check(), "");
}

TEST(job, gang_waits_whole_when_one_device_is_missing) {
    TestWorld world;
    world.add_node("n1", 1);
    EXPECT_FALSE(world.apply(TestWorld::job("train", 2)).error);
    EXPECT_EQ(world.phase_of("train"), Phase::pending);
    EXPECT_TRUE(world.open<model::StartTask>().empty());
    const auto verdict = world.driver.state().planner.verdict(world.job_named("train").meta.id);
    ASSERT_TRUE(verdict);
    EXPECT_NE(verdict->reason.code, model::ReasonCode::none);
    world.add_node("n2", 1);
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
}

TEST(job, one_dead_rank_ends_the_gang_and_it_is_retried) {
    TestWorld world;
    world.add_node("n1", 2);
    model::Job job = TestWorld::job("train", 2);
    job.spec.retries = {.limit = 1, .backoff = seconds(1)};
    world.apply(job);
    world.start_all();
    world.exit_task(world.tasks_of("train")[1], 3);
    EXPECT_EQ(world.phase_of("train"), Phase::stopping);
    ASSERT_EQ(world.open<model::StopTask>().size(), 1u);
    world.stop_all();
    EXPECT_EQ(world.phase_of("train"), Phase::pending);
    EXPECT_EQ(world.job_named("train").status.reason.code, model::ReasonCode::exit_code);
    std::vector<model::ReasonCode> told;
    for (const model::EventRecord& event : world.records.back().events) told.push_back(event.reason.code);
    EXPECT_EQ(told, (std::vector{model::ReasonCode::exit_code, model::ReasonCode::attempt_failed}));
    world.pass(seconds(2));
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
    EXPECT_EQ(world.job_named("train").status.epoch, 2);
    world.start_all();
    world.exit_task(world.tasks_of("train")[0], 3);
    world.stop_all();
    EXPECT_EQ(world.phase_of("train"), Phase::failed);
    EXPECT_EQ(world.job_named("train").status.failures, 2);
}

// Preempted: the urgent job waits for the claim, the victim saves, waits, and goes on from its checkpoint.
TEST(job, preempted_job_resumes_from_its_checkpoint) {
    TestWorld world;
    world.add_node("n1", 2);
    model::Job train = TestWorld::job("train", 2);
    train.spec.checkpoint.enabled = true;
    world.apply(train);
    world.start_all();
    const auto tasks = world.tasks_of("train");
    world.run({model::CheckpointSeen{tasks[0], {.step = 60, .path = "/c/step-000060", .digest = "d", .at = world.now}}});
    world.apply(TestWorld::job("urgent", 2, 100));
    EXPECT_EQ(world.phase_of("train"), Phase::stopping);
    EXPECT_EQ(world.phase_of("urgent"), Phase::claimed);
    EXPECT_EQ(world.open<model::StopTask>().size(), 2u);
    world.stop_all(75, 0);
    EXPECT_EQ(world.phase_of("train"), Phase::pending);
    EXPECT_EQ(world.job_named("train").status.preemptions, 1);
    EXPECT_EQ(world.phase_of("urgent"), Phase::starting);
    world.start_all();
    for (const auto& task : world.tasks_of("urgent")) world.exit_task(task, 0);
    EXPECT_EQ(world.phase_of("urgent"), Phase::succeeded);
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
    for (const model::StartTask& start : world.open<model::StartTask>()) {
        EXPECT_EQ(start.resume_from, "/c/step-000060");
        EXPECT_EQ(start.task.epoch, 2);
    }
}

TEST(job, silent_rank_is_found_by_its_heartbeat) {
    TestWorld world;
    world.add_node("n1", 1);
    model::Job job = TestWorld::job("train", 1);
    job.spec.heartbeat_timeout = seconds(5);
    world.apply(job);
    world.start_all();
    const auto task = world.tasks_of("train")[0];
    world.run({model::TaskProgress{task, 1, world.now, world.now}});
    world.pass(seconds(4));
    EXPECT_EQ(world.phase_of("train"), Phase::running);
    world.pass(seconds(2));  // its executor may not have looked yet
    EXPECT_EQ(world.phase_of("train"), Phase::running);
    world.pass(seconds(2));
    EXPECT_EQ(world.phase_of("train"), Phase::stopping);
    EXPECT_EQ(world.job_named("train").status.reason.code, model::ReasonCode::heartbeat_lost);
}

TEST(job, silence_is_found_within_a_second_or_a_quarter_of_its_limit) {
    for (const bool beats : {true, false})
        for (const std::int64_t limit : {1, 2, 4, 8, 20, 60, 600}) {
            TestWorld world;
            world.add_node("n1", 1);
            model::Job job = TestWorld::job("train", 1);
            (beats ? job.spec.heartbeat_timeout : job.spec.silence_timeout) = seconds(limit);
            world.apply(job);
            ASSERT_EQ(world.open<model::StartTask>().size(), 1u);
            const Duration told_within = world.open<model::StartTask>().front().watch_period;
            EXPECT_LE(told_within.ms, std::min<std::int64_t>(limit * 125, 5000));
            world.start_all();
            const Instant last = world.now;
            world.run({model::TaskProgress{
                .task = world.tasks_of("train")[0], .step = 1, .beat = last, .output = last}});
            world.pass(seconds(limit));
            EXPECT_EQ(world.phase_of("train"), Phase::running) << limit;
            const Duration patience{std::max<std::int64_t>(1000, limit * 250)};
            world.pass(last + seconds(limit) + patience - world.now);
            EXPECT_EQ(world.phase_of("train"), Phase::stopping) << limit;
        }
}

TEST(job, silent_output_is_found_when_there_is_no_heartbeat) {
    TestWorld world;
    world.add_node("n1", 1);
    model::Job job = TestWorld::job("quiet", 1);
    job.spec.silence_timeout = seconds(5);
    world.apply(job);
    world.start_all();
    world.pass(seconds(5));
    EXPECT_EQ(world.phase_of("quiet"), Phase::running);
    world.pass(milliseconds(1250));
    EXPECT_EQ(world.job_named("quiet").status.reason.code, model::ReasonCode::output_silent);
}

TEST(job, cancelled_job_frees_its_device_only_when_its_process_is_gone) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.apply(TestWorld::job("two", 1));
    world.start_all();
    world.submit({model::ActOnJob{{model::Kind::job, "default", "default", "one"}, model::JobAct::cancel}});
    EXPECT_EQ(world.phase_of("one"), Phase::stopping);
    EXPECT_EQ(world.phase_of("two"), Phase::pending);
    world.stop_all();
    EXPECT_EQ(world.phase_of("one"), Phase::cancelled);
    EXPECT_EQ(world.phase_of("two"), Phase::starting);
}

TEST(job, outputs_are_kept_before_it_counts_as_succeeded) {
    TestWorld world;
    world.add_node("n1", 1);
    model::Job job = TestWorld::job("train", 1);
    job.spec.outputs = {{.name = "weights", .path = "model.gguf"}};
    world.apply(job);
    world.start_all();
    const auto task = world.tasks_of("train")[0];
    world.exit_task(task, 0);
    EXPECT_EQ(world.phase_of("train"), Phase::stopping);
    ASSERT_EQ(world.open<model::CollectOutputs>().size(), 1u);
    EXPECT_EQ(world.driver.state().planner.pool_lines().front().used, 0);
    world.run({model::OutputStored{task, {{.name = "weights", .digest = "sha256:1", .bytes = 5}}, ""}});
    EXPECT_EQ(world.phase_of("train"), Phase::succeeded);
    EXPECT_EQ(world.job_named("train").status.outputs.size(), 1u);
}

TEST(job, leftover_task_of_an_old_epoch_is_told_to_stop) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.start_all();
    model::TaskName old = world.tasks_of("one")[0];
    old.epoch = 99;
    world.run({model::TasksListed{.executor = "local", .tasks = {{.task = old, .handle = "x", .endpoint = {}, .exit = {}, .start_error = {}}}}});
    bool told = false;
    for (const model::StopTask& stop : world.open<model::StopTask>()) told = told || stop.task == old;
    EXPECT_TRUE(told);
}

TEST(job, rank_that_its_executor_does_not_list_is_gone) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.start_all();
    world.run({model::TasksListed{.executor = "local", .tasks = {}}});
    EXPECT_EQ(world.phase_of("one"), Phase::failed);
    EXPECT_EQ(world.job_named("one").status.reason.code, model::ReasonCode::shim_lost);
}

TEST(jobs, row_tells_what_it_waits_for_and_is_written_once) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("one", 1));
    world.start_all();
    world.apply(TestWorld::job("two", 1));
    world.apply(TestWorld::job("wide", 2));
    EXPECT_EQ(world.job_named("two").status.reason.code, model::ReasonCode::no_capacity);
    EXPECT_EQ(world.job_named("wide").status.reason.code, model::ReasonCode::never_fits);
    const std::int64_t version = world.job_named("wide").meta.version;
    world.exit_task(world.tasks_of("one")[0], 0);
    world.start_all();
    EXPECT_EQ(world.phase_of("two"), Phase::running);
    EXPECT_EQ(world.job_named("two").status.reason.code, model::ReasonCode::none);
    world.pass(seconds(5));
    EXPECT_EQ(world.job_named("wide").meta.version, version);
    world.add_node("n2", 1);
    EXPECT_EQ(world.job_named("wide").status.reason.code, model::ReasonCode::no_capacity);
    EXPECT_GT(world.job_named("wide").meta.version, version);
}


std::vector<model::Reason> told_of(const TestWorld& world, const std::string& job) {
    std::vector<model::Reason> told;
    for (const model::BatchRecord& record : world.records)
        for (const model::EventRecord& event : record.events)
            if (event.about.name == job) told.push_back(event.reason);
    return told;
}
std::int64_t count_of(const std::vector<model::Reason>& told, model::ReasonCode code) {
    return std::ranges::count_if(told, [&](const auto& reason) { return reason.code == code; });
}

TEST(job, one_that_ends_at_once_has_started_first) {
    TestWorld world;
    world.add_node("n1", 2);
    world.apply(TestWorld::job("well", 1));
    world.apply(TestWorld::job("badly", 1));
    world.apply(TestWorld::job("never", 1));
    std::vector<model::Input> inputs;
    for (const auto& [job, code] : {std::pair{"well", 0}, {"badly", 7}}) {
        const model::TaskName task = world.tasks_of(job)[0];
        inputs.push_back(model::TaskStarted{.task = task, .handle = "h", .at = world.now});
        inputs.push_back(model::TaskExited{.task = task, .exit = {.code = code, .at = world.now}});
    }
    world.run(std::move(inputs));
    world.run({model::TaskExited{.task = world.tasks_of("never")[0],
                                 .exit = {.code = -1, .at = world.now},
                                 .start_error = "no such file"}});
    EXPECT_EQ(world.phase_of("well"), model::Phase::succeeded);
    EXPECT_EQ(world.phase_of("badly"), model::Phase::failed);
    EXPECT_EQ(world.phase_of("never"), model::Phase::failed);
    EXPECT_EQ(count_of(told_of(world, "well"), model::ReasonCode::started), 1);
    EXPECT_EQ(count_of(told_of(world, "badly"), model::ReasonCode::started), 1);
    EXPECT_EQ(count_of(told_of(world, "never"), model::ReasonCode::started), 0);
}

// Before it stops: what may be lost. After: what was lost, which is nothing with a checkpoint saved
// on TERM.
TEST(job, preempted_job_tells_what_it_has_lost_once_it_has_stopped) {
    for (const bool saves : {true, false}) {
        TestWorld world;
        world.add_node("n1", 1);
        model::Job train = TestWorld::job("train", 1);
        train.spec.checkpoint.enabled = true;
        world.apply(train);
        world.start_all();
        const model::TaskName task = world.tasks_of("train")[0];
        world.run({model::CheckpointSeen{
            task, {.step = 60, .path = "/c/60", .digest = "d", .at = world.now}}});
        world.pass(seconds(3));
        world.run({model::TaskProgress{.task = task, .step = 75, .output = world.now}});
        world.apply(TestWorld::job("urgent", 1, 100));
        const model::Reason asked = world.job_named("train").status.reason;
        ASSERT_EQ(asked.code, model::ReasonCode::preempted);
        EXPECT_EQ(asked.params.back().name, "atRisk");
        if (saves)
            world.run({model::CheckpointSeen{
                task, {.step = 75, .path = "/c/75", .digest = "d", .at = world.now}}});
        world.stop_all(75, 0);
        const std::vector<model::Reason> told = told_of(world, "train");
        const auto stopped = std::ranges::find_if(told, [](const auto& reason) {
            return reason.code == model::ReasonCode::work_stopped;
        });
        ASSERT_NE(stopped, told.end());
        const auto& params = stopped->params;
        if (saves) {
            EXPECT_EQ(params, (std::vector<model::ReasonParam>{{"kept", "75"}}));
        } else {
            EXPECT_EQ(params.front(), (model::ReasonParam{"step", "60"}));
            EXPECT_EQ(params.back(), (model::ReasonParam{"steps", "15"}));
            EXPECT_EQ(params.at(1).value.substr(0, 2), "3s");
        }
    }
}

}  // namespace
}  // namespace tandem::core
