// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/quantity.h"
#include "codec/json_writer.h"
#include "core/jobs.h"
#include "sim/workload/report_json.h"
#include "sim/workload/stage.h"

namespace tandem::sim {
namespace {

using model::Job;
using model::Phase;

std::set<std::string> jobs_in(const core::State& state, std::initializer_list<Phase> phases) {
    std::set<std::string> found;
    for (const auto& [id, job] : state.table<Job>().rows()) {
        if (!job.spec.array && std::ranges::find(phases, job.status.phase) != phases.end())
            found.insert(job.meta.name);
    }
    return found;
}

// Of a job, or of an array's elements.
std::vector<std::string> names_of(const Job& job) {
    if (!job.spec.array) return {job.meta.name};
    std::vector<std::string> names;
    if (const auto indices = model::array_indices(*job.spec.array, "spec.array"))
        for (std::int64_t index : *indices)
            names.push_back(fmt::format("{}-{}", job.meta.name, index));
    return names;
}

model::NodeReported report_of(const AddNodes& nodes, const std::string& name) {
    model::NodeReported report{.name = name, .status = {}};
    report.status.ready = true;
    report.status.executor = "workload";
    report.status.cpu_milli = nodes.cpu_milli;
    report.status.memory_bytes = nodes.memory_bytes;
    for (std::int64_t i = 0; i < nodes.devices; ++i)
        report.status.devices.push_back(
            {.index = i,
             .flavor = nodes.flavor,
             .model = nodes.flavor,
             .memory_bytes = nodes.device_memory_bytes});
    return report;
}

struct Runner {
    Stage stage{};
    Chronicle chronicle{stage};
    std::string here{};  // the operation
    std::vector<std::string> problems{};
    std::set<std::string> submitted{};

    void wrong(std::string text) { problems.push_back(here + ": " + std::move(text)); }
    void run(const Workload& workload);

    void operator()(const AddNodes& nodes);
    void operator()(const Submit& submit);
    void operator()(const Remove& remove);
    void operator()(const Pass& pass) { stage.pass(pass.time); }
    void operator()(const Act& act);
    void operator()(const End& end);
    void operator()(const ChangeNode& change);
    void operator()(const Expect& expect);

