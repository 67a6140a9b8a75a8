// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/members.h"
#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::Job;
using model::JobAct;
using model::Phase;
using model::ReasonCode;
using model::Replica;

Job elastic(const std::string& name, std::int64_t least, std::int64_t most) {
    Job job = TestWorld::job(name, 1);
    job.spec.roles.front().min_replicas = least;
    job.spec.roles.front().max_replicas = most;
    job.spec.elastic.grow_after = seconds(30);
    return job;
}

Job restarting(const std::string& name, std::int64_t least, std::int64_t most) {
    Job job = elastic(name, least, most);
    job.spec.form = model::JobTemplate::torchrun;
    job.spec.checkpoint.enabled = true;
    job.spec.checkpoint.restart_time = seconds(1);
    return job;
}

std::int64_t count_events(const TestWorld& world, const std::string& job, ReasonCode code) {
    std::int64_t count = 0;
    for (const model::BatchRecord& record : world.records)
        count += std::ranges::count_if(record.events, [&](const model::EventRecord& event) {
            return event.about.name == job && event.reason.code == code;
        });
    return count;
}

std::vector<std::int64_t> ranks_of(const TestWorld& world, const std::string& job) {
    std::vector<std::int64_t> ranks;
    for (RowId id : members_of(world.driver.state(), world.job_named(job).meta.id))
        ranks.push_back(world.driver.state().table<Replica>().get(id).spec.rank);
    return ranks;
}

void expect_exact(const TestWorld& world) {
    EXPECT_EQ(world.driver.state().planner.recount(), "");
    EXPECT_EQ(world.driver.state().book.check(), "");
}

void act(TestWorld& world, const std::string& name, JobAct wanted) {
    world.submit({model::ActOnJob{{model::Kind::job, "default", "default", name}, wanted}});
}

TEST(elastic, job_starts_at_once_with_all_that_is_idle_up_to_its_most) {
    TestWorld world;
    world.add_node("n1", 6);
    world.apply(elastic("e", 2, 5));
    const auto starts = world.open<model::StartTask>();
    ASSERT_EQ(starts.size(), 5U);
    for (const model::StartTask& start : starts) EXPECT_EQ(start.world_size, 5);
    world.start_all();
    EXPECT_EQ(world.phase_of("e"), Phase::running);
    EXPECT_EQ(world.job_named("e").status.replicas, 5);
    expect_exact(world);
}

TEST(elastic, job_without_room_for_its_least_holds_nothing) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(elastic("e", 2, 5));
    EXPECT_EQ(world.phase_of("e"), Phase::pending);
    EXPECT_TRUE(world.open<model::StartTask>().empty());
}

TEST(elastic, member_gives_way_alone_and_the_others_run_on) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(elastic("e", 1, 4));
    world.start_all();
    world.apply(TestWorld::job("one", 1));
    EXPECT_EQ(world.phase_of("e"), Phase::running);
    EXPECT_EQ(world.phase_of("one"), Phase::claimed);
    EXPECT_EQ(count_events(world, "e", ReasonCode::gave_surplus), 1);
    ASSERT_EQ(world.open<model::StopTask>().size(), 1U);
    EXPECT_EQ(world.open<model::StopTask>().front().task.rank, 3);  // the youngest
    world.stop_all();
    EXPECT_EQ(world.phase_of("one"), Phase::starting);
    EXPECT_EQ(ranks_of(world, "e"), (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(world.job_named("e").status.preemptions, 0);
    expect_exact(world);
}

TEST(elastic, member_that_joins_gets_a_rank_of_its_own_and_waits_for_calm) {
    TestWorld world;
    world.add_node("n1", 3);
    world.apply(elastic("e", 1, 3));
    world.start_all();
    world.apply(TestWorld::job("one", 1));
    world.stop_all();
    world.start_all();
    world.exit_task(world.tasks_of("one")[0], 0);
    world.pass(seconds(50));
    EXPECT_EQ(world.job_named("e").status.replicas, 2);  // twice growAfter
    world.pass(seconds(20));
    EXPECT_EQ(world.job_named("e").status.replicas, 3);
    EXPECT_EQ(ranks_of(world, "e"), (std::vector<std::int64_t>{0, 1, 3}));
    EXPECT_EQ(count_events(world, "e", ReasonCode::grew), 1);
    world.start_all();
    for (const model::TaskName& task : world.tasks_of("e")) world.exit_task(task, 0);
    EXPECT_EQ(world.phase_of("e"), Phase::succeeded);
    expect_exact(world);
}

TEST(elastic, ranks_that_restart_keep_their_devices_and_are_numbered_anew) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(restarting("t", 2, 4));
    world.start_all();
    world.apply(TestWorld::job("one", 1));
    EXPECT_EQ(world.phase_of("t"), Phase::stopping);
    EXPECT_EQ(world.job_named("t").status.reason.code, ReasonCode::resizing);
    EXPECT_EQ(world.open<model::StopTask>().size(), 4U);
    world.apply(TestWorld::job("two", 1));  // what stays is nobody else's
    EXPECT_EQ(world.phase_of("two"), Phase::claimed);
    world.apply(TestWorld::job("three", 1));
    EXPECT_EQ(world.phase_of("three"), Phase::pending);
    world.stop_all();
    EXPECT_EQ(world.phase_of("t"), Phase::starting);
    EXPECT_EQ(world.phase_of("one"), Phase::starting);
    EXPECT_EQ(world.phase_of("two"), Phase::starting);
    EXPECT_EQ(world.job_named("t").status.epoch, 2);
    std::vector<std::int64_t> members;
    for (const model::StartTask& start : world.open<model::StartTask>()) {
        if (start.task.uid != world.job_named("t").meta.uid) continue;
        EXPECT_EQ(start.world_size, 2);
        members.push_back(start.member.value_or(-1));
    }
    EXPECT_EQ(members, (std::vector<std::int64_t>{0, 1}));
    expect_exact(world);
}

