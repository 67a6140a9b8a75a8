// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/wide.h"
#include "core/jobs.h"
#include "sim/workload/kueue.h"
#include "sim/workload/stage.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t checked_every = 500;         // batches
constexpr std::int64_t late_ms = 24LL * 3600 * 1000;  // after the last creation: given up

void add_nodes(Stage& stage, const KueueLoad& load) {
    const std::int64_t count = kueue_node_count(load);
    const std::int64_t devices = kueue_node_devices(load);
    std::vector<model::NodeReported> reports;
    for (std::int64_t n = 0; n < count; ++n) {
        model::NodeReported report{.name = "node-" + std::to_string(n), .status = {}};
        report.status.ready = true;
        report.status.executor = "workload";
        report.status.cpu_milli = 1'000'000;
        report.status.memory_bytes = std::int64_t{1} << 40;
        for (std::int64_t d = 0; d < devices; ++d)
            report.status.devices.push_back({.index = d,
                                             .flavor = std::string(kueue_flavor),
                                             .model = std::string(kueue_flavor)});
        reports.push_back(std::move(report));
    }
    stage.report_nodes(std::move(reports));
}

// Until all are over; false: they do not come to an end.
bool play_out(Stage& stage, const KueueLoad& load) {
    for (std::int64_t waited = 0; waited < late_ms && stage.violation().empty(); waited += 1000) {
        stage.pass(seconds(1));
        const auto& rows = stage.state().table<model::Job>().rows();
        const auto over = std::ranges::count_if(
            rows, [](const auto& row) { return model::is_terminal(row.second.status.phase); });
        if (over == static_cast<std::ptrdiff_t>(load.work.size())) return true;
    }
    return false;
}

void sum_up(const Stage& stage, const KueueLoad& load, Instant begin, KueueReport& report) {
    std::map<std::string, Instant> first;
    for (const StartSeen& start : stage.starts()) first.try_emplace(start.job, start.at);
    Wide worked = 0;  // units x ms
    Wide quota = 0;
    Instant end = begin;
    for (const KueueWork& work : load.work) {
        const model::Job* job =
            stage.state().table<model::Job>().find_named("default", "default", work.name);
        if (job == nullptr || !job->status.finished) continue;
        end = std::max(end, *job->status.finished);
        KueueClass& row = report.classes[work.class_name];
        row.count += 1;
        row.wait_ms += (first.at(work.name) - (begin + work.created)).ms;
        worked += Wide{work.pods} * (work.request_milli / load.unit_milli) * work.run_time.ms;
    }
    for (const KueueQueue& queue : load.queues) quota += queue.nominal_milli / load.unit_milli;
    report.wall_ms = (end - begin).ms;
    if (quota == 0 || report.wall_ms == 0) return;
    report.ideal_ms = static_cast<std::int64_t>((worked + quota - 1) / quota);
    report.used_parts =
        static_cast<std::int64_t>(worked * 1'000'000 / (quota * report.wall_ms));
}

}  // namespace

KueueReport play_kueue(const KueueLoad& load) {
    Stage stage(checked_every);
    Chronicle chronicle(stage);
    KueueReport report;
    add_nodes(stage, load);
    if (const auto refused = stage.submit(make_queues(load))) {
        report.violation = "the queues were refused: " + refused->message;
        return report;
    }
    const Instant begin = stage.now();
    for (std::size_t i = 0; i < load.work.size() && stage.violation().empty();) {
        const Duration created = load.work[i].created;
        if (begin + created > stage.now()) stage.pass(begin + created - stage.now());
        std::vector<model::Action> actions;
        for (; i < load.work.size() && load.work[i].created == created; ++i) {
            stage.behave(load.work[i].name, {.run_time = load.work[i].run_time});
            chronicle.classify(load.work[i].name, load.work[i].class_name);
            actions.push_back(model::ApplyObject{.object = make_job(load, load.work[i]),
                                                 .mode = model::ApplyMode::create});
        }
        if (const auto refused = stage.submit(std::move(actions)); refused && report.violation.empty())
            report.violation = "work was refused: " + refused->message;
    }
    const bool over = play_out(stage, load);
    if (!stage.violation().empty()) report.violation = stage.violation();
    if (!over && report.violation.empty()) report.violation = "not all work came to an end";
    report.evictions = static_cast<std::int64_t>(stage.evictions().size());
    report.batches = stage.batches();
    report.figures = chronicle.close();
    sum_up(stage, load, begin, report);
    return report;
}

}  // namespace tandem::sim
