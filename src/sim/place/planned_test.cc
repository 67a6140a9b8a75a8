// SPDX-License-Identifier: Apache-2.0
#include "sim/place/planned.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/test_world.h"
#include "sim/place/test_trace.h"

namespace tandem::sim {
namespace {

// One workload given to `sim place` and, as jobs, to the core that the server runs.
std::unique_ptr<core::TestWorld> world_with_nodes(const PlaceWorkload& work, std::uint64_t seed) {
    auto world = std::make_unique<core::TestWorld>();
    for (int place : ranks_of(work, seed)) {
        const PlaceNode& node = work.nodes[static_cast<std::size_t>(place)];
        model::NodeReported report{.name = node.name, .status = {}};
        report.status.ready = true;
        report.status.cpu_milli = node.cpu_milli;
        report.status.memory_bytes = node.memory_mib << 20;
        for (std::int64_t i = 0; i < node.devices; ++i) {
            model::Device& device = report.status.devices.emplace_back();
            device.index = i;
            device.flavor = work.models[static_cast<std::size_t>(node.model)];
        }
        world->run({report});
    }
    return world;
}

model::Job job_of(const PlaceWorkload& work, const PlacePod& pod, const std::string& name) {
    const sched::MixShape& shape = work.shapes[static_cast<std::size_t>(pod.shape)].shape;
    model::Job job = core::TestWorld::job(name, 1);
    model::Resources& each = job.spec.roles.front().resources;
    each.devices = shape.ask.devices;
    each.cpu_milli = shape.ask.cpu_milli;
    each.memory_bytes = pod.memory_mib << 20;
    for (int model : shape.flavors)
        each.flavor +=
            (each.flavor.empty() ? "" : "|") + work.models[static_cast<std::size_t>(model)];
    return job;
}

// Up to the first pod that fits nowhere: a job of a server waits then.
TEST(Place, tandem_places_as_the_core_of_the_server_does) {
    const PlaceWorkload work = small_workload(false);
    const PlaceOptions options{
        .policy = sched::Policy::tandem, .load = 100, .mix = MixSource::learned};
    std::int64_t compared = 0;
    for (std::uint64_t seed = 40; seed < 50; ++seed) {
        const PlaceRun run = run_place(work, options, seed);
        const auto world = world_with_nodes(work, seed);
        const std::vector<int> arrivals = arrivals_of(work, seed, options.load);
        for (std::size_t i = 0; i < arrivals.size() && run.placed[i] >= 0; ++i, ++compared) {
            const PlacePod& pod = work.pods[static_cast<std::size_t>(arrivals[i])];
            const model::Job job = job_of(work, pod, "j" + std::to_string(i));
            ASSERT_FALSE(world->apply(job).error);
            const core::State& state = world->driver.state();
            const RowId id = world->job_named(job.meta.name).meta.id;
            const auto& replica =
                state.table<model::Replica>().get(core::replicas_of(state, id).front());
            ASSERT_EQ(replica.status.node, work.nodes[static_cast<std::size_t>(run.placed[i])].name)
                << "seed " << seed << ", arrival " << i;
        }
    }
    EXPECT_GT(compared, 60);
}

}  // namespace
}  // namespace tandem::sim
