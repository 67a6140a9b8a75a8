// SPDX-License-Identifier: Apache-2.0
#include "server/state_meters.h"

#include <array>
#include <tuple>

namespace tandem::server {
namespace {

std::string text_of(auto phase) {
    return std::string(model::name_of(phase));
}

double devices_of(std::int64_t milli) {
    return static_cast<double>(milli) / 1000;
}

bool holds_devices(model::Phase phase) {
    return phase != model::Phase::pending && !model::is_terminal(phase);
}

}  // namespace

void StateMeters::add(const std::string& name, const std::string& help, telemetry::Labels labels,
                      double value) {
    Series& series = series_[name];
    series.help = help;
    series.values[std::move(labels)] += value;
}

void StateMeters::measure_work(const core::State& state) {
    std::map<model::Phase, std::int64_t> tasks, jobs;
    std::map<model::ServicePhase, std::int64_t> services;
    std::map<std::tuple<std::string, std::string, model::Phase>, std::int64_t> held;
    std::map<std::pair<std::string, std::string>, std::int64_t> surplus;
    for (const auto& [id, replica] : state.table<model::Replica>().rows()) {
        const model::Phase phase = replica.status.phase;
        ++tasks[phase];
        if (!holds_devices(phase)) continue;
        std::int64_t& milli = held[{replica.spec.pool, replica.spec.queue, phase}];
        for (const model::DeviceShare& share : replica.status.devices) milli += share.milli;
        if (!replica.status.surplus) continue;
        std::int64_t& spare = surplus[{replica.spec.pool, replica.spec.queue}];
        for (const model::DeviceShare& share : replica.status.devices) spare += share.milli;
    }
    for (const auto& [id, job] : state.table<model::Job>().rows())
        if (!job.spec.array) ++jobs[job.status.phase];  // its elements are jobs
    for (const auto& [id, service] : state.table<model::Service>().rows())
        ++services[service.status.phase];
    for (const auto& [phase, count] : tasks)
        add("tandem_tasks", "Replicas of jobs and services, by phase.", {{"phase", text_of(phase)}},
            static_cast<double>(count));
    for (const auto& [phase, count] : jobs)
        add("tandem_jobs", "Jobs, by phase.", {{"phase", text_of(phase)}},
            static_cast<double>(count));
    for (const auto& [phase, count] : services)
        add("tandem_services", "Services, by phase.", {{"phase", text_of(phase)}},
            static_cast<double>(count));
    for (const auto& [place, milli] : held) {
        const auto& [pool, queue, phase] = place;
        add("tandem_devices_held", "Devices of claimed and running work, by pool, queue and phase.",
            {{"pool", pool}, {"queue", queue}, {"phase", text_of(phase)}}, devices_of(milli));
    }
    for (const auto& [place, milli] : surplus)
        add("tandem_surplus_devices",
            "Devices that elastic work has beyond its need, by pool and queue.",
            {{"pool", place.first}, {"queue", place.second}}, devices_of(milli));
}

void StateMeters::measure_waiting(const core::State& state) {
    std::size_t asked = 0;
    for (const auto& [id, job] : state.table<model::Job>().rows()) {
        if (job.status.phase != model::Phase::pending || job.spec.array) continue;
        std::string reason = text_of(job.status.reason.code);
        if (asked < verdicts_max) {
            ++asked;
            if (const auto verdict = state.planner.verdict(id))
                reason = text_of(verdict->reason.code);
        } else {
            reason = "notExamined";
        }
        add("tandem_jobs_waiting", "Pending jobs, by queue and by the code of what they wait for.",
            {{"queue", job.spec.queue}, {"reason", reason}}, 1);
    }
}

void StateMeters::measure_capacity(const core::State& state) {
    for (const sched::PoolLine& line : state.planner.pool_lines())
        for (const auto& [kind, milli] :
             {std::pair{"total", line.total}, {"used", line.used}, {"idle", line.idle}})
            add("tandem_pool_devices", "Devices of pools: total, used, idle.",
                {{"pool", line.pool}, {"flavor", line.flavor}, {"state", kind}}, devices_of(milli));
    for (const sched::QueueLine& line : state.planner.queue_lines())
        for (const auto& [kind, milli] :
             {std::pair{"nominal", line.nominal}, {"used", line.used}, {"borrowed", line.borrowed}})
            if (milli != model::unlimited)
                add("tandem_queue_devices", "Devices of queues: nominal, used, borrowed.",
                    {{"queue", line.queue}, {"flavor", line.flavor}, {"state", kind}},
                    devices_of(milli));
    for (const sched::CounterLine& line : state.planner.snapshot()->counter_lines()) {
        if (line.of.bound == model::ReasonCode::user_limit ||
            line.of.bound == model::ReasonCode::array_limit)
            continue;  // as many as there are users and arrays
        const double unit = line.of.devices ? 1000 : 1;
        add("tandem_counted_held", "Held of licenses and of limits of projects and queues.",
            {{"of", std::string(sched::word_of(line.of))},
             {"name", line.of.name},
             {"counts", std::string(sched::what_counts(line.of))}},
            static_cast<double>(line.used) / unit);
    }
    for (const auto& [id, node] : state.table<model::Node>().rows()) {
        add("tandem_node_ready", "1 for nodes that take work.", {{"node", node.meta.name}},
            node.status.ready ? 1 : 0);
        for (const model::Device& device : node.status.devices)
            add("tandem_devices", "Devices of nodes, by health.",
                {{"flavor", device.flavor}, {"healthy", device.healthy ? "true" : "false"}}, 1);
    }
    add("tandem_intents_open", "Actions that were ordered and not yet answered.", {},
        static_cast<double>(state.intents.rows().size()));
}

void StateMeters::write() {
    for (auto& [name, series] : series_) {
        for (auto& [labels, gauge] : series.gauges)
            if (!series.values.contains(labels)) gauge.set(0);
        for (const auto& [labels, value] : series.values) {
            auto known = series.gauges.find(labels);
            if (known == series.gauges.end())
                known =
                    series.gauges.emplace(labels, metrics_.gauge(name, series.help, labels)).first;
            known->second.set(value);
        }
        series.values.clear();
    }
}

void StateMeters::measure(const core::State& state, Instant now) {
    if (last_.ms != 0 && now < last_ + period) return;
    last_ = now;
    measure_work(state);
    measure_waiting(state);
    measure_capacity(state);
    write();
}

}  // namespace tandem::server
