// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::JobAct;
using model::Phase;
using model::ReasonCode;

model::Answer act(TestWorld& world, const std::string& name, JobAct wanted,
                  const std::string& subject = std::string(platform_subject)) {
    return world.submit(
        {model::ActOnJob{{model::Kind::job, "default", "default", name}, wanted}}, "", "", subject);
}

void add_person(TestWorld& world, const std::string& name, model::Role role) {
    model::User user;
    user.meta.name = name;
    EXPECT_FALSE(world.apply(user).error);
    model::RoleBinding binding;
    binding.meta.name = name;
    binding.spec = {.subject = "user:" + name, .role = role, .project = {}};
    if (role == model::Role::algorithm_user) binding.spec.project = "default";
    EXPECT_FALSE(world.apply(binding).error);
}

model::Answer apply_as(TestWorld& world, model::Object object, const std::string& name) {
    return world.submit({model::ApplyObject{.object = std::move(object)}}, "", "", "user:" + name);
}

TEST(job_control, held_job_waits_until_its_holder_releases_it) {
    TestWorld world;
    world.add_node("n1", 1);
    add_person(world, "ada", model::Role::algorithm_user);
    add_person(world, "bob", model::Role::algorithm_user);
    world.apply(TestWorld::job("first", 1));
    world.apply(TestWorld::job("second", 1));
    EXPECT_FALSE(act(world, "second", JobAct::hold, "user:ada").error);
    world.start_all();
    world.exit_task(world.tasks_of("first")[0], 0);
    EXPECT_EQ(world.phase_of("second"), Phase::pending);
    EXPECT_EQ(world.job_named("second").status.reason.code, ReasonCode::held);
    EXPECT_EQ(act(world, "second", JobAct::release, "user:bob").error->code, ErrorCode::denied);
    EXPECT_EQ(world.phase_of("second"), Phase::pending);
    EXPECT_FALSE(act(world, "second", JobAct::release, "user:ada").error);
    EXPECT_EQ(world.phase_of("second"), Phase::starting);
}

TEST(job_control, who_may_change_queues_releases_the_holds_of_others) {
    TestWorld world;
    add_person(world, "ada", model::Role::algorithm_user);
    add_person(world, "root", model::Role::platform_admin);
    world.apply(TestWorld::job("one", 1));
    act(world, "one", JobAct::hold, "user:ada");
    EXPECT_FALSE(act(world, "one", JobAct::release, "user:root").error);
    EXPECT_EQ(world.job_named("one").status.held_by, "");
}

TEST(job_control, suspended_job_saves_gives_its_device_away_and_goes_on_when_resumed) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("train", 1));
    world.start_all();
    world.apply(TestWorld::job("next", 1));
    EXPECT_FALSE(act(world, "train", JobAct::suspend).error);
    EXPECT_EQ(world.phase_of("train"), Phase::stopping);
    world.stop_all(75, 0);
    EXPECT_EQ(world.phase_of("train"), Phase::pending);
    EXPECT_EQ(world.job_named("train").status.reason.code, ReasonCode::suspended);
    EXPECT_EQ(world.job_named("train").status.preemptions, 0);
    EXPECT_EQ(world.phase_of("next"), Phase::starting);
    world.start_all();
    world.exit_task(world.tasks_of("next")[0], 0);
    EXPECT_EQ(world.phase_of("train"), Phase::pending);
    EXPECT_FALSE(act(world, "train", JobAct::resume).error);
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
    EXPECT_EQ(world.job_named("train").status.epoch, 2);
    EXPECT_EQ(world.driver.state().book.check(), "");
    EXPECT_EQ(world.driver.state().planner.recount(), "");
}

std::int64_t booked(const TestWorld& world, model::LedgerState state) {
    std::int64_t ms = 0;
    for (const model::BatchRecord& record : world.records)
        for (const model::UsageRecord& row : record.usage)
            if (row.state == state) ms += (row.to - row.from).ms;
    return ms;
}

std::int64_t count_events(const TestWorld& world, ReasonCode code) {
    std::int64_t count = 0;
    for (const model::BatchRecord& record : world.records)
        count += std::ranges::count_if(
            record.events, [&](const auto& event) { return event.reason.code == code; });
    return count;
}

