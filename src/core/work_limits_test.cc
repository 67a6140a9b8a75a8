// SPDX-License-Identifier: Apache-2.0
#include "core/work_limits.h"

#include "core/recover.h"
#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::JobAct;
using model::Phase;
using model::ReasonCode;

void add_person(TestWorld& world, const std::string& name,
                model::Role role = model::Role::algorithm_user) {
    model::User user;
    user.meta.name = name;
    EXPECT_FALSE(world.apply(user).error);
    model::RoleBinding binding;
    binding.meta.name = name;
    binding.spec = {.subject = "user:" + name, .role = role, .project = {}};
    if (role == model::Role::algorithm_user) binding.spec.project = "default";
    EXPECT_FALSE(world.apply(binding).error);
}

model::Answer apply_as(TestWorld& world, const std::string& name, model::Object object) {
    return world.submit({model::ApplyObject{.object = std::move(object)}}, "", "", "user:" + name);
}

model::Answer act(TestWorld& world, const std::string& subject, const std::string& job,
                  JobAct wanted, std::optional<std::int64_t> priority = std::nullopt) {
    return world.submit(
        {model::ActOnJob{{model::Kind::job, "default", "default", job}, wanted, priority}}, "", "",
        subject);
}

void limit_user(TestWorld& world, const std::string& name, model::WorkLimits limits) {
    model::User user;
    user.meta.name = name;
    user.spec.limits = limits;
    EXPECT_FALSE(world.apply(user).error);
}

model::Verdict verdict(const TestWorld& world, const std::string& job) {
    return world.driver.state()
        .planner.verdict(world.job_named(job).meta.id)
        .value_or(model::Verdict{});
}

std::string param(const model::Reason& reason, const std::string& name) {
    for (const model::ReasonParam& one : reason.params)
        if (one.name == name) return one.value;
    return {};
}

void expect_sound(const TestWorld& world) {
    const State& live = world.driver.state();
    EXPECT_EQ(live.book.check(), "");
    EXPECT_EQ(live.planner.recount(), "");
    RecoveredState rows{.meta = live.meta};
    live.each_table([&](const auto& table) {
        for (const auto& [id, row] : table.rows()) rows.objects.push_back(row);
    });
    State again;
    ASSERT_TRUE(recover_state(again, std::move(rows)));
    EXPECT_EQ(again.live.submitted.rows(), live.live.submitted.rows());
    for (const auto& [id, replica] : live.table<model::Replica>().rows()) {
        const sched::Entry* a = live.planner.find_entry(replica.spec.owner_id, replica.spec.rank);
        const sched::Entry* b = again.planner.find_entry(replica.spec.owner_id, replica.spec.rank);
        ASSERT_EQ(a == nullptr, b == nullptr);
        if (a) EXPECT_EQ(a->permits, b->permits);
    }
}

TEST(WorkLimits, user_over_the_limit_of_running_waits_others_go_past_and_an_end_lets_one_follow) {
    TestWorld world;
    world.add_node("n1", 8);
    add_person(world, "ada");
    add_person(world, "bob");
    limit_user(world, "ada", {.running = 1});
    apply_as(world, "ada", TestWorld::job("a1", 1));
    apply_as(world, "ada", TestWorld::job("a2", 1));
    apply_as(world, "bob", TestWorld::job("b1", 1));
    EXPECT_EQ(world.phase_of("a2"), Phase::pending);
    EXPECT_EQ(world.phase_of("b1"), Phase::starting);
    EXPECT_EQ(world.job_named("a2").status.reason.code, ReasonCode::user_limit);
    const model::Verdict why = verdict(world, "a2");
    EXPECT_TRUE(why.proved);
    EXPECT_EQ(why.reason.code, ReasonCode::user_limit);
    EXPECT_EQ(param(why.reason, "user"), "user:ada");
    EXPECT_EQ(param(why.reason, "used"), "1");
    EXPECT_EQ(param(why.reason, "limit"), "1");
    ASSERT_EQ(why.holders.size(), 1U);
    EXPECT_EQ(why.holders[0].workload, world.job_named("a1").meta.id);
    world.start_all();
    world.exit_task(world.tasks_of("a1")[0], 0);
    EXPECT_EQ(world.phase_of("a2"), Phase::starting);
    expect_sound(world);
}

