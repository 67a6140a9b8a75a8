// SPDX-License-Identifier: Apache-2.0
#include "timed_executor.h"

#include <cstdlib>
#include <fstream>

namespace tandem::bench {
namespace {

Instant wall_now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return Instant{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

std::int64_t run_time_of(const model::StartTask& start) {
    return start.command.size() > 1 ? std::atoll(start.command[1].c_str()) : 0;
}

}  // namespace

TimedExecutor::TimedExecutor(Cluster cluster, std::string file, core::InputSink sink)
    : cluster_(std::move(cluster)), file_(std::move(file)), sink_(std::move(sink)) {}

TimedExecutor::~TimedExecutor() {
    thread_.request_stop();
    changed_.notify_all();
}

void TimedExecutor::start() {
    std::ifstream file(file_);
    std::string task, node;
    std::size_t devices = 0;
    while (file >> task >> node >> devices) {
        Running running{.node = node};
        for (std::size_t i = 0; i < devices; ++i) {
            model::DeviceShare share;
            file >> share.index >> share.milli;
            running.devices.push_back(share);
        }
        if (const auto name = model::TaskName::parse(task)) running_.emplace(*name, std::move(running));
    }
    report_nodes();
    report_tasks();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void TimedExecutor::report_nodes() {
    for (std::int64_t n = 0; n < cluster_.nodes; ++n) {
        model::NodeReported report{.name = "node-" + std::to_string(n), .status = {}};
        report.status.ready = true;
        report.status.executor = "timed";
        report.status.cpu_milli = 1'000'000;
        report.status.memory_bytes = std::int64_t{1} << 40;
        for (std::int64_t d = 0; d < cluster_.devices; ++d)
            report.status.devices.push_back({.index = d, .flavor = cluster_.flavor, .model = cluster_.flavor});
        sink_(std::move(report));
    }
}

void TimedExecutor::report_tasks() {
    model::TasksListed listed{.executor = "timed", .tasks = {}};
    for (const auto& [name, running] : running_)
        listed.tasks.push_back({.task = name, .handle = name.text(), .node = running.node, .devices = running.devices});
    sink_(std::move(listed));
}

Status TimedExecutor::keep() {
    const std::lock_guard lock(mutex_);
    std::ofstream file(file_, std::ios::trunc);
    for (const auto& [name, running] : running_) {
        file << name.text() << ' ' << running.node << ' ' << running.devices.size();
        for (const model::DeviceShare& share : running.devices) file << ' ' << share.index << ' ' << share.milli;
        file << '\n';
    }
    file.flush();
    if (!file) return fail(ErrorCode::internal, file_ + " can't be written");
    return {};
}

void TimedExecutor::execute(const model::Intent& intent) {
    const std::lock_guard lock(mutex_);
    if (const auto* start = std::get_if<model::StartTask>(&intent.body)) {
        if (!running_.emplace(start->task, Running{start->node, start->devices}).second) return;
        reports_.push_back(model::TaskStarted{start->task, start->task.text(), "", wall_now()});
        if (const std::int64_t ms = run_time_of(*start); ms > 0)
            ends_.emplace(Clock::now() + std::chrono::milliseconds(ms), std::pair{start->task, std::int64_t{0}});
    } else if (const auto* stop = std::get_if<model::StopTask>(&intent.body)) {
        if (running_.contains(stop->task))
            ends_.emplace(Clock::now(), std::pair{stop->task, std::int64_t{143}});
        else
            reports_.push_back(model::TaskGone{stop->task, "it is not there"});
    } else if (const auto* outputs = std::get_if<model::CollectOutputs>(&intent.body)) {
        reports_.push_back(model::OutputStored{outputs->task, {}, ""});
    }
    changed_.notify_all();
}

// A task that was stopped has a second end, which finds it gone.
void TimedExecutor::finish_due(Clock::time_point now) {
    while (!ends_.empty() && ends_.begin()->first <= now) {
        const auto [task, code] = ends_.begin()->second;
        ends_.erase(ends_.begin());
        if (running_.erase(task) == 0) continue;
        reports_.push_back(model::TaskExited{.task = task, .exit = {.code = code, .signal = 0, .at = wall_now()}, .start_error = {}});
    }
}

void TimedExecutor::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        finish_due(Clock::now());
        if (reports_.empty()) {
            const auto until = ends_.empty() ? Clock::now() + std::chrono::seconds(1) : ends_.begin()->first;
            changed_.wait_until(lock, stop, until, [this] { return !reports_.empty(); });
            continue;
        }
        std::vector<model::Input> reports;
        reports.swap(reports_);
        lock.unlock();
        for (model::Input& report : reports) sink_(std::move(report));
        lock.lock();
    }
}

}  // namespace tandem::bench
