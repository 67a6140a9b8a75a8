// SPDX-License-Identifier: Apache-2.0
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

}  // namespace
}  // namespace tandem::core
