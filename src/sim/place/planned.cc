// SPDX-License-Identifier: Apache-2.0
#include "sim/place/planned.h"

#include <algorithm>

#include "sched/planner.h"
#include "sim/place/cluster.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t unbounded_steps = std::int64_t{1} << 60;
constexpr const char* pool_name = "default";
constexpr const char* queue_name = "all";
constexpr const char* project_name = "all";

// "A|B" of the models a shape may have.
std::string flavor_of(const PlaceWorkload& work, const sched::MixShape& shape) {
    std::string text;
    for (int model : shape.flavors)
        text += (text.empty() ? "" : "|") + work.models[static_cast<std::size_t>(model)];
    return text;
}

// The planner, furnished with the workload's nodes under their ranks, one pool and one queue
// without quota.
class PlannedCluster {
  public:
    PlannedCluster(const PlaceWorkload& work, const PlaceOptions& options, const PlaceCluster& twin)
        : work_(work) {
        planner_.put_pool({.meta = {.id = RowId{1}, .name = pool_name}});
        planner_.put_queue(
            {.meta = {.id = RowId{1}, .name = queue_name}, .spec = {.pool = pool_name}});
        for (std::size_t rank = 0; rank < twin.hosts().size(); ++rank) put_node(rank, twin);
        for (const sched::MixCount& known : work.shapes)
            flavors_.push_back(flavor_of(work, known.shape));
        if (options.mix == MixSource::learned) return;
        std::vector<sched::TypicalWork> typical;
        for (std::size_t i = 0; i < work.shapes.size(); ++i) {
            typical.push_back({.cpu_milli = work.shapes[i].shape.ask.cpu_milli,
                               .devices = work.shapes[i].shape.ask.devices,
                               .flavor = flavors_[i],
                               .count = work.shapes[i].count});
        }
        planner_.set_typical(typical);
    }

    struct Place {
        int rank = -1;
        std::int64_t device = -1;
    };
    Place place(const PlacePod& pod) {
        const RowId id{++last_};
        planner_.put_demand(demand_of(pod, id));
        const sched::Plan plan = planner_.plan(Instant{last_}, unbounded_steps);
        if (plan.placements.empty()) {
            planner_.remove_demand(id);
            return {};
        }
        const sched::PlacedReplica& replica = plan.placements.front().replicas.front();
        planner_.put_entry(entry_of(pod, id, replica));
        planner_.forget();
        const int rank = ranks_.at(replica.node);
        return {rank, replica.devices.empty() ? -1 : replica.devices.front().index};
    }

  private:
    void put_node(std::size_t rank, const PlaceCluster& twin) {
        const Host& host = twin.hosts()[rank];
        const PlaceNode& facts = work_.nodes[static_cast<std::size_t>(host.place)];
        model::Node node;
        node.meta = {.id = RowId{static_cast<std::int64_t>(rank) + 1}, .name = facts.name};
        node.status = {.ready = true,
                       .cpu_milli = facts.cpu_milli,
                       .memory_bytes = facts.memory_mib * mebibyte};
        for (std::int64_t i = 0; i < facts.devices; ++i) {
            const std::string& model = work_.models[static_cast<std::size_t>(facts.model)];
            node.status.devices.push_back({.index = i, .flavor = model});
        }
        planner_.put_node(node);
        ranks_[facts.name] = static_cast<int>(rank);
    }

    model::Resources resources_of(const PlacePod& pod) const {
        const auto shape = static_cast<std::size_t>(pod.shape);
        return {.devices = work_.shapes[shape].shape.ask.devices,
                .flavor = flavors_[shape],
                .cpu_milli = work_.shapes[shape].shape.ask.cpu_milli,
                .memory_bytes = pod.memory_mib * mebibyte};
    }

    sched::Demand demand_of(const PlacePod& pod, RowId id) const {
        sched::Demand demand{.workload = id,
                             .queue = queue_name,
                             .project = project_name,
                             .submitted = Instant{id.value}};
        demand.parts.push_back({.role = "pod", .each = resources_of(pod)});
        return demand;
    }

    sched::Entry entry_of(const PlacePod& pod, RowId id,
                          const sched::PlacedReplica& replica) const {
        const model::Resources resources = resources_of(pod);
        return {.id = id,
                .workload = id,
                .node = replica.node,
                .devices = replica.devices,
                .flavor = replica.flavor,
                .asked = resources.flavor,
                .cpu_milli = resources.cpu_milli,
                .memory_bytes = resources.memory_bytes,
                .queue = queue_name,
                .pool = pool_name,
                .project = project_name};
    }

    const PlaceWorkload& work_;
    sched::Planner planner_{};
    std::vector<std::string> flavors_{};  // by shape
    std::map<std::string, int> ranks_{};
    std::int64_t last_ = 0;
};

}  // namespace

PlaceRun run_planned(const PlaceWorkload& work, const PlaceOptions& options, std::uint64_t seed) {
    const sched::TypicalMix mix(work.shapes, capacity_of(work));
    PlaceCluster twin(work, mix, seed);  // measures what the planner does
    PlannedCluster planned(work, options, twin);
    CurveBook book(work.total_milli, options.load);
    PlaceRun run;
    std::int64_t arrived = 0;
    for (int which : arrivals_of(work, seed, options.load)) {
        const PlacePod& pod = work.pods[static_cast<std::size_t>(which)];
        const sched::Ask& ask = work.shapes[static_cast<std::size_t>(pod.shape)].shape.ask;
        arrived += ask.devices;
        const PlannedCluster::Place place = planned.place(pod);
        run.placed.push_back(
            place.rank < 0 ? -1 : twin.hosts()[static_cast<std::size_t>(place.rank)].place);
        if (place.rank >= 0)
            twin.take(place.rank, ask, pod.memory_mib, static_cast<int>(place.device));
        book.note(arrived, twin);
    }
    run.curves = book.close();
    return run;
}

}  // namespace tandem::sim