TEST(WorkLimits, limit_that_comes_or_is_raised_holds_for_what_runs_already) {
    TestWorld world;
    world.add_node("n1", 8);
    add_person(world, "ada");
    for (const char* name : {"a1", "a2"}) apply_as(world, "ada", TestWorld::job(name, 1));
    limit_user(world, "ada", {.running = 2});
    apply_as(world, "ada", TestWorld::job("a3", 1));
    EXPECT_EQ(world.phase_of("a3"), Phase::pending);
    EXPECT_EQ(param(verdict(world, "a3").reason, "used"), "2");
    limit_user(world, "ada", {.running = 3});
    EXPECT_EQ(world.phase_of("a3"), Phase::starting);
    limit_user(world, "ada", {});
    apply_as(world, "ada", TestWorld::job("a4", 1));
    EXPECT_EQ(world.phase_of("a4"), Phase::starting);
    expect_sound(world);
}

TEST(WorkLimits, devices_of_a_project_and_jobs_of_each_of_its_users_are_limited) {
    TestWorld world;
    world.add_node("n1", 8);
    add_person(world, "ada");
    model::Project project;
    project.meta.name = "default";
    project.spec.limits.devices = 3000;
    project.spec.per_user.running = 2;
    world.apply(project);
    apply_as(world, "ada", TestWorld::job("a1", 2));
    apply_as(world, "ada", TestWorld::job("a2", 2));
    EXPECT_EQ(verdict(world, "a2").reason.code, ReasonCode::project_limit);
    EXPECT_EQ(param(verdict(world, "a2").reason, "what"), "devices");
    EXPECT_EQ(param(verdict(world, "a2").reason, "used"), "2");
    apply_as(world, "ada", TestWorld::job("a3", 1));
    EXPECT_EQ(world.phase_of("a3"), Phase::starting);
    EXPECT_EQ(verdict(world, "a2").constraints.size(), 2U);
    expect_sound(world);
}

TEST(WorkLimits, limits_of_a_queue_count_what_is_below_it) {
    TestWorld world;
    world.add_node("n1", 8);
    for (const char* name : {"top", "left", "right"}) {
        model::Queue queue;
        queue.meta.name = name;
        if (queue.meta.name == "top") queue.spec.limits = {.submitted = 3, .running = 1};
        if (queue.meta.name != "top") queue.spec.parent = "top";
        EXPECT_FALSE(world.apply(queue).error);
    }
    for (const char* name : {"left", "right"}) {
        model::Job job = TestWorld::job(name, 1);
        job.spec.queue = name;
        EXPECT_FALSE(world.apply(job).error);
    }
    EXPECT_EQ(verdict(world, "right").reason.code, ReasonCode::queue_limit);
    EXPECT_EQ(param(verdict(world, "right").reason, "queue"), "top");
    model::Job more = TestWorld::job("third", 1);
    more.spec.queue = "left";
    EXPECT_FALSE(world.apply(more).error);
    more.meta.name = "fourth";
    const model::Answer refused = world.apply(more);
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->code, ErrorCode::exhausted);
    EXPECT_NE(refused.error->message.find("queue top"), std::string::npos)
        << refused.error->message;
    expect_sound(world);
}

TEST(WorkLimits, submitted_work_over_the_limit_is_refused_until_some_is_over) {
    TestWorld world;
    world.add_node("n1", 1);
    add_person(world, "ada");
    add_person(world, "bob");
    limit_user(world, "ada", {.submitted = 2});
    EXPECT_FALSE(apply_as(world, "ada", TestWorld::job("a1", 1)).error);
    EXPECT_FALSE(apply_as(world, "ada", TestWorld::job("a2", 1)).error);
    const model::Answer refused = apply_as(world, "ada", TestWorld::job("a3", 1));
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->code, ErrorCode::exhausted);
    EXPECT_NE(refused.error->message.find("user:ada"), std::string::npos) << refused.error->message;
    EXPECT_NE(refused.error->message.find("limit is 2"), std::string::npos)
        << refused.error->message;
    EXPECT_FALSE(apply_as(world, "bob", TestWorld::job("b1", 1)).error);
    model::Job many = TestWorld::job("many", 1);
    many.spec.array = model::JobArray{.count = 3, .indices = {}};
    EXPECT_TRUE(apply_as(world, "ada", many).error);
    world.start_all();
    world.exit_task(world.tasks_of("a1")[0], 1);
    EXPECT_FALSE(apply_as(world, "ada", TestWorld::job("a3", 1)).error);
    EXPECT_EQ(act(world, "user:ada", "a1", JobAct::retry).error->code, ErrorCode::exhausted);
    expect_sound(world);
}

