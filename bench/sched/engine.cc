// SPDX-License-Identifier: Apache-2.0
// The engine rows of bench/sched: what plans cost, on one thread, without a store and an API. Every row checks that
// the planner did what the row is about.
//
//   sched-engine [ROW...]      without words: all rows
//   prints a line for each figure: ROW VALUE DETAIL
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

#include "engine_world.h"

namespace tandem::bench {
namespace {

using sched::Plan;
using sched::Planner;

constexpr std::int64_t nodes_all = 10'000;
constexpr std::int64_t devices_all = nodes_all * devices_a_node;

void say(const char* row, double value, const std::string& detail) {
    std::printf("%s %.6g %s\n", row, value, detail.c_str());
    std::fflush(stdout);
}

std::string spread(const std::vector<double>& times) {
    char text[96];
    std::snprintf(text, sizeof text, "%zu times, ms: least %.3f, middle %.3f, most %.3f", times.size(), at_part(times, 0),
                  at_part(times, 0.5), at_part(times, 1));
    return text;
}

// Four zones x five sizes of CPU.
Wish single_device(std::int64_t id) {
    return {.queue = id / 20 % 50, .zone = id % 4, .cpu_milli = 1000 + id / 4 % 5 * 1000};
}

void place_singles() {
    std::vector<double> times;
    for (int round = 0; round < 5; ++round) {
        Planner planner;
        furnish(planner, nodes_all, {});
        planner.mark();
        for (std::int64_t id = 1; id <= devices_all; ++id) planner.put_demand(demand(id, single_device(id)));
        const Watch watch;
        const Plan plan = planner.plan(Instant{1}, all_steps);
        times.push_back(watch.milliseconds());
        if (plan.placements.size() != devices_all) give_up("not all single devices were placed");
    }
    say("place_singles", devices_all / at_part(times, 0.5) * 1000, spread(times) + " for 80,000");
}

// Batches of 1,000, each with all that core does with the planner: demands, plan, entries, occupants, forget.
void place_singles_as_core() {
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) {
        Planner planner;
        furnish(planner, nodes_all, {});
        const Watch watch;
        std::size_t placed = 0;
        for (std::int64_t from = 1; from <= devices_all; from += 1000) {
            planner.mark();
            for (std::int64_t id = from; id < from + 1000; ++id) planner.put_demand(demand(id, single_device(id)));
            const Plan plan = planner.plan(Instant{1}, all_steps);
            for (const sched::Placement& placement : plan.placements) {
                const sched::PlacedReplica& replica = placement.replicas.front();
                const Wish wish = single_device(placement.workload.value);
                planner.put_entry({.id = placement.workload,
                                   .workload = placement.workload,
                                   .node = replica.node,
                                   .devices = replica.devices,
                                   .flavor = replica.flavor,
                                   .asked = "h200",
                                   .cpu_milli = wish.cpu_milli,
                                   .queue = team(wish.queue),
                                   .pool = "default",
                                   .project = "vision"});
                planner.put_occupant({.workload = placement.workload, .queue = team(wish.queue), .started = Instant{1}, .safe_at = Instant{1}});
            }
            placed += plan.placements.size();
            planner.forget();
        }
        times.push_back(watch.milliseconds());
        if (placed != devices_all) give_up("not all single devices were placed in batches");
    }
    say("place_singles_as_core", devices_all / at_part(times, 0.5) * 1000, spread(times) + " for 80,000");
}

constexpr std::int64_t probe_id = 1'000'000;
constexpr std::size_t any_number = static_cast<std::size_t>(-1);  // but at least one

struct Timed {
    std::vector<double> times{};
    std::size_t placed = 0;
};
Timed time_plans(Planner& planner, int rounds, const std::function<void()>& ask, std::size_t placements) {
    Timed timed;
    const std::size_t mark = planner.mark();
    for (int round = 0; round < rounds; ++round) {
        planner.rollback(mark);
        planner.mark();
        ask();
        const Watch watch;
        const Plan plan = planner.plan(Instant{100'000}, all_steps);
        timed.times.push_back(watch.milliseconds());
        const bool right = placements == any_number ? !plan.placements.empty() : plan.placements.size() == placements;
        if (!right) give_up("a plan placed " + std::to_string(plan.placements.size()));
        timed.placed = plan.placements.size();
    }
    return timed;
}


void gang_beside_busy_nodes() {
    Planner planner;
    furnish(planner, nodes_all, {.unlimited = true});
    for (std::int64_t id = 1; id <= devices_all; ++id) {
        const std::int64_t node = (id - 1) / devices_a_node;
        if (node % 5 != 0) add_running(planner, id, node, (id - 1) % devices_a_node, {.queue = node % 50});
    }
    const auto [times, placed] = time_plans(
        planner, 400, [&] { planner.put_demand(demand(probe_id, {.count = 1000, .devices = 8})); }, 1);
    say("gang_busy_nodes", at_part(times, 0.99), spread(times));
}

void gang_among_busy_devices() {
    Planner planner;
    furnish(planner, nodes_all, {.unlimited = true});
    std::mt19937_64 random(42);
    for (std::int64_t id = 1; id <= devices_all; ++id) {
        if (random() % 5 != 0) add_running(planner, id, (id - 1) / devices_a_node, (id - 1) % devices_a_node, {.queue = id % 50});
    }
    const auto [times, placed] = time_plans(
        planner, 400, [&] { planner.put_demand(demand(probe_id, {.count = 1000, .devices = 8})); }, 0);
    const auto verdict = planner.verdict(RowId{probe_id});
    if (!verdict || !verdict->proved || verdict->reason.code == model::ReasonCode::none) give_up("the no was not proved");
    say("gang_busy_devices", at_part(times, 0.99), spread(times));
}

void proved_hopeless() {
    Planner planner;
    furnish(planner, nodes_all, {.unlimited = true});
    for (std::int64_t id = 1; id <= devices_all; ++id)
        add_running(planner, id, (id - 1) / devices_a_node, (id - 1) % devices_a_node, {.queue = 0, .preemptible = id % 8 != 0});
    planner.plan(Instant{1}, all_steps);
    const auto [times, placed] = time_plans(
        planner, 200, [&] { planner.put_demand(demand(probe_id, {.count = 10, .devices = 8, .priority = 5})); }, 0);
    say("proved_hopeless", at_part(times, 0.99), spread(times));
}

void reclaim_all() {
    Planner planner;
    furnish(planner, 500, {.groups = 1, .leaves = 1});
    model::Queue guest;
    guest.meta = {.name = "team-1"};
    guest.spec = {.parent = "group-0", .quotas = {{.flavor = "h200", .nominal = 0}}};
    planner.put_queue(guest);
    for (std::int64_t id = 1; id <= 4000; ++id) add_running(planner, id, (id - 1) / 8, (id - 1) % 8, {.queue = 1});
    planner.queue_lines();
    const auto [times, placed] = time_plans(
        planner, 9,
        [&] {
            for (std::int64_t id = 10'001; id <= 14'000; ++id) planner.put_demand(demand(id, {}));
        },
        4000);
    say("reclaim_all", at_part(times, 0.5), spread(times));
}

// 100,000 that wait, in 1,000 shapes and 50 queues, on 10,000 full nodes.
void crowd(Planner& planner, std::int64_t waiting) {
    furnish(planner, nodes_all, {});
    for (std::int64_t id = 1; id <= devices_all; ++id)
        add_running(planner, id, (id - 1) / devices_a_node, (id - 1) % devices_a_node, {.queue = id % 50});
    planner.plan(Instant{1}, all_steps);
    for (std::int64_t i = 0; i < waiting; ++i) {
        const std::int64_t shape = i / 50 % 1000;
        planner.put_demand(demand(100'001 + i, {.queue = i % 50,
                                                .count = 1 + shape % 20,
                                                .devices = 1 + shape / 20 % 8,
                                                .cpu_milli = 1000 + shape / 160 * 100}));
    }
}

void idle_and_awake() {
    Planner planner;
    crowd(planner, 100'000);
    planner.plan(Instant{2}, all_steps);
    std::vector<double> idle;
    for (int round = 0; round < 1000; ++round) {
        const Watch watch;
        planner.plan(Instant{3}, all_steps);
        idle.push_back(watch.milliseconds());
    }
    say("nothing_woken", at_part(idle, 0.99), spread(idle));
    std::vector<double> awake;
    for (int round = 0; round < 20; ++round) {
        const std::size_t mark = planner.mark();
        planner.put_demand(demand(probe_id, {}));
        planner.rollback(mark);  // wakes everybody
        const Watch watch;
        if (!planner.plan(Instant{3}, all_steps).placements.empty()) give_up("a full cluster placed something");
        awake.push_back(watch.milliseconds());
    }
    say("all_awake", at_part(awake, 0.5), spread(awake));
}

// Every queue has a gang of 1,000 x 8 first in its line and some two thousand behind it, which state their lengths;
// what runs has a stated end each, and 1,000 devices are free.
void backfill() {
    Planner planner;
    furnish(planner, nodes_all, {});
    for (std::int64_t id = 1; id <= devices_all; ++id) {
        const std::int64_t node = (id - 1) / devices_a_node;
        if (node % 10 == 0 && (id - 1) % devices_a_node == 0) continue;
        add_running(planner, id, node, (id - 1) % devices_a_node, {.queue = id % 50, .preemptible = false, .ends_minutes = 10 + id * 7919 % 10'000});
    }
    planner.plan(Instant{1}, all_steps);
    const auto [times, placed] = time_plans(
        planner, 7,
        [&] {
            for (std::int64_t i = 0; i < 100'000; ++i) {
                const bool head = i < 50;
                const std::int64_t shape = i / 50 % 1000;
                planner.put_demand(demand(100'001 + i, {.queue = i % 50,
                                                        .count = head ? 1000 : 1 + shape % 4,
                                                        .devices = head ? 8 : 1,
                                                        .cpu_milli = 1000 + shape / 200 * 100,
                                                        .minutes = head ? 600 : 5 + shape / 4 % 50 * 100,
                                                        .preemptible = false}));
            }
        },
        any_number);
    say("backfill", at_part(times, 0.5), spread(times) + "; " + std::to_string(placed) + " passed");
}

void explain() {
    Planner planner;
    crowd(planner, 100'000);
    planner.plan(Instant{2}, all_steps);
    const auto snapshot = planner.snapshot();
    constexpr std::int64_t asked = 2000;  // spread over all of them
    std::vector<double> times;
    std::int64_t proved = 0;
    for (std::int64_t i = 0; i < asked; ++i) {
        const Watch watch;
        const auto verdict = snapshot->verdict(RowId{100'001 + i * 7919 % 100'000});
        times.push_back(watch.milliseconds());
        proved += verdict && verdict->proved && verdict->reason.code != model::ReasonCode::none ? 1 : 0;
    }
    say("why", at_part(times, 0.99), spread(times));
    say("why_proved", 100.0 * static_cast<double>(proved) / asked, std::to_string(proved) + " of " + std::to_string(asked));
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
    using namespace tandem::bench;
    const std::pair<const char*, void (*)()> rows[] = {
        {"place_singles", place_singles},     {"place_singles_as_core", place_singles_as_core},
        {"gang_busy_nodes", gang_beside_busy_nodes}, {"gang_busy_devices", gang_among_busy_devices},
        {"proved_hopeless", proved_hopeless}, {"reclaim_all", reclaim_all},
        {"nothing_woken", idle_and_awake},    {"backfill", backfill},
        {"why", explain},
    };
    for (const auto& [name, row] : rows) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], name) == 0;
        if (wanted) row();
    }
    return 0;
}