TEST(job_control, suspended_time_and_what_a_wished_stop_lost_are_booked_as_such) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("train", 1));
    world.start_all();
    world.pass(seconds(10));
    act(world, "train", JobAct::suspend);
    world.stop_all(75, 0);
    world.pass(seconds(20));
    act(world, "train", JobAct::resume);
    EXPECT_GE(booked(world, model::LedgerState::lost_to_request), 10'000);
    EXPECT_EQ(booked(world, model::LedgerState::lost_to_preemption), 0);
    EXPECT_GE(booked(world, model::LedgerState::suspended), 20'000);
    EXPECT_LE(booked(world, model::LedgerState::queued), 10);
    EXPECT_EQ(world.driver.state().book.check(), "");
}

TEST(job_control, suspending_and_resuming_are_events_by_whatever_way) {
    TestWorld world;
    add_person(world, "ada", model::Role::algorithm_user);
    world.apply(TestWorld::job("train", 1));
    act(world, "train", JobAct::suspend, "user:ada");
    act(world, "train", JobAct::suspend, "user:ada");
    EXPECT_EQ(count_events(world, ReasonCode::suspended_by_request), 1);
    EXPECT_FALSE(
        apply_as(world, TestWorld::job("train", 1), "ada").error);  // spec.suspend is false again
    EXPECT_EQ(count_events(world, ReasonCode::resumed), 1);
}

TEST(job_control, retry_of_a_suspended_job_names_what_is_right) {
    TestWorld world;
    world.apply(TestWorld::job("train", 1));
    act(world, "train", JobAct::suspend);
    const model::Answer answer = act(world, "train", JobAct::retry);
    ASSERT_TRUE(answer.error);
    EXPECT_NE(answer.error->message.find("resume"), std::string::npos);
}

TEST(job_control, claimed_job_that_is_suspended_gives_its_claims_back) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("train", 1));
    world.start_all();
    world.apply(TestWorld::job("urgent", 1, 100));
    EXPECT_EQ(world.phase_of("urgent"), Phase::claimed);
    EXPECT_FALSE(act(world, "urgent", JobAct::suspend).error);
    EXPECT_EQ(world.phase_of("urgent"), Phase::pending);
    world.stop_all(75, 0);
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
    EXPECT_EQ(world.driver.state().planner.recount(), "");
}

TEST(job_control, requeued_job_waits_its_turn_again) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("train", 1));
    EXPECT_FALSE(act(world, "train", JobAct::requeue).error);
    world.stop_all(75, 0);
    EXPECT_EQ(world.phase_of("train"), Phase::starting);
    EXPECT_EQ(world.job_named("train").status.epoch, 2);
    EXPECT_EQ(act(world, "train", JobAct::retry).error->code, ErrorCode::conflict);
}

TEST(job_control, front_changes_nobody_elses_place) {
    TestWorld world;
    add_person(world, "ada", model::Role::algorithm_user);
    add_person(world, "bob", model::Role::algorithm_user);
    apply_as(world, TestWorld::job("a1", 1), "ada");
    apply_as(world, TestWorld::job("b1", 1), "bob");
    apply_as(world, TestWorld::job("a2", 1), "ada");
    apply_as(world, TestWorld::job("b2", 1), "bob");
    apply_as(world, TestWorld::job("a3", 1), "ada");
    EXPECT_FALSE(act(world, "a3", JobAct::front, "user:ada").error);
    world.add_node("n1", 1);
    std::vector<std::string> order;
    for (int i = 0; i < 5; ++i) {
        for (const char* name : {"a1", "a2", "a3", "b1", "b2"})
            if (world.phase_of(name) == Phase::starting) order.push_back(name);
        world.start_all();
        world.exit_task(world.tasks_of(order.back())[0], 0);
    }
    EXPECT_EQ(order, (std::vector<std::string>{"a3", "b1", "a1", "b2", "a2"}));
}

TEST(job_control, what_does_not_fit_the_phase_is_refused_by_name) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("done", 1));
    world.start_all();
    EXPECT_EQ(act(world, "done", JobAct::front).error->code, ErrorCode::conflict);
    world.exit_task(world.tasks_of("done")[0], 0);
    ASSERT_EQ(world.phase_of("done"), Phase::succeeded);
    for (const JobAct late : {JobAct::retry, JobAct::hold, JobAct::suspend,
                              JobAct::resume, JobAct::requeue, JobAct::front}) {
        const model::Answer answer = act(world, "done", late);
        ASSERT_TRUE(answer.error) << model::name_of(late);
        EXPECT_EQ(answer.error->code, ErrorCode::conflict);
        EXPECT_NE(answer.error->message.find("succeeded"), std::string::npos);
    }
}

model::Job after(const std::string& name, const std::string& other,
                 model::DependencyWhen when = model::DependencyWhen::ok) {
    model::Job job = TestWorld::job(name, 1);
    job.spec.after = {{other, when}};
    return job;
}

TEST(dependencies, job_starts_when_the_one_it_waits_for_succeeded) {
    TestWorld world;
    world.add_node("n1", 2);
    world.apply(TestWorld::job("first", 1));
    EXPECT_FALSE(world.apply(after("second", "first")).error);
    EXPECT_EQ(world.phase_of("second"), Phase::pending);
    EXPECT_EQ(world.job_named("second").status.reason.code, ReasonCode::waiting_for_job);
    world.start_all();
    EXPECT_EQ(world.phase_of("second"), Phase::pending);
    world.exit_task(world.tasks_of("first")[0], 0);
    EXPECT_EQ(world.phase_of("second"), Phase::starting);
}

