// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/replica_end.h"
#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::ServicePhase;

class ServiceTest : public ::testing::Test {
  protected:
    ServiceTest() {
        world.add_node("n1", 2);
        model::Runtime runtime;
        runtime.meta.name = "llama-cpp";
        runtime.spec.command = {"serve", "{model}", "{port}", "--alias={alias}"};
        runtime.spec.ready_timeout = seconds(30);
        EXPECT_FALSE(world.apply(runtime).error);
        EXPECT_FALSE(world.apply(TestWorld::placed<model::Model>("tiny")).error);
        add_version(1);
    }
    void add_version(std::int64_t number) {
        model::ModelVersion version = TestWorld::placed<model::ModelVersion>("tiny.v" + std::to_string(number));
        version.spec.model = "tiny";
        version.spec.number = number;
        version.spec.digest = "sha256:" + std::string(64, static_cast<char>('a' + number));
        version.spec.bytes = 1;
        const auto answer = world.apply(version);
        EXPECT_FALSE(answer.error) << answer.error->field << answer.error->message;
    }
    void add_service(std::int64_t max = 2) {
        model::Service service = TestWorld::placed<model::Service>("chat");
        service.spec.model = "tiny";
        service.spec.resources.devices = 1000;
        service.spec.replicas = {.min = 0, .max = max, .concurrency = 2, .idle_timeout = seconds(60)};
        const auto answer = world.apply(service);
        ASSERT_FALSE(answer.error) << answer.error->field << answer.error->message;
    }
    const model::Service& service() const {
        return *world.driver.state().table<model::Service>().find_named("default", "default", "chat");
    }
    void load(std::int64_t waiting, std::int64_t in_flight) {
        world.run({model::GatewayLoad{.gateway = "g", .services = {{.service = service().meta.uid, .waiting = waiting, .in_flight = in_flight}}}});
    }
    void make_ready() {
        world.start_all();
        std::vector<model::Input> inputs;
        for (const model::ProbeReplica& probe : world.open<model::ProbeReplica>())
            inputs.push_back(model::ReplicaProbed{.task = probe.task, .ready = true, .detail = {}});
        world.run(std::move(inputs));
    }
    TestWorld world;
};

TEST_F(ServiceTest, sleeps_until_a_request_waits) {
    add_service();
    EXPECT_EQ(service().status.phase, ServicePhase::asleep);
    load(1, 0);
    EXPECT_EQ(service().status.phase, ServicePhase::starting);
    EXPECT_EQ(world.open<model::StartTask>().size(), 1u);
    EXPECT_EQ(world.open<model::StartTask>().front().command.back(), "--alias=chat");
}

TEST_F(ServiceTest, replica_is_ready_only_after_it_has_generated_a_token) {
    add_service();
    load(1, 0);
    world.start_all();
    EXPECT_EQ(service().status.ready, 0);
    ASSERT_EQ(world.open<model::ProbeReplica>().size(), 1u);
    make_ready();
    EXPECT_EQ(service().status.phase, ServicePhase::ready);
    EXPECT_EQ(service().status.ready, 1);
}

TEST_F(ServiceTest, scales_up_under_load_and_down_to_zero_when_idle) {
    add_service();
    load(1, 0);
    make_ready();
    load(2, 2);
    make_ready();
    EXPECT_EQ(service().status.ready, 2);
    load(0, 0);
    world.pass(minutes(3));
    EXPECT_EQ(service().status.desired, 0);
    world.stop_all(0, 0);
    world.pass(seconds(1));
    EXPECT_EQ(service().status.phase, ServicePhase::asleep);
    EXPECT_EQ(world.driver.state().table<model::Replica>().size(), 0u);
}

TEST_F(ServiceTest, killed_replica_is_replaced) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    const auto task = task_name(world.driver.state(), world.driver.state().table<model::Replica>().rows().begin()->second);
    world.exit_task(task, -1, 9);
    world.pass(seconds(3));
    make_ready();
    EXPECT_EQ(service().status.ready, 1);
    EXPECT_EQ(service().status.phase, ServicePhase::ready);
}

