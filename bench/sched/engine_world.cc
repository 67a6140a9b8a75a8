// SPDX-License-Identifier: Apache-2.0
#include "engine_world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tandem::bench {
namespace {

constexpr std::int64_t zones = 4;

void add_node(sched::Planner& planner, std::int64_t node, std::int64_t nodes) {
    model::Node made;
    made.meta = {.id = RowId{node + 1},
                 .name = node_name(node),
                 .labels = {{"host", "h" + std::to_string(node)}, {"zone", "z" + std::to_string(node * zones / nodes)}}};
    made.status = {.ready = true, .cpu_milli = 64'000, .memory_bytes = std::int64_t{1} << 40};
    for (std::int64_t d = 0; d < devices_a_node; ++d) made.status.devices.push_back({.index = d, .flavor = "h200"});
    planner.put_node(made);
}

void add_queue(sched::Planner& planner, std::string name, std::string parent, std::int64_t nominal) {
    model::Queue queue;
    queue.meta = {.name = std::move(name)};
    queue.spec.parent = std::move(parent);
    if (nominal > 0) queue.spec.quotas = {{.flavor = "h200", .nominal = nominal}};
    planner.put_queue(queue);
}

}  // namespace

std::string node_name(std::int64_t node) { return "node-" + std::to_string(node); }
std::string team(std::int64_t queue) { return "team-" + std::to_string(queue); }

void furnish(sched::Planner& planner, std::int64_t nodes, const Tree& tree) {
    model::Pool pool;
    pool.meta = {.id = RowId{1'000'000}, .name = "default"};
    planner.put_pool(pool);
    add_queue(planner, "root", "", 0);
    for (std::int64_t g = 0; g < tree.groups; ++g) add_queue(planner, "group-" + std::to_string(g), "root", 0);
    const std::int64_t nominal = tree.unlimited ? 0 : nodes * devices_a_node * 1000 / tree.leaves;
    for (std::int64_t q = 0; q < tree.leaves; ++q)
        add_queue(planner, team(q), "group-" + std::to_string(q % tree.groups), nominal);
    for (std::int64_t n = 0; n < nodes; ++n) add_node(planner, n, nodes);
    planner.owner_of("", 0);  // builds the tables, which is no part of a plan
}

sched::Demand demand(std::int64_t id, const Wish& wish) {
    sched::Demand made{.workload = RowId{id},
                       .queue = team(wish.queue),
                       .project = "vision",
                       .priority = wish.priority,
                       .submitted = Instant{id},
                       .length = minutes(wish.minutes),
                       .preemptible = wish.preemptible};
    made.parts.push_back({.role = "worker",
                          .count = wish.count,
                          .each = {.devices = wish.devices * 1000, .flavor = "h200", .cpu_milli = wish.cpu_milli}});
    if (wish.zone >= 0) made.parts[0].each.node_selector = {{"zone", "z" + std::to_string(wish.zone)}};
    return made;
}

void add_running(sched::Planner& planner, std::int64_t id, std::int64_t node, std::int64_t device, const Running& how) {
    planner.put_entry({.id = RowId{id},
                       .workload = RowId{id},
                       .node = node_name(node),
                       .devices = {{device, 1000}},
                       .flavor = "h200",
                       .asked = "h200",
                       .cpu_milli = 1000,
                       .queue = team(how.queue),
                       .pool = "default",
                       .project = "vision"});
    sched::Occupant occupant{.workload = RowId{id},
                             .queue = team(how.queue),
                             .preemptible = how.preemptible,
                             .started = Instant{id},
                             .safe_at = Instant{id}};
    if (how.ends_minutes > 0) occupant.ends = Instant{0} + minutes(how.ends_minutes);
    planner.put_occupant(occupant);
}

double at_part(std::vector<double> times, double part) {
    std::ranges::sort(times);
    return times.at(static_cast<std::size_t>(part * static_cast<double>(times.size() - 1)));
}

void give_up(const std::string& what) {
    std::fprintf(stderr, "sched-engine: %s\n", what.c_str());
    std::exit(1);
}

}  // namespace tandem::bench