model::License license(std::int64_t count) {
    model::License license;
    license.meta.name = "solver";
    license.spec.count = count;
    return license;
}
model::Job licensed(const std::string& name, std::int64_t replicas, std::int64_t count) {
    model::Job job = TestWorld::job(name, replicas);
    job.spec.licenses = {{"solver", count}};
    return job;
}

TEST(Licenses, are_held_from_the_claim_to_the_last_process_and_taken_whole) {
    TestWorld world;
    world.add_node("n1", 8);
    EXPECT_FALSE(world.apply(license(3)).error);
    EXPECT_FALSE(world.apply(licensed("one", 2, 2)).error);
    EXPECT_FALSE(world.apply(licensed("two", 1, 2)).error);
    EXPECT_FALSE(world.apply(licensed("small", 1, 1)).error);
    EXPECT_EQ(world.phase_of("small"), Phase::starting);
    const model::Verdict why = verdict(world, "two");
    EXPECT_EQ(why.reason.code, ReasonCode::license_short);
    EXPECT_EQ(param(why.reason, "needed"), "2");
    EXPECT_EQ(param(why.reason, "used"), "3");
    EXPECT_EQ(param(why.reason, "limit"), "3");
    ASSERT_EQ(why.holders.size(), 2U);
    EXPECT_EQ(why.holders[0].units, 2);
    ASSERT_EQ(why.remedies.size(), 1U);
    EXPECT_EQ(param(why.remedies[0].steps[0], "missing"), "2");
    world.start_all();
    world.exit_task(world.tasks_of("one")[0], 0);
    EXPECT_EQ(world.phase_of("two"), Phase::pending);  // the other rank still holds them
    world.exit_task(world.tasks_of("one")[1], 0);
    EXPECT_EQ(world.phase_of("two"), Phase::starting);
    expect_sound(world);
}

TEST(Licenses, remedy_of_the_verdict_lets_it_start) {
    TestWorld world;
    world.add_node("n1", 8);
    world.apply(license(1));
    world.apply(licensed("one", 1, 1));
    world.apply(licensed("two", 1, 3));
    EXPECT_EQ(verdict(world, "two").reason.code, ReasonCode::license_too_few);
    const std::string missing = param(verdict(world, "two").remedies[0].steps[0], "missing");
    EXPECT_FALSE(world.apply(license(1 + std::stoll(missing))).error);
    EXPECT_EQ(world.phase_of("two"), Phase::starting);
    expect_sound(world);
}

TEST(Licenses, are_checked_and_stay_while_work_asks_for_them) {
    TestWorld world;
    EXPECT_EQ(world.apply(licensed("one", 1, 1)).error->field, "spec.licenses.solver");
    model::License closed = license(2);
    closed.spec.projects = {"other"};
    EXPECT_EQ(world.apply(closed).error->field, "spec.projects[0]");
    world.apply(license(2));
    EXPECT_EQ(world.apply(licensed("one", 1, 0)).error->field, "spec.licenses.solver");
    EXPECT_FALSE(world.apply(licensed("one", 1, 1)).error);
    EXPECT_EQ(
        world.submit({model::DeleteObject{{model::Kind::license, "", "", "solver"}}}).error->code,
        ErrorCode::conflict);
}