TEST(dependencies, each_wish_is_met_by_its_own_event) {
    TestWorld world;
    world.add_node("n1", 8);
    world.apply(TestWorld::job("first", 1));
    world.apply(after("when-started", "first", model::DependencyWhen::started));
    world.apply(after("when-failed", "first", model::DependencyWhen::failed));
    world.apply(after("when-ended", "first", model::DependencyWhen::ended));
    world.apply(after("when-ok", "first", model::DependencyWhen::ok));
    EXPECT_EQ(world.phase_of("when-started"), Phase::pending);
    world.start_all();
    EXPECT_EQ(world.phase_of("when-started"), Phase::starting);
    EXPECT_EQ(world.phase_of("when-failed"), Phase::pending);
    world.exit_task(world.tasks_of("first")[0], 1);
    world.stop_all();
    ASSERT_EQ(world.phase_of("first"), Phase::failed);
    EXPECT_EQ(world.phase_of("when-failed"), Phase::starting);
    EXPECT_EQ(world.phase_of("when-ended"), Phase::starting);
    EXPECT_EQ(world.phase_of("when-ok"), Phase::cancelled);
    EXPECT_EQ(world.job_named("when-ok").status.reason.code, ReasonCode::dependency_never_met);
}

TEST(dependencies, what_was_met_stays_met_when_the_other_job_goes) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("first", 1));
    world.apply(TestWorld::job("slow", 1));
    model::Job both = TestWorld::job("both", 1);
    both.spec.after = {{"first", model::DependencyWhen::ok}, {"slow", model::DependencyWhen::ok}};
    world.apply(both);
    world.start_all();
    world.exit_task(world.tasks_of("first")[0], 0);
    world.submit({model::DeleteObject{{model::Kind::job, "default", "default", "first"}}});
    EXPECT_EQ(world.phase_of("both"), Phase::pending);
    world.start_all();
    world.exit_task(world.tasks_of("slow")[0], 0);
    EXPECT_EQ(world.phase_of("both"), Phase::starting);
}

TEST(dependencies, jobs_that_do_not_exist_are_refused_by_field) {
    TestWorld world;
    EXPECT_EQ(world.apply(after("x", "nowhere")).error->field, "spec.after[0].job");
    EXPECT_EQ(world.apply(after("x", "x")).error->field, "spec.after[0].job");
    world.apply(TestWorld::job("b", 1));
    EXPECT_FALSE(world.apply(after("a", "b")).error);
    world.submit({model::DeleteObject{{model::Kind::job, "default", "default", "b"}}});
    EXPECT_EQ(world.phase_of("a"), Phase::cancelled) << "decided, so that no circle can close";
    model::Job changed = after("a", "b");
    changed.spec.after.clear();
    EXPECT_EQ(world.apply(changed).error->field, "spec.after");
}


TEST(job_control, what_nobody_holds_or_suspended_is_neither_released_nor_resumed) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("runs", 1));
    world.start_all();
    const auto refusal = [&](JobAct late, std::string_view told) {
        const model::Answer answer = act(world, "runs", late);
        ASSERT_TRUE(answer.error) << model::name_of(late);
        EXPECT_EQ(answer.error->code, ErrorCode::conflict);
        EXPECT_NE(answer.error->message.find(told), std::string::npos) << answer.error->message;
    };
    refusal(JobAct::resume, "only a suspended job is resumed");
    refusal(JobAct::release, "only a held job is released");
    ASSERT_FALSE(act(world, "runs", JobAct::hold).error);
    refusal(JobAct::resume, "release it");
    ASSERT_FALSE(act(world, "runs", JobAct::release).error);
    ASSERT_FALSE(act(world, "runs", JobAct::suspend).error);
    refusal(JobAct::release, "resume it");
    ASSERT_FALSE(act(world, "runs", JobAct::resume).error);
    world.stop_all(0, 0);
    ASSERT_EQ(world.phase_of("runs"), Phase::succeeded);
    refusal(JobAct::release, "succeeded");
}

TEST(job_control, deleted_job_tells_that_it_was_deleted) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("train", 1));
    world.start_all();
    world.submit({model::DeleteObject{{model::Kind::job, "default", "default", "train"}}});
    world.stop_all();
    EXPECT_EQ(count_events(world, ReasonCode::being_deleted), 1);
    EXPECT_EQ(world.driver.state().table<model::Job>().size(), 0u);
}

}  // namespace
}  // namespace tandem::core