TEST(elastic, restart_to_grow_waits_ten_times_its_restart_time_and_needs_checkpoints) {
    TestWorld world;
    world.add_node("n1", 2);
    world.apply(TestWorld::job("one", 1));
    Job saves = restarting("t", 1, 2);
    saves.spec.checkpoint.restart_time = minutes(1);
    world.apply(saves);
    world.start_all();
    world.exit_task(world.tasks_of("one")[0], 0);
    world.pass(minutes(9));
    EXPECT_EQ(world.phase_of("t"), Phase::running);
    world.pass(minutes(2));
    EXPECT_EQ(world.phase_of("t"), Phase::stopping);
    world.stop_all();
    EXPECT_EQ(world.open<model::StartTask>().size(), 2U);
    world.start_all();
    EXPECT_EQ(world.phase_of("t"), Phase::running);
    expect_exact(world);
}

TEST(elastic, work_that_saves_nothing_is_not_restarted_to_grow) {
    TestWorld world;
    world.add_node("n1", 2);
    world.apply(TestWorld::job("one", 1));
    Job loses = restarting("t", 1, 2);
    loses.spec.checkpoint.enabled = false;
    world.apply(loses);
    world.start_all();
    world.exit_task(world.tasks_of("one")[0], 0);
    world.pass(hours(3));
    EXPECT_EQ(world.phase_of("t"), Phase::running);
    EXPECT_EQ(world.job_named("t").status.replicas, 1);
}

TEST(elastic, job_that_restarts_may_be_cancelled_or_evicted_meanwhile) {
    TestWorld world;
    world.add_node("n1", 3);
    world.apply(restarting("t", 1, 3));
    world.start_all();
    world.apply(TestWorld::job("one", 1));
    ASSERT_EQ(world.phase_of("t"), Phase::stopping);
    act(world, "t", JobAct::cancel);
    world.stop_all();
    EXPECT_EQ(world.phase_of("t"), Phase::cancelled);
    EXPECT_EQ(world.phase_of("one"), Phase::starting);
    world.apply(restarting("u", 1, 2));
    world.start_all();
    world.apply(TestWorld::job("two", 1, 5));
    ASSERT_EQ(world.job_named("u").status.ending, model::Ending::resized);
    world.apply(TestWorld::job("three", 1, 5));
    EXPECT_EQ(world.job_named("u").status.ending, model::Ending::preempted);
    world.stop_all();
    EXPECT_EQ(world.phase_of("u"), Phase::pending);
    EXPECT_EQ(world.job_named("u").status.replicas, 0);
    EXPECT_EQ(world.phase_of("three"), Phase::starting);
    expect_exact(world);
}

TEST(elastic, members_beyond_the_need_count_in_limits_of_devices) {
    TestWorld world;
    world.add_node("n1", 4);
    model::Queue limited;
    limited.meta.name = "limited";
    limited.spec.limits.devices = 2000;
    EXPECT_FALSE(world.apply(limited).error);
    Job job = elastic("e", 1, 4);
    job.spec.queue = "limited";
    EXPECT_FALSE(world.apply(job).error);
    EXPECT_EQ(world.job_named("e").status.replicas, 2);
    expect_exact(world);
}

TEST(elastic, preempted_job_begins_anew_with_what_there_is) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(elastic("e", 2, 4));
    world.start_all();
    world.apply(TestWorld::job("big", 4, 5));
    EXPECT_EQ(count_events(world, "e", ReasonCode::preempted), 1);
    world.stop_all();
    EXPECT_EQ(world.phase_of("e"), Phase::pending);
    world.start_all();
    for (const model::TaskName& task : world.tasks_of("big")) world.exit_task(task, 0);
    EXPECT_EQ(world.job_named("e").status.replicas, 4);
    EXPECT_EQ(ranks_of(world, "e"), (std::vector<std::int64_t>{0, 1, 2, 3}));
    expect_exact(world);
}

}  // namespace
}  // namespace tandem::core
