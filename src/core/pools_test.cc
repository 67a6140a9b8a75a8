// SPDX-License-Identifier: Apache-2.0
// A shared pool lends and takes back; a reserved one refuses others, also while it is idle.
#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::Phase;

model::Queue queue(const std::string& name, const std::string& parent, std::int64_t nominal) {
    model::Queue queue;
    queue.meta.name = name;
    queue.spec.parent = parent;
    queue.spec.quotas = {{.flavor = "*", .nominal = nominal}};
    return queue;
}

model::Job in_queue(const std::string& name, const std::string& queue, std::int64_t replicas) {
    model::Job job = TestWorld::job(name, replicas);
    job.spec.queue = queue;
    return job;
}

TEST(shared_pool, idle_quota_is_lent_and_taken_back) {
    TestWorld world;
    world.add_node("n1", 2);
    world.apply(queue("cohort", "", 0));
    world.apply(queue("a", "cohort", 1000));
    world.apply(queue("b", "cohort", 1000));
    // Lent: a runs on both devices, one of them is b's share.
    world.apply(in_queue("a1", "a", 1));
    world.apply(in_queue("a2", "a", 1));
    world.start_all();
    EXPECT_EQ(world.phase_of("a1"), Phase::running);
    EXPECT_EQ(world.phase_of("a2"), Phase::running);
    // Reclaimed: b wants its own.
    world.apply(in_queue("b1", "b", 1));
    EXPECT_EQ(world.phase_of("b1"), Phase::claimed);
    ASSERT_EQ(world.open<model::StopTask>().size(), 1u);
    world.stop_all();
    EXPECT_EQ(world.phase_of("b1"), Phase::starting);
    const bool a1_stays = world.phase_of("a1") == Phase::running;
    const auto& reclaimed = world.job_named(a1_stays ? "a2" : "a1");
    EXPECT_EQ(reclaimed.status.phase, Phase::pending);
    EXPECT_EQ(reclaimed.status.reason.code, model::ReasonCode::quota_exhausted);  // what it waits for now
    bool told = false;
    for (const model::BatchRecord& record : world.records)
        for (const model::EventRecord& event : record.events)
            told = told || (event.uid == reclaimed.meta.uid && event.reason.code == model::ReasonCode::reclaimed);
    EXPECT_TRUE(told);
}

TEST(shared_pool, request_beyond_quota_and_lendings_is_refused) {
    TestWorld world;
    world.add_node("n1", 4);
    world.apply(queue("solo", "", 1000));
    world.apply(in_queue("s1", "solo", 2));
    EXPECT_EQ(world.phase_of("s1"), Phase::pending);
    const auto verdict = world.driver.state().planner.verdict(world.job_named("s1").meta.id);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason.code, model::ReasonCode::quota_too_small);
    EXPECT_EQ(world.job_named("s1").status.reason.code, model::ReasonCode::quota_too_small);
}

class ReservedPool : public ::testing::Test {
  protected:
    ReservedPool() {
        world.add_node("n1", 3);
        for (const char* name : {"owner", "other"}) {
            model::Project project;
            project.meta.name = name;
            world.apply(project);
            model::Namespace name_space;
            name_space.meta.name = "default";
            name_space.meta.project = name;
            world.apply(name_space);
        }
        model::Pool pool;
        pool.meta.name = "reserved";
        pool.spec.form = model::Form::reserved;
        pool.spec.from = "default";
        pool.spec.flavor = "card";
        pool.spec.devices = 2;
        pool.spec.projects = {"owner"};
        const auto answer = world.apply(pool);
        EXPECT_FALSE(answer.error) << answer.error->field << answer.error->message;
        model::Queue queue;
        queue.meta.name = "reserved";
        queue.spec.pool = "reserved";
        world.apply(queue);
    }
    model::Answer submit(const std::string& name, const std::string& project, const std::string& queue, std::int64_t replicas) {
        model::Job job = in_queue(name, queue, replicas);
        job.meta.project = project;
        return world.apply(job);
    }
    Phase phase(const std::string& project, const std::string& name) {
        return world.driver.state().table<model::Job>().find_named(project, "default", name)->status.phase;
    }
    TestWorld world;
};

TEST_F(ReservedPool, keeps_its_devices_while_idle) {
    EXPECT_TRUE(world.driver.state().table<model::Pool>().find_named("reserved")->status.ready);
    submit("big", "default", "default", 2);
    EXPECT_EQ(phase("default", "big"), Phase::pending);
    submit("small", "default", "default", 1);
    EXPECT_EQ(phase("default", "small"), Phase::starting);
}

TEST_F(ReservedPool, refuses_another_project) {
    const auto answer = submit("theirs", "other", "reserved", 1);
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->field, "spec.queue");
}

TEST_F(ReservedPool, serves_its_owner_and_is_charged_as_held_when_idle) {
    submit("mine", "owner", "reserved", 2);
    EXPECT_EQ(phase("owner", "mine"), Phase::starting);
    EXPECT_EQ(world.driver.state().book.check(), "");
    bool held = false;
    for (const model::BatchRecord& record : world.records)
        for (const model::UsageRecord& row : record.open_intervals_put)
            held = held || (row.pool == "reserved" && row.state == model::LedgerState::held && row.owner_kind.empty());
    EXPECT_TRUE(held);
}

}  // namespace
}  // namespace tandem::core