TEST(Operators, force_starts_over_quota_and_limits_but_needs_devices_and_licenses) {
    TestWorld world;
    world.add_node("n1", 2);
    add_person(world, "ada");
    add_person(world, "root", model::Role::platform_operator);
    model::Queue queue;
    queue.meta.name = "default";
    queue.spec.quotas = {{.flavor = "card", .nominal = 1000, .borrow_limit = 0}};
    world.apply(queue);
    limit_user(world, "ada", {.running = 1});
    apply_as(world, "ada", TestWorld::job("a1", 1));
    apply_as(world, "ada", TestWorld::job("a2", 1));
    apply_as(world, "ada", TestWorld::job("a3", 1));
    EXPECT_EQ(act(world, "user:ada", "a3", JobAct::force).error->code, ErrorCode::denied);
    EXPECT_EQ(world.phase_of("a3"), Phase::pending);
    EXPECT_FALSE(act(world, "user:root", "a3", JobAct::force).error);
    EXPECT_EQ(world.phase_of("a3"), Phase::starting);
    EXPECT_EQ(world.job_named("a3").status.forced_by, "user:root");
    EXPECT_FALSE(act(world, "user:root", "a2", JobAct::force).error);
    EXPECT_EQ(world.phase_of("a2"), Phase::pending);
    EXPECT_EQ(verdict(world, "a2").reason.code, ReasonCode::no_capacity);
    EXPECT_EQ(world.phase_of("a1"), Phase::starting);
    expect_sound(world);
}

TEST(Operators, priority_override_decides_the_order_and_is_taken_back) {
    TestWorld world;
    add_person(world, "ada");
    add_person(world, "root", model::Role::platform_operator);
    apply_as(world, "ada", TestWorld::job("first", 1));
    apply_as(world, "ada", TestWorld::job("second", 1));
    EXPECT_EQ(act(world, "user:ada", "second", JobAct::priority, 50).error->code,
              ErrorCode::denied);
    EXPECT_EQ(act(world, "user:root", "second", JobAct::priority, 5000).error->field, "priority");
    EXPECT_FALSE(act(world, "user:root", "second", JobAct::priority, 50).error);
    EXPECT_EQ(verdict(world, "second").position, 1);
    EXPECT_EQ(world.job_named("second").spec.priority, 0);
    EXPECT_FALSE(act(world, "user:root", "second", JobAct::priority).error);
    EXPECT_EQ(verdict(world, "second").position, 2);
    act(world, "user:root", "second", JobAct::priority, 50);
    world.add_node("n1", 1);
    EXPECT_EQ(world.phase_of("second"), Phase::starting);
    expect_sound(world);
}

TEST(Operators, preview_tells_whom_it_would_evict_and_changes_nothing) {
    TestWorld world;
    world.add_node("n1", 1);
    world.apply(TestWorld::job("runs", 1));
    world.start_all();
    world.apply(TestWorld::job("waits", 1));
    const std::uint64_t before = world.driver.state().planner.digest();
    const std::string me(platform_subject);
    const model::Answer now = act(world, me, "waits", JobAct::preview);
    ASSERT_TRUE(now.preview);
    EXPECT_FALSE(now.preview->starts);
    EXPECT_EQ(now.preview->reason.code, ReasonCode::no_capacity);
    const model::Answer raised = act(world, me, "waits", JobAct::preview, 10);
    ASSERT_TRUE(raised.preview);
    EXPECT_TRUE(raised.preview->starts);
    EXPECT_EQ(raised.preview->nodes, std::vector<std::string>{"n1"});
    ASSERT_EQ(raised.preview->evictions.size(), 1U);
    EXPECT_EQ(raised.preview->evictions[0].name, "job/default/default/runs");
    EXPECT_EQ(raised.preview->evictions[0].reason.code, ReasonCode::preempted);
    EXPECT_EQ(world.driver.state().planner.digest(), before);
    EXPECT_EQ(world.phase_of("runs"), Phase::running);
    EXPECT_EQ(world.phase_of("waits"), Phase::pending);
    EXPECT_EQ(act(world, me, "runs", JobAct::preview).error->code, ErrorCode::conflict);
    act(world, me, "waits", JobAct::priority, 10);
    EXPECT_EQ(world.phase_of("runs"), Phase::stopping);
    expect_sound(world);
}

}  // namespace
}  // namespace tandem::core