    void expect_set(const char* what, const std::optional<std::vector<std::string>>& wanted,
                    const std::set<std::string>& found);
    void expect_evictions(const Expect& expect);
    void expect_reason(const std::string& job, const ExpectedReason& wanted);
    void expect_members(const Expect& expect);
    void expect_use(const Expect& expect);
    void expect_devices(const Expect& expect);
};

void Runner::run(const Workload& workload) {
    for (const Op& op : workload.ops) {
        here = op.field;
        std::visit(*this, op.deed);
        if (stage.violation().empty()) continue;
        wrong("broke a rule: " + stage.violation());
        return;
    }
}

void Runner::operator()(const AddNodes& nodes) {
    std::vector<model::NodeReported> reports;
    for (std::int64_t i = 0; i < nodes.count; ++i)
        reports.push_back(
            report_of(nodes, nodes.count == 1 ? nodes.name : fmt::format("{}-{}", nodes.name, i)));
    std::vector<model::Action> labelled;
    for (const model::NodeReported& report : reports) {
        model::Node node;
        node.meta = {.name = report.name, .labels = nodes.labels};
        labelled.push_back(model::ApplyObject{.object = std::move(node)});
    }
    stage.report_nodes(std::move(reports));
    if (nodes.labels.empty()) return;
    if (const auto refused = stage.submit(std::move(labelled)))
        wrong(fmt::format("was refused: {}: {}", refused->field, refused->message));
}

void Runner::operator()(const Submit& submit) {
    std::vector<model::Action> actions;
    for (const model::Object& object : submit.objects) {
        actions.push_back(model::ApplyObject{.object = object});
        if (!std::holds_alternative<Job>(object)) continue;
        for (const std::string& name : names_of(std::get<Job>(object))) {
            stage.behave(name, submit.behaviour);
            submitted.insert(name);
        }
    }
    const auto refused = stage.submit(std::move(actions));
    if (refused && !submit.refused)
        wrong(fmt::format("was refused: {}: {}", refused->field, refused->message));
    if (!submit.refused) return;
    if (refused && refused->field.empty() && name_of(refused->code) == *submit.refused) return;
    if (!refused)
        wrong(fmt::format("was taken, but {} is wrong", *submit.refused));
    else if (refused->field != *submit.refused)
        wrong(fmt::format("was refused for {} ({}), not for {}", refused->field, refused->message,
                          *submit.refused));
}

void Runner::operator()(const Remove& remove) {
    const bool placed = remove.kind == model::Kind::job;
    const std::string place = placed ? "default" : "";
    if (const auto refused =
            stage.submit({model::DeleteObject{{remove.kind, place, place, remove.name}}}))
        wrong("was refused: " + refused->message);
}

void Runner::operator()(const Act& act) {
    const auto refused = stage.submit({model::ActOnJob{
        {model::Kind::job, "default", "default", act.job}, act.act, act.priority}});
    if (refused) wrong(fmt::format("was refused: {}", refused->message));
}

void Runner::operator()(const End& end) {
    if (!jobs_in(stage.state(), {Phase::starting, Phase::running}).contains(end.job))
        return wrong("does not run");
    stage.end(end.job, end.code);
}

void Runner::operator()(const ChangeNode& change) {
    const model::Node* node = stage.state().table<model::Node>().find_named(change.name);
    if (node == nullptr) return wrong("there is no such node");
    if (change.ready) {
        model::NodeReported report{.name = change.name, .status = node->status};
        report.status.ready = *change.ready;
        stage.report_nodes({std::move(report)});
    }
    if (!change.cordoned) return;
    model::Node edited;
    edited.meta.name = change.name;
    edited.spec.unschedulable = *change.cordoned;
    if (const auto refused = stage.submit({model::ApplyObject{.object = edited}}))
        wrong("was refused: " + refused->message);
}

void Runner::expect_set(const char* what, const std::optional<std::vector<std::string>>& wanted,
                        const std::set<std::string>& found) {
    if (!wanted) return;
    const std::set<std::string> names(wanted->begin(), wanted->end());
    if (names != found) wrong(fmt::format("{} {}, but should {}", what, found, names));
}

void Runner::expect_evictions(const Expect& expect) {
    std::map<std::string, std::int64_t> seen;
    for (const EvictionSeen& eviction : stage.evictions()) seen[eviction.job] += 1;
    const auto all = static_cast<std::int64_t>(stage.evictions().size());
    if (expect.evictions && all != *expect.evictions)
        wrong(fmt::format("{} evictions so far ({}), should be {}", all, seen, *expect.evictions));
    for (const auto& [job, count] : expect.evicted) {
        if (seen[job] != count)
            wrong(fmt::format("{} was evicted {} times, should be {}", job, seen[job], count));
    }
}

std::string describe(const model::Reason& reason) {
    std::string text(model::name_of(reason.code));
    for (const model::ReasonParam& param : reason.params)
        text += fmt::format(" {}={}", param.name, param.value);
    return text;
}

bool is_as_wanted(const model::Reason& reason, const ExpectedReason& wanted) {
    if (model::name_of(reason.code) != wanted.code) return false;
    return std::ranges::all_of(wanted.params, [&](const auto& one) {
        return std::ranges::any_of(reason.params, [&](const model::ReasonParam& param) {
            return param.name == one.first && param.value == one.second;
        });
    });
}

void Runner::expect_reason(const std::string& name, const ExpectedReason& wanted) {
    const Job* job = stage.state().table<Job>().find_named("default", "default", name);
    if (job == nullptr) return wrong(fmt::format("there is no job {}", name));
    const auto verdict = stage.state().planner.verdict(job->meta.id);
    std::vector<model::Reason> reasons{verdict ? verdict->reason : job->status.reason};
    if (verdict) {
        reasons.insert(reasons.end(), verdict->constraints.begin(), verdict->constraints.end());
        reasons.insert(reasons.end(), verdict->protections.begin(), verdict->protections.end());
        for (const model::Remedy& remedy : verdict->remedies)
            reasons.insert(reasons.end(), remedy.steps.begin(), remedy.steps.end());
    }
    if (std::ranges::any_of(reasons,
                            [&](const model::Reason& one) { return is_as_wanted(one, wanted); }))
        return;
    std::string told;
    for (const model::Reason& one : reasons) told += (told.empty() ? "" : "; ") + describe(one);
    wrong(fmt::format("{} waits for: {}; should be {} {}", name, told, wanted.code, wanted.params));
}

void Runner::expect_members(const Expect& expect) {
    for (const auto& [name, count] : expect.members) {
        const Job* job = stage.state().table<Job>().find_named("default", "default", name);
        if (job == nullptr) return wrong(fmt::format("there is no job {}", name));
        if (job->status.replicas != count)
            wrong(fmt::format("{} has {} members, should have {}", name, job->status.replicas,
                              count));
    }
}

void Runner::expect_use(const Expect& expect) {
    std::map<std::pair<std::string, std::string>, std::int64_t> used;
    for (const sched::QueueLine& line : stage.state().planner.queue_lines())
        used[{line.queue, line.flavor}] = line.used;
    for (const auto& [queue, flavors] : expect.used) {
        for (const auto& [flavor, milli] : flavors) {
            const std::int64_t found = used[{queue, flavor}];
            if (found != milli)
                wrong(fmt::format("queue {} uses {} of {}, should be {}", queue,
                                  render_milli(found), flavor, render_milli(milli)));
        }
    }
}

void Runner::expect_devices(const Expect& expect) {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> tasks;
    std::map<std::string, std::set<std::string>> flavors;
    for (const auto& [id, replica] : stage.state().table<model::Replica>().rows()) {
        if (!model::may_be_alive(replica.status.phase)) continue;
        const model::Node* node =
            stage.state().table<model::Node>().find_named(replica.status.node);
        for (const model::DeviceShare& share : replica.status.devices) {
            tasks[{replica.status.node, share.index}] += 1;
            for (const model::Device& device : node->status.devices)
                if (device.index == share.index)
                    flavors[replica.spec.owner_name].insert(device.flavor);
        }
    }
    for (const auto& [job, flavor] : expect.on) {
        if (flavors[job] != std::set<std::string>{flavor})
            wrong(fmt::format("{} runs on {}, should be on {}", job, flavors[job], flavor));
    }
    if (!expect.tasks_per_device) return;
    for (const auto& [device, count] : tasks) {
        if (count != *expect.tasks_per_device)
            wrong(fmt::format("device {} of {} has {} tasks, should have {}", device.second,
                              device.first, count, *expect.tasks_per_device));
    }
}

void Runner::operator()(const Expect& expect) {
    const std::set<std::string> running = jobs_in(stage.state(), {Phase::starting, Phase::running});
    expect_set("run", expect.running, running);
    expect_set("wait", expect.pending, jobs_in(stage.state(), {Phase::pending, Phase::claimed}));
    if (expect.running_count && static_cast<std::int64_t>(running.size()) != *expect.running_count)
        wrong(fmt::format("{} jobs run, should be {}", running.size(), *expect.running_count));
    expect_evictions(expect);
    for (const auto& [job, reason] : expect.why) expect_reason(job, reason);
    expect_members(expect);
    expect_use(expect);
    expect_devices(expect);
}

void write_counts(codec::JsonWriter& writer, const Runner& runner) {
    const core::State& state = runner.stage.state();
    const auto count = [&](const char* name, std::initializer_list<Phase> phases) {
        writer.key(name);
        writer.number(static_cast<std::int64_t>(jobs_in(state, phases).size()));
    };
    writer.key("jobs");
    writer.begin_object();
    writer.key("total");
    writer.number(static_cast<std::int64_t>(runner.submitted.size()));
    count("running", {Phase::starting, Phase::running});
    count("pending", {Phase::pending, Phase::claimed});
    count("stopping", {Phase::stopping});
    count("succeeded", {Phase::succeeded});
    count("failed", {Phase::failed});
    writer.end_object();
}

void write_evictions(codec::JsonWriter& writer, const Runner& runner, Instant begin) {
    writer.key("evictions");
    writer.begin_array();
    for (const EvictionSeen& eviction : runner.stage.evictions()) {
        writer.begin_object();
        writer.key("atSeconds");
        writer.number((eviction.at - begin).ms / 1000);
        writer.key("job");
        writer.text(eviction.job);
        writer.key("reason");
        writer.text(model::name_of(eviction.reason.code));
        for (const model::ReasonParam& param : eviction.reason.params) {
            writer.key(param.name);
            writer.text(param.value);
        }
        writer.end_object();
    }
    writer.end_array();
}

void write_waits(codec::JsonWriter& writer, const Runner& runner) {
    std::vector<std::int64_t> waits;
    std::set<std::string> seen;
    for (const StartSeen& start : runner.stage.starts()) {
        const Job* job =
            runner.stage.state().table<Job>().find_named("default", "default", start.job);
        if (job != nullptr && seen.insert(start.job).second)
            waits.push_back((start.at - job->meta.created).ms);
    }
    std::ranges::sort(waits);
    const auto at_share = [&](std::size_t percent) {
        return waits.empty() ? 0 : waits[(waits.size() - 1) * percent / 100] / 1000;
    };
    writer.key("waits");
    writer.begin_object();
    for (const auto& [name, percent] : {std::pair{"p50", 50U}, {"p99", 99U}, {"max", 100U}}) {
        writer.key(name);
        writer.number(at_share(percent));
    }
    writer.end_object();
}

void write_pending(codec::JsonWriter& writer, const Runner& runner) {
    std::map<std::string, std::int64_t> reasons;
    for (const auto& [id, job] : runner.stage.state().table<Job>().rows()) {
        if (job.status.phase != Phase::pending) continue;
        const auto verdict = runner.stage.state().planner.verdict(id);
        reasons[std::string(
            model::name_of(verdict ? verdict->reason.code : job.status.reason.code))] += 1;
    }
    writer.key("pending");
    writer.begin_object();
    for (const auto& [reason, count] : reasons) {
        writer.key(reason);
        writer.number(count);
    }
    writer.end_object();
}

}  // namespace

WorkloadReport run_workload(const Workload& workload) {
    Runner runner;
    const Instant begin = runner.stage.now();
    runner.run(workload);
    WorkloadReport report{.problems = runner.problems, .figures = runner.chronicle.close()};
    codec::JsonWriter writer(report.json);
    writer.begin_object();
    writer.key("name");
    writer.text(workload.name);
    writer.key("virtualSeconds");
    writer.number((runner.stage.now() - begin).ms / 1000);
    write_counts(writer, runner);
    writer.key("starts");
    writer.number(static_cast<std::int64_t>(runner.stage.starts().size()));
    write_evictions(writer, runner, begin);
    write_waits(writer, runner);
    write_pending(writer, runner);
    writer.key("problems");
    writer.begin_array();
    for (const std::string& problem : report.problems) writer.text(problem);
    writer.end_array();
    write_chronicle(writer, report.figures);
    writer.end_object();
    return report;
}

}  // namespace tandem::sim
