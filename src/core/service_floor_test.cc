// SPDX-License-Identifier: Apache-2.0
#include "core/service_floor.h"

#include <algorithm>

#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::ReasonCode;

class ServiceFloor : public ::testing::Test {
  protected:
    ServiceFloor() {
        world.add_node("n1", 3);
        model::Runtime runtime;
        runtime.meta.name = "llama-cpp";
        runtime.spec.command = {"serve", "{model}", "{port}"};
        EXPECT_FALSE(world.apply(runtime).error);
        EXPECT_FALSE(world.apply(TestWorld::placed<model::Model>("tiny")).error);
        auto version = TestWorld::placed<model::ModelVersion>("tiny.v1");
        version.spec.model = "tiny";
        version.spec.number = 1;
        version.spec.digest = "sha256:" + std::string(64, 'a');
        version.spec.bytes = 1;
        EXPECT_FALSE(world.apply(version).error);
    }
    void serve(std::int64_t min, bool preemptible) {
        auto service = TestWorld::placed<model::Service>("chat");
        service.spec.model = "tiny";
        service.spec.priority = 0;
        service.spec.preemptible = preemptible;
        service.spec.resources.devices = 1000;
        service.spec.replicas = {
            .min = min, .max = 3, .concurrency = 2, .idle_timeout = seconds(60)};
        EXPECT_FALSE(world.apply(service).error);
        call(6);
        world.start_all();
        std::vector<model::Input> inputs;
        for (const model::ProbeReplica& probe : world.open<model::ProbeReplica>())
            inputs.push_back(model::ReplicaProbed{.task = probe.task, .ready = true, .detail = {}});
        world.run(std::move(inputs));
        EXPECT_EQ(service_row().status.ready, 3);
    }
    const model::Service& service_row() const {
        return *world.driver.state().table<model::Service>().find_named("default", "default",
                                                                         "chat");
    }
    void call(std::int64_t in_flight) {
        const model::ServiceLoad load{
            .service = service_row().meta.uid, .waiting = 0, .in_flight = in_flight};
        world.run({model::GatewayLoad{.gateway = "g", .services = {load}}});
    }
    std::int64_t gave() const {
        std::int64_t count = 0;
        for (const model::BatchRecord& record : world.records)
            count += std::ranges::count_if(record.events, [](const model::EventRecord& event) {
                return event.about.name == "chat" &&
                       event.reason.code == ReasonCode::gave_surplus;
            });
        return count;
    }
    void expect_exact() const {
        EXPECT_EQ(world.driver.state().planner.recount(), "");
        EXPECT_EQ(world.driver.state().book.check(), "");
    }
    TestWorld world;
};

TEST_F(ServiceFloor, burst_of_training_takes_what_stands_above_the_minimum_and_no_more) {
    serve(2, true);
    world.apply(TestWorld::job("one", 1, 5));
    EXPECT_EQ(world.phase_of("one"), Phase::claimed);
    EXPECT_EQ(gave(), 1);
    EXPECT_EQ(service_row().status.ready, 2);
    world.stop_all();
    EXPECT_EQ(world.phase_of("one"), Phase::starting);
    world.apply(TestWorld::job("two", 1, 5));
    EXPECT_EQ(world.phase_of("two"), Phase::pending);
    EXPECT_EQ(gave(), 1);
    EXPECT_EQ(service_row().status.ready, 2);
    expect_exact();
}

TEST_F(ServiceFloor, awake_service_that_may_sleep_keeps_one_replica) {
    serve(0, true);
    world.apply(TestWorld::job("three", 3, 5));
    EXPECT_EQ(world.phase_of("three"), Phase::pending);
    EXPECT_EQ(gave(), 0);
    world.apply(TestWorld::job("two", 2, 5));
    EXPECT_EQ(gave(), 2);
    EXPECT_EQ(service_row().status.ready, 1);
    world.stop_all();
    EXPECT_EQ(world.phase_of("two"), Phase::starting);
    expect_exact();
}

TEST_F(ServiceFloor, equal_priority_takes_nothing_from_it) {
    serve(0, true);
    world.apply(TestWorld::job("one", 1, 0));
    EXPECT_EQ(world.phase_of("one"), Phase::pending);
    EXPECT_EQ(gave(), 0);
}

TEST_F(ServiceFloor, service_that_is_not_preemptible_keeps_all_it_has) {
    serve(0, false);
    world.apply(TestWorld::job("one", 1, 500));
    EXPECT_EQ(world.phase_of("one"), Phase::pending);
    EXPECT_EQ(gave(), 0);
    expect_exact();
}

TEST_F(ServiceFloor, spare_replica_goes_before_whole_work_of_its_kind) {
    world.add_node("n2", 1);
    world.apply(TestWorld::job("low", 1));
    world.start_all();
    serve(1, true);
    world.apply(TestWorld::job("one", 1, 5));
    EXPECT_EQ(gave(), 1);
    EXPECT_EQ(world.phase_of("low"), Phase::running);
}

}  // namespace
}  // namespace tandem::core
