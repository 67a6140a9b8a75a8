// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_executor.h"

#include <algorithm>
#include <fmt/format.h>

namespace tandem::sim {
namespace {

constexpr std::int64_t device_milli = 1000;
constexpr std::int64_t checkpoint_every = 5;

std::int64_t number_of(const std::map<std::string, std::string>& env, const std::string& name, std::int64_t otherwise) {
    const auto it = env.find(name);
    return it == env.end() ? otherwise : std::stoll(it->second);
}

}  // namespace

std::int64_t SimExecutor::latency_ms() { return 1 + static_cast<std::int64_t>(random_.below(40)); }

void SimExecutor::report(model::Input input) {
    if (faults_.strikes(Fault::report_lost)) return;
    const bool late = faults_.strikes(Fault::report_late);
    const std::int64_t delay = late ? 1000 + static_cast<std::int64_t>(random_.below(20'000)) : latency_ms();
    const bool twice = faults_.strikes(Fault::report_twice);
    for (int copy = 0; copy < (twice ? 2 : 1); ++copy)
        agenda_.in(milliseconds(delay * (copy + 1)), [this, input] {
            if (sink_) sink_(input);
        });
}

void SimExecutor::execute(const model::Intent& intent) {
    // Executors act after a while, in the order they were told.
    agenda_.in(milliseconds(1), [this, body = intent.body] {
        if (const auto* one = std::get_if<model::StartTask>(&body)) start(*one);
        if (const auto* one = std::get_if<model::StopTask>(&body)) stop(*one);
        if (const auto* one = std::get_if<model::ProbeReplica>(&body)) probe(*one);
        if (const auto* one = std::get_if<model::CollectOutputs>(&body)) collect(*one);
    });
}

void SimExecutor::check_world(const SimTask& task) {
    std::map<std::int64_t, std::int64_t> used;
    for (const auto& [name, other] : tasks_) {
        if (!other.alive) continue;
        const bool same_rank = name.uid == task.start.task.uid && name.rank == task.start.task.rank;
        if (same_rank && name != task.start.task)
            violation_ = fmt::format("rank lives twice: {} and {}", name.text(), task.start.task.text());
        if (other.start.node != task.start.node) continue;
        for (const model::DeviceShare& share : other.start.devices) used[share.index] += share.milli;
    }
    for (const auto& [device, milli] : used)
        if (milli > device_milli)
            violation_ = fmt::format("device {}/{} has {} milli of live tasks at the start of {}", task.start.node, device,
                                     milli, task.start.task.text());
}

void SimExecutor::start(const model::StartTask& start) {
    const auto known = tasks_.find(start.task);
    if (known != tasks_.end()) {
        // Told again after a crash: it exists, that is success.
        if (known->second.exit) return report(model::TaskExited{start.task, *known->second.exit, ""});
        return report(model::TaskStarted{start.task, "handle", start.wants_port ? "127.0.0.1:1" : "", agenda_.now()});
    }
    SimTask& task = tasks_[start.task];
    task.start = start;
    task.started = agenda_.now();
    task.hung = faults_.strikes(Fault::task_hangs);
    if (!start.resume_from.empty()) task.step = std::stoll(start.resume_from);
    ++starts_;
    check_world(task);
    report(model::TaskStarted{start.task, "handle", start.wants_port ? "127.0.0.1:1" : "", agenda_.now()});
    if (start.wants_port && faults_.strikes(Fault::task_dies))
        agenda_.in(seconds(1 + static_cast<std::int64_t>(random_.below(30))), [this, name = start.task] { end(name, -1, 9); });
    if (!start.wants_port) agenda_.in(milliseconds(100 + static_cast<std::int64_t>(random_.below(200))), [this, name = start.task] { work(name); });
}

// One step of a job's rank: a second or so of virtual time.
void SimExecutor::work(const model::TaskName& name) {
    SimTask& task = tasks_.at(name);
    if (!task.alive || task.hung) return;
    if (faults_.strikes(Fault::shim_lost)) {
        task.alive = false;
        return report(model::TaskGone{name, "shim and task are gone"});
    }
    if (faults_.strikes(Fault::task_dies)) return end(name, -1, 9);
    task.step += 1;
    report(model::TaskProgress{name, task.step, agenda_.now(), agenda_.now()});
    if (task.start.checkpoint && task.step % checkpoint_every == 0)
        report(model::CheckpointSeen{name, {.step = task.step, .path = std::to_string(task.step), .digest = "d", .at = agenda_.now()}});
    if (task.step >= number_of(task.start.env, "STEPS", 10))
        return end(name, number_of(task.start.env, "EXIT", 0), 0);
    agenda_.in(milliseconds(200 + static_cast<std::int64_t>(random_.below(800))), [this, name] { work(name); });
}

void SimExecutor::end(const model::TaskName& name, std::int64_t code, std::int64_t signal) {
    SimTask& task = tasks_.at(name);
    if (!task.alive) return;
    task.alive = false;
    task.exit = model::TaskExit{.code = code, .signal = signal, .at = agenda_.now(), .server_absent = sink_ == nullptr};
    report(model::TaskExited{name, *task.exit, ""});
}

void SimExecutor::stop(const model::StopTask& stop) {
    const auto it = tasks_.find(stop.task);
    if (it == tasks_.end()) {
        // Its start never reached this executor and never will: a later copy of it is refused.
        SimTask& never = tasks_[stop.task];
        never.alive = false;
        never.start.task = stop.task;
        return report(model::TaskGone{stop.task, "never started"});
    }
    if (!it->second.alive) {
        if (it->second.exit) return report(model::TaskExited{stop.task, *it->second.exit, ""});
        return report(model::TaskGone{stop.task, "gone"});
    }
    const std::int64_t leave = std::min(stop.grace.ms, static_cast<std::int64_t>(random_.below(3000)));
    agenda_.in(milliseconds(leave), [this, name = stop.task] { end(name, tasks_.at(name).hung ? -1 : 75, tasks_.at(name).hung ? 9 : 0); });
}

void SimExecutor::probe(const model::ProbeReplica& probe) {
    const std::int64_t wait = 300 + static_cast<std::int64_t>(random_.below(2000));
    agenda_.in(milliseconds(wait), [this, probe] {
        const auto it = tasks_.find(probe.task);
        if (it != tasks_.end() && it->second.alive && !it->second.hung) report(model::ReplicaProbed{probe.task, true, ""});
    });
}

void SimExecutor::collect(const model::CollectOutputs& collect) {
    std::vector<model::OutputRecord> outputs;
    for (const model::JobOutput& output : collect.outputs) outputs.push_back({output.name, "sha256:00", 1});
    report(model::OutputStored{collect.task, std::move(outputs), ""});
}

model::TasksListed SimExecutor::list() const {
    model::TasksListed listed{.executor = "sim", .tasks = {}};
    for (const auto& [name, task] : tasks_) {
        if (!task.alive && !task.exit) continue;
        listed.tasks.push_back({.task = name,
                                .handle = "handle",
                                .endpoint = task.start.wants_port ? "127.0.0.1:1" : "",
                                .exit = task.exit,
                                .start_error = {}});
    }
    return listed;
}

std::int64_t SimExecutor::live_tasks() const {
    return std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) { return entry.second.alive; });
}

}  // namespace tandem::sim