TEST_F(ServiceTest, server_that_ends_at_its_start_tells_how_and_a_call_need_not_wait) {
    add_service();
    load(1, 0);
    EXPECT_EQ(trouble_of(world.driver.state(), service()).code, model::ReasonCode::none);
    world.start_all();
    const auto task = task_name(
        world.driver.state(), world.driver.state().table<model::Replica>().rows().begin()->second);
    world.now = world.now + milliseconds(1200);
    world.run({model::TaskExited{
        .task = task,
        .exit = {.code = 3, .at = world.now, .ran = milliseconds(1200)},
        .last_output = "bad flag: --x"}});
    const model::Reason& reason = service().status.reason;
    EXPECT_EQ(reason.code, model::ReasonCode::replica_ended);
    ASSERT_EQ(reason.params.size(), 4u);
    EXPECT_EQ(reason.params[0].value, "chat-server-0");
    EXPECT_EQ(reason.params[1], (model::ReasonParam{"code", "3"}));
    EXPECT_EQ(reason.params[2].name, "ran");
    EXPECT_EQ(reason.params[3], (model::ReasonParam{"output", "bad flag: --x"}));
    ASSERT_TRUE(service().status.last_failure);
    EXPECT_EQ(service().status.last_failure->task, task.text());
    EXPECT_FALSE(service().status.last_failure->was_ready);
    const model::Reason trouble = trouble_of(world.driver.state(), service());
    EXPECT_EQ(trouble.code, model::ReasonCode::replica_ended);
    EXPECT_EQ(trouble.params.size(), 3u) << "the words of its process are not for callers";
    EXPECT_TRUE(std::ranges::any_of(world.records.back().events, [](const auto& event) {
        return event.reason.code == model::ReasonCode::replica_ended;
    }));
    world.pass(seconds(3));
    make_ready();
    EXPECT_EQ(trouble_of(world.driver.state(), service()).code, model::ReasonCode::none);
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::ready);
}

TEST_F(ServiceTest, ready_replica_that_is_killed_is_told_so_and_calls_wait_for_the_next) {
    add_service();
    load(1, 0);
    world.start_all();
    const auto task = task_name(
        world.driver.state(), world.driver.state().table<model::Replica>().rows().begin()->second);
    world.run({model::ReplicaProbed{.task = task, .ready = false, .detail = "connection refused"}});
    make_ready();
    EXPECT_EQ(world.driver.state().table<model::Replica>().rows().begin()->second.status.reason,
              model::Reason{});
    load(0, 1);
    world.exit_task(task, -1, 9);
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::replica_ended);
    EXPECT_EQ(service().status.reason.params.at(1), (model::ReasonParam{"signal", "9"}));
    EXPECT_EQ(trouble_of(world.driver.state(), service()).code, model::ReasonCode::none);
}

TEST_F(ServiceTest, starting_server_that_is_killed_is_not_told_by_its_last_probe) {
    add_service();
    load(1, 0);
    world.start_all();
    const auto task = task_name(
        world.driver.state(), world.driver.state().table<model::Replica>().rows().begin()->second);
    world.run({model::ReplicaProbed{.task = task, .ready = false, .detail = "connection refused"}});
    world.exit_task(task, -1, 9);
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::replica_ended);
    EXPECT_EQ(service().status.starts_failed, 1);
}

TEST_F(ServiceTest, lost_shim_of_a_replica_is_an_event_of_its_service) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    const auto task = task_name(
        world.driver.state(), world.driver.state().table<model::Replica>().rows().begin()->second);
    world.run({model::TaskGone{.task = task, .detail = "its shim died"}});
    EXPECT_TRUE(std::ranges::any_of(world.records.back().events, [](const auto& event) {
        return event.reason.code == model::ReasonCode::shim_lost &&
               event.about.kind == model::Kind::service;
    }));
}

TEST_F(ServiceTest, new_version_takes_over_without_a_gap) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    add_version(2);
    EXPECT_EQ(service().status.phase, ServicePhase::updating);
    EXPECT_EQ(service().status.ready, 1);
    make_ready();
    EXPECT_EQ(service().status.ready, 1);
    world.pass(seconds(2));
    world.stop_all(0, 0);
    world.pass(seconds(1));
    EXPECT_EQ(service().status.serving_version, "tiny.v2");
    EXPECT_EQ(service().status.phase, ServicePhase::ready);
}

TEST_F(ServiceTest, version_that_never_gets_ready_is_given_up_and_the_old_one_serves_on) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    add_version(2);
    for (int i = 0; i < 6; ++i) {
        world.start_all();
        world.pass(seconds(40));
        world.stop_all();
    }
    EXPECT_EQ(service().status.target_version, "tiny.v1");
    EXPECT_EQ(service().status.ready, 1);
    EXPECT_EQ(service().status.refused_version, "tiny.v2");
}

TEST_F(ServiceTest, engine_that_never_gets_ready_fails_the_service_with_its_reason) {
    add_service();
    load(1, 0);
    for (int i = 0; i < 4; ++i) {
        world.start_all();
        world.pass(seconds(45));
        world.stop_all();
    }
    EXPECT_EQ(service().status.phase, ServicePhase::failed);
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::not_ready_in_time);
}


TEST_F(ServiceTest, failed_service_that_nobody_asks_for_is_asleep_and_tells_its_last_failure) {
    add_service();
    load(1, 0);
    for (int i = 0; i < 4; ++i) {
        world.start_all();
        world.pass(seconds(45));
        world.stop_all();
    }
    ASSERT_EQ(service().status.phase, ServicePhase::failed);
    load(0, 0);
    world.pass(minutes(3));
    world.stop_all();
    EXPECT_EQ(service().status.phase, ServicePhase::asleep);
    const model::Reason& reason = service().status.reason;
    EXPECT_EQ(reason.code, model::ReasonCode::asleep_idle);
    EXPECT_TRUE(std::ranges::any_of(reason.params, [](const auto& param) {
        return param == model::ReasonParam{"failure", "notReadyInTime"};
    }));
    world.pass(minutes(10));
    load(1, 0);
    EXPECT_EQ(service().status.phase, ServicePhase::starting);
}

