// SPDX-License-Identifier: Apache-2.0
// What a plan costs: 10,000 nodes of 8 devices. Engine alone: no store, no API; entries are the
// plan's own.
#include <benchmark/benchmark.h>

#include <string>

#include "sched/planner.h"

namespace tandem::sched {
namespace {

constexpr std::int64_t all_steps = std::int64_t{1} << 60;

void add_nodes(Planner& planner, std::int64_t nodes) {
    for (std::int64_t n = 0; n < nodes; ++n) {
        model::Node node;
        node.meta = {.id = RowId{n + 1}, .name = "node-" + std::to_string(n)};
        node.status = {.ready = true, .cpu_milli = 64'000, .memory_bytes = std::int64_t{1} << 40};
        for (std::int64_t d = 0; d < 8; ++d)
            node.status.devices.push_back({.index = d, .flavor = "h200"});
        planner.put_node(node);
    }
}

void furnish(Planner& planner, std::int64_t nodes, std::int64_t queues) {
    model::Pool pool;
    pool.meta = {.id = RowId{1'000'000}, .name = "default"};
    planner.put_pool(pool);
    model::Queue root;
    root.meta = {.name = "root"};
    planner.put_queue(root);
    for (std::int64_t q = 0; q < queues; ++q) {
        model::Queue queue;
        queue.meta = {.name = "team-" + std::to_string(q)};
        queue.spec = {.parent = "root",
                      .quotas = {{.flavor = "h200", .nominal = nodes * 8000 / queues}}};
        planner.put_queue(queue);
    }
    add_nodes(planner, nodes);
    planner.owner_of("", 0);  // builds the tables, which is no part of a plan
}

Demand demand(std::int64_t id, std::int64_t queues, std::int64_t count, std::int64_t devices,
              std::int64_t priority = 0) {
    Demand demand{.workload = RowId{id},
                  .queue = "team-" + std::to_string(id % queues),
                  .project = "vision",
                  .priority = priority,
                  .submitted = Instant{id}};
    demand.parts.push_back({.role = "worker",
                            .count = count,
                            .each = {.devices = devices, .flavor = "h200", .cpu_milli = 1000}});
    return demand;
}

// Fills 80,000 devices one by one, in as many queues as the argument says.
void fill_single_devices(benchmark::State& state) {
    const std::int64_t queues = state.range(0);
    for (auto _ : state) {
        state.PauseTiming();
        {
            Planner planner;
            furnish(planner, 10'000, queues);
            for (std::int64_t id = 1; id <= 80'000; ++id)
                planner.put_demand(demand(id, queues, 1, 1000));
            state.ResumeTiming();
            const Plan plan = planner.plan(Instant{1}, all_steps);
            state.PauseTiming();
            if (plan.placements.size() != 80'000) state.SkipWithError("not all were placed");
        }
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * 80'000);
}
BENCHMARK(fill_single_devices)
    ->Arg(1)
    ->Arg(10)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

// One gang of 1,000 x 8 devices on an empty cluster.
void place_gang(benchmark::State& state) {
    Planner planner;
    furnish(planner, 10'000, 1);
    const std::size_t mark = planner.mark();
    for (auto _ : state) {
        state.PauseTiming();
        planner.rollback(mark);
        planner.mark();
        planner.put_demand(demand(1, 1, 1000, 8000));
        state.ResumeTiming();
        benchmark::DoNotOptimize(planner.plan(Instant{1}, all_steps));
    }
}
BENCHMARK(place_gang)->Unit(benchmark::kMicrosecond)->Iterations(200);

// 100,000 wait in 1,000 shapes on a full cluster; nothing changed.
void pass_with_nothing_to_do(benchmark::State& state) {
    Planner planner;
    furnish(planner, 10'000, 10);
    for (std::int64_t id = 1; id <= 80'000; ++id) planner.put_demand(demand(id, 10, 1, 1000));
    planner.plan(Instant{1}, all_steps);
    for (std::int64_t id = 100'001; id <= 200'000; ++id)
        planner.put_demand(demand(id, 10, 1 + id % 100, 1000 + id % 8 * 1000));
    planner.plan(Instant{2}, all_steps);
    for (auto _ : state) benchmark::DoNotOptimize(planner.plan(Instant{3}, all_steps));
}
BENCHMARK(pass_with_nothing_to_do)->Unit(benchmark::kMicrosecond);

// The same, but every class is awake: what one wake of everything costs.
void pass_over_all_shapes(benchmark::State& state) {
    Planner planner;
    furnish(planner, 10'000, 10);
    for (std::int64_t id = 1; id <= 80'000; ++id) planner.put_demand(demand(id, 10, 1, 1000));
    planner.plan(Instant{1}, all_steps);
    for (std::int64_t id = 100'001; id <= 200'000; ++id)
        planner.put_demand(demand(id, 10, 1 + id % 100, 1000 + id % 8 * 1000));
    for (auto _ : state) {
        state.PauseTiming();
        const std::size_t mark = planner.mark();
        planner.put_demand(demand(300'000, 10, 1, 1000));
        planner.rollback(mark);  // wakes everybody
        state.ResumeTiming();
        benchmark::DoNotOptimize(planner.plan(Instant{3}, all_steps));
    }
}
BENCHMARK(pass_over_all_shapes)->Unit(benchmark::kMicrosecond)->Iterations(20);

// 500 nodes full of single devices of low priority; a gang of the argument's size takes some.
void preempt_for_gang(benchmark::State& state) {
    Planner planner;
    furnish(planner, 500, 1);
    for (std::int64_t id = 1; id <= 4000; ++id) planner.put_demand(demand(id, 1, 1, 1000));
    const Plan filled = planner.plan(Instant{1}, all_steps);
    for (const Placement& placement : filled.placements) {
        const PlacedReplica& replica = placement.replicas.front();
        planner.put_entry({.id = placement.workload,
                           .workload = placement.workload,
                           .node = replica.node,
                           .devices = replica.devices,
                           .flavor = "h200",
                           .cpu_milli = 1000,
                           .queue = "team-0",
                           .pool = "default",
                           .project = "vision"});
        planner.put_occupant({.workload = placement.workload,
                              .queue = "team-0",
                              .started = Instant{1},
                              .safe_at = Instant{1}});
    }
    const std::size_t mark = planner.mark();
    for (auto _ : state) {
        state.PauseTiming();
        planner.rollback(mark);
        planner.mark();
        planner.put_demand(demand(9999, 1, state.range(0), 8000, 5));
        state.ResumeTiming();
        const Plan plan = planner.plan(Instant{9}, all_steps);
        if (plan.placements.size() != 1) state.SkipWithError("nobody left for it");
    }
}
BENCHMARK(preempt_for_gang)
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

void add_running(Planner& planner, std::int64_t id, std::int64_t node, std::int64_t device,
                 const std::string& queue, bool preemptible) {
    planner.put_entry({.id = RowId{id},
                       .workload = RowId{id},
                       .node = "node-" + std::to_string(node),
                       .devices = {{device, 1000}},
                       .flavor = "h200",
                       .cpu_milli = 1000,
                       .queue = queue,
                       .pool = "default",
                       .project = "vision"});
    planner.put_occupant({.workload = RowId{id},
                          .queue = queue,
                          .preemptible = preemptible,
                          .started = Instant{id},
                          .safe_at = Instant{id}});
}

// 500 nodes, 4,000 single devices that one queue borrows; their owner wants each of them back.
void reclaim_everything(benchmark::State& state) {
    Planner planner;
    furnish(planner, 500, 1);
    model::Queue guest;
    guest.meta = {.name = "guest"};
    guest.spec = {.parent = "root", .quotas = {{.flavor = "h200", .nominal = 0}}};
    planner.put_queue(guest);
    for (std::int64_t id = 1; id <= 4000; ++id)
        add_running(planner, id, (id - 1) / 8, (id - 1) % 8, "guest", true);
    planner.queue_lines();
    const std::size_t mark = planner.mark();
    for (auto _ : state) {
        state.PauseTiming();
        planner.rollback(mark);
        planner.mark();
        for (std::int64_t id = 10'001; id <= 14'000; ++id)
            planner.put_demand(demand(id, 1, 1, 1000));
        state.ResumeTiming();
        const Plan plan = planner.plan(Instant{100'000}, all_steps);
        if (plan.placements.size() != 4000) state.SkipWithError("not all were taken back");
    }
}
BENCHMARK(reclaim_everything)->Unit(benchmark::kMillisecond)->Iterations(3);

// 10,000 nodes, one device of each held by work that never leaves: a gang of whole nodes is proved
// impossible.
void prove_that_nobody_could_help(benchmark::State& state) {
    Planner planner;
    furnish(planner, 10'000, 1);
    for (std::int64_t id = 1; id <= 80'000; ++id)
        add_running(planner, id, (id - 1) / 8, (id - 1) % 8, "team-0", id % 8 != 0);
    planner.queue_lines();
    const std::size_t mark = planner.mark();
    for (auto _ : state) {
        state.PauseTiming();
        planner.rollback(mark);
        planner.mark();
        planner.put_demand(demand(100'000, 1, 10, 8000, 5));
        state.ResumeTiming();
        if (!planner.plan(Instant{100'000}, all_steps).placements.empty())
            state.SkipWithError("it was placed");
    }
}
BENCHMARK(prove_that_nobody_could_help)->Unit(benchmark::kMillisecond)->Iterations(20);
// 100,000 that wait, in 1,000 shapes and 50 queues, on 10,000 full nodes.
void crowd(Planner& planner) {
    furnish(planner, 10'000, 50);
    planner.put_demand(demand(1, 50, 80'000, 1000));
    planner.plan(Instant{1}, all_steps);
    for (std::int64_t id = 2; id < 100'002; ++id) {
        Demand one = demand(id, 50, 1 + id % 20, 1000 * (1 + id % 8));
        one.parts[0].each.cpu_milli = 1000 + id % 1000 / 160;
        planner.put_demand(one);
    }
    planner.plan(Instant{2}, all_steps);
}

void snapshot_of_all(benchmark::State& state) {
    Planner planner;
    crowd(planner);
    for (auto _ : state) benchmark::DoNotOptimize(planner.snapshot());
}
BENCHMARK(snapshot_of_all)->Unit(benchmark::kMillisecond)->Iterations(1);

// After a batch in which so many came, and after one in which nothing did.
void snapshot_after_batch(benchmark::State& state) {
    Planner planner;
    crowd(planner);
    planner.snapshot();
    std::int64_t id = 200'000;
    for (auto _ : state) {
        state.PauseTiming();
        for (std::int64_t i = 0; i < state.range(0); ++i, ++id) {
            Demand one = demand(id, 50, 20, 8000);
            planner.put_demand(one);
        }
        planner.plan(Instant{3}, all_steps);
        state.ResumeTiming();
        benchmark::DoNotOptimize(planner.snapshot());
    }
}
BENCHMARK(snapshot_after_batch)->Arg(0)->Arg(1)->Arg(100)->Unit(benchmark::kMicrosecond)->Iterations(50);

// Of each in turn: what `why` costs.
void verdict_of_one(benchmark::State& state) {
    Planner planner;
    crowd(planner);
    const auto snapshot = planner.snapshot();
    std::int64_t id = 2;
    for (auto _ : state) {
        const auto verdict = snapshot->verdict(RowId{id});
        if (!verdict || verdict->reason.code == model::ReasonCode::none)
            state.SkipWithError("one that waits has no verdict");
        id = 2 + (id + 7) % 100'000;
    }
}
BENCHMARK(verdict_of_one)->Unit(benchmark::kMicrosecond)->Iterations(2000);

}  // namespace
}  // namespace tandem::sched