TEST_F(ServiceTest, service_that_wakes_within_its_pause_tells_why_it_failed) {
    add_service();
    load(1, 0);
    for (int i = 0; i < 40 && service().status.phase != ServicePhase::failed; ++i) {
        world.start_all();
        world.pass(seconds(5));
        world.stop_all();
    }
    load(0, 0);
    ASSERT_EQ(service().status.phase, ServicePhase::asleep);
    load(1, 0);
    EXPECT_EQ(service().status.phase, ServicePhase::failed);
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::not_ready_in_time);
}

TEST_F(ServiceTest, how_long_a_replica_ran_is_what_its_own_clock_says) {
    add_service();
    load(1, 0);
    make_ready();
    const auto task = task_name(
        world.driver.state(), world.driver.state().table<model::Replica>().rows().begin()->second);
    world.run({model::TaskExited{
        .task = task,
        .exit = {.code = 7, .at = world.now + minutes(5), .ran = milliseconds(1100)}}});
    const auto& params = service().status.reason.params;
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::replica_ended);
    EXPECT_EQ(params.back(), (model::ReasonParam{"ran", "1s100ms"}));
}

TEST_F(ServiceTest, every_event_says_something_and_a_rollout_says_what_serves_now) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    add_version(2);
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::updating_version);
    make_ready();
    world.pass(seconds(2));
    world.stop_all(0, 0);
    world.pass(seconds(1));
    std::int64_t rolled_out = 0;
    for (const model::BatchRecord& record : world.records)
        for (const model::EventRecord& event : record.events) {
            EXPECT_NE(event.reason.code, model::ReasonCode::none);
            if (event.reason.code != model::ReasonCode::rolled_out) continue;
            rolled_out += 1;
            EXPECT_EQ(event.reason.params.front(), (model::ReasonParam{"to", "tiny.v2"}));
        }
    EXPECT_EQ(rolled_out, 1);
}

TEST_F(ServiceTest, changed_spec_rolls_out_without_a_gap) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    model::Service wanted = service();
    wanted.spec.env["THREADS"] = "2";
    ASSERT_FALSE(world.apply(wanted).error);
    EXPECT_EQ(service().status.phase, ServicePhase::updating);
    EXPECT_EQ(service().status.ready, 1);
    ASSERT_EQ(world.open<model::StartTask>().size(), 1u);
    EXPECT_EQ(world.open<model::StartTask>()[0].env.at("THREADS"), "2");
    make_ready();
    EXPECT_EQ(service().status.ready, 1);
    world.pass(seconds(2));
    world.stop_all(0, 0);
    world.pass(seconds(1));
    EXPECT_EQ(service().status.phase, ServicePhase::ready);
    EXPECT_EQ(service().status.serving_revision, service().status.target_revision);
    ASSERT_EQ(world.driver.state().table<model::Replica>().size(), 1u);
    // What does not concern how replicas are started leaves them alone.
    wanted = service();
    wanted.spec.replicas.idle_timeout = minutes(5);
    ASSERT_FALSE(world.apply(wanted).error);
    EXPECT_EQ(service().status.phase, ServicePhase::ready);
}

TEST_F(ServiceTest, changed_command_of_its_runtime_rolls_out) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    model::Runtime runtime = *world.driver.state().table<model::Runtime>().find_named("llama-cpp");
    runtime.spec.command.push_back("--fast");
    ASSERT_FALSE(world.apply(runtime).error);
    EXPECT_EQ(service().status.phase, ServicePhase::updating);
    ASSERT_EQ(world.open<model::StartTask>().size(), 1u);
    EXPECT_EQ(world.open<model::StartTask>()[0].command.back(), "--fast");
}

TEST_F(ServiceTest, changed_spec_that_never_gets_ready_is_given_up_and_the_next_one_is_tried) {
    add_service();
    load(1, 0);
    make_ready();
    load(0, 1);
    const std::string good = service().status.serving_revision;
    model::Service wanted = service();
    wanted.spec.env["BROKEN"] = "1";
    ASSERT_FALSE(world.apply(wanted).error);
    for (int i = 0; i < 6; ++i) {
        world.start_all();
        world.pass(seconds(40));
        world.stop_all();
    }
    EXPECT_EQ(service().status.ready, 1);
    EXPECT_EQ(service().status.target_revision, good);
    EXPECT_FALSE(service().status.refused_revision.empty());
    EXPECT_EQ(service().status.reason.code, model::ReasonCode::not_ready_in_time);
    wanted = service();
    wanted.spec.env = {{"FIXED", "1"}};
    ASSERT_FALSE(world.apply(wanted).error);
    EXPECT_EQ(service().status.phase, ServicePhase::updating);
    EXPECT_TRUE(service().status.refused_revision.empty());
}

}  // namespace
}  // namespace tandem::core
