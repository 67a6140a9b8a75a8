// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/replay_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/workload/report_json.h"

namespace tandem::sim {
namespace {

using model::Job;
using model::Phase;

constexpr Duration saves_every = minutes(10);
constexpr Duration week = hours(24 * 7);
constexpr Duration step_max = hours(6);
constexpr std::int64_t checked_every = 100;  // batches

struct Arrival {
    Duration at{};  // since the first
    const PastWork* work = nullptr;
    bool leaves = false;
};

std::string path_of(const std::string& field, const std::string& below) {
    return below.empty() ? field : field + "." + below;
}

class Replay {
  public:
    Replay(const History& history, const model::WhatIf& change)
        : history_(history), change_(change), chronicle_(stage_) {}

    Result<ReplayFigures> run() {
        for (const model::Pool& pool : history_.pools)
            if (pool.spec.form == model::Form::shared) shared_ = pool.meta.name;
        TANDEM_TRY(check_names());
        TANDEM_TRY(build());
        TANDEM_TRY(apply_change());
        play();
        if (!stage_.violation().empty()) return fail(ErrorCode::internal, stage_.violation());
        return figures();
    }

  private:
    Status submit(model::Object object, const std::string& field) {
        if (const auto refused = stage_.submit({model::ApplyObject{std::move(object)}}))
            return fail(refused->code, refused->message, path_of(field, refused->field));
        return {};
    }
    // Of what the server itself exported: that it is refused is no fault of the change.
    template <class T>
    Status restore(const std::vector<T>& objects, const char* kind) {
        for (const T& object : objects)
            TANDEM_TRY(submit(object, fmt::format("{} {} of the history", kind, object.meta.name)));
        return {};
    }
    bool is_node(const std::string& name) const {
        return std::ranges::any_of(history_.nodes,
                                   [&](const auto& node) { return node.meta.name == name; });
    }

    Status check_names();
    Status build();
    Status apply_change();
    Status apply_action(const model::Action& action, const std::string& field);
    Status put_pool(model::Pool pool, const std::string& field);
    Status put_queue(model::Queue queue, const std::string& field);
    Status add_node(const model::Node& node, const std::string& field);
    Status add_nodes(const model::NodesAdded& asked, const std::string& field);

    std::int64_t priority_of(const PastWork& work) const;
    std::vector<Arrival> arrivals() const;
    void arrive(const PastWork& work);
    void withdraw(const PastWork& work);
    bool all_done() const;
    void play();
    ReplayFigures figures();

    const History& history_;
    const model::WhatIf& change_;
    Stage stage_{checked_every};
    Chronicle chronicle_;
    std::string shared_ = "default";
    Instant began_{};
    std::int64_t devices_ = 0;
    ReplayFigures figures_{};
};

Status Replay::check_names() {
    for (std::size_t i = 0; i < change_.drain.size(); ++i)
        if (!is_node(change_.drain[i]))
            return fail(ErrorCode::not_found,
                        fmt::format("node \"{}\" is not in the history", change_.drain[i]),
                        fmt::format("drain[{}]", i));
    for (std::size_t i = 0; i < change_.priorities.size(); ++i) {
        const model::PriorityAsked& asked = change_.priorities[i];
        const model::ObjectKey key{asked.kind, asked.project, asked.name_space, asked.name};
        if (std::ranges::find(history_.work, key, &PastWork::of) == history_.work.end())
            return fail(ErrorCode::not_found,
                        fmt::format("{} \"{}\" is not in the history", model::name_of(asked.kind),
                                    asked.name),
                        fmt::format("priorities[{}].name", i));
    }
    return {};
}

Status Replay::build() {
    TANDEM_TRY(restore(history_.projects, "project"));
    TANDEM_TRY(restore(history_.namespaces, "namespace"));
    TANDEM_TRY(restore(history_.licenses, "license"));
    for (const model::Node& node : history_.nodes)
        TANDEM_TRY(add_node(node, fmt::format("node {} of the history", node.meta.name)));
    for (const model::Pool& pool : history_.pools)
        TANDEM_TRY(put_pool(pool, fmt::format("pool {} of the history", pool.meta.name)));
    for (const model::Queue& queue : history_.queues)
        TANDEM_TRY(put_queue(queue, fmt::format("queue {} of the history", queue.meta.name)));
    return {};
}

// The stage has one shared pool, by a name of its own.
Status Replay::put_pool(model::Pool pool, const std::string& field) {
    if (pool.meta.name == shared_) pool.meta.name = "default";
    if (pool.spec.from == shared_) pool.spec.from = "default";
    return submit(std::move(pool), field);
}

Status Replay::put_queue(model::Queue queue, const std::string& field) {
    if (queue.spec.pool == shared_) queue.spec.pool = "default";
    queue.spec.per_user = {};
    return submit(std::move(queue), field);
}

Status Replay::add_node(const model::Node& node, const std::string& field) {
    if (std::ranges::find(change_.drain, node.meta.name) != change_.drain.end()) return {};
    model::NodeReported report{.name = node.meta.name, .status = node.status};
    report.status.ready = true;
    for (model::Device& device : report.status.devices) device.taken_by.clear();
    devices_ += static_cast<std::int64_t>(node.status.devices.size());
    stage_.report_nodes({std::move(report)});
    return submit(model::Node{.meta = {.name = node.meta.name, .labels = node.meta.labels},
                              .spec = node.spec},
                  field);
}

Status Replay::add_nodes(const model::NodesAdded& asked, const std::string& field) {
    model::Node made;
    if (asked.count < 1 || asked.count > model::what_if_nodes_max)
        return invalid_field(field + ".count", fmt::format("must be 1 to {}, is {}",
                                                           model::what_if_nodes_max, asked.count));
    if (!asked.like.empty()) {
        const auto like = std::ranges::find(history_.nodes, asked.like,
                                            [](const auto& node) { return node.meta.name; });
        if (like == history_.nodes.end())
            return fail(ErrorCode::not_found,
                        fmt::format("node \"{}\" is not in the history", asked.like),
                        field + ".like");
        made = *like;
    } else {
        made.meta.labels = asked.labels;
        made.spec.taints = asked.taints;
        made.status = {
            .executor = "local", .cpu_milli = asked.cpu_milli, .memory_bytes = asked.memory_bytes};
        for (std::int64_t i = 0; i < asked.devices; ++i)
            made.status.devices.push_back({.index = i, .flavor = asked.flavor});
    }
    for (std::int64_t i = 1; i <= asked.count; ++i) {
        made.meta.name = asked.count == 1 ? asked.name : fmt::format("{}-{}", asked.name, i);
        if (is_node(made.meta.name))
            return fail(ErrorCode::conflict,
                        fmt::format("node \"{}\" is there already", made.meta.name),
                        field + ".name");
        TANDEM_TRY(add_node(made, field));
    }
    return {};
}

Status Replay::apply_action(const model::Action& action, const std::string& field) {
    const auto* apply = std::get_if<model::ApplyObject>(&action);
    if (apply != nullptr) {
        if (const auto* queue = std::get_if<model::Queue>(&apply->object))
            return put_queue(*queue, field);
        if (const auto* pool = std::get_if<model::Pool>(&apply->object))
            return put_pool(*pool, field);
    }
    return invalid_field(field,
                         "must apply a Queue or a Pool: machines, queues and pools are what a "
                         "history is replayed on");
}

Status Replay::apply_change() {
    for (std::size_t i = 0; i < change_.add_nodes.size(); ++i)
        TANDEM_TRY(add_nodes(change_.add_nodes[i], fmt::format("addNodes[{}]", i)));
    for (std::size_t i = 0; i < change_.actions.size(); ++i)
        TANDEM_TRY(apply_action(change_.actions[i], fmt::format("actions[{}]", i)));
    return {};
}

std::int64_t Replay::priority_of(const PastWork& work) const {
    for (const model::PriorityAsked& asked : change_.priorities)
        if (work.of == model::ObjectKey{asked.kind, asked.project, asked.name_space, asked.name})
            return asked.priority;
    return work.job.spec.priority;
}

void Replay::arrive(const PastWork& work) {
    Job job = work.job;
    job.spec.priority = priority_of(work);
    job.spec.heartbeat_timeout.reset();
    job.spec.silence_timeout.reset();
    const Duration room = work.run_time + seconds(1);
    if (job.spec.max_run_time && *job.spec.max_run_time < room) job.spec.max_run_time = room;
    stage_.behave(job.meta.name,
                  {.run_time = work.run_time,
                   .leave = job.spec.grace,
                   .checkpoint_every = job.spec.checkpoint.enabled ? saves_every : Duration{}});
    const std::string name = job.meta.name;
    const auto refused = stage_.submit({model::ApplyObject{std::move(job)}});
    if (!refused) return;
    if (figures_.refused++ == 0)
        figures_.first_refusal = fmt::format("job {}: {}{}{}", name, refused->field,
                                             refused->field.empty() ? "" : ": ", refused->message);
}

void Replay::withdraw(const PastWork& work) {
    const auto* job = stage_.state().table<Job>().find_named(
        work.job.meta.project, work.job.meta.name_space, work.job.meta.name);
    if (job != nullptr && job->status.phase == Phase::pending)
        stage_.submit(
            {model::ActOnJob{{Job::kind, job->meta.project, job->meta.name_space, job->meta.name},
                             model::JobAct::cancel,
                             {}}});
}

std::vector<Arrival> Replay::arrivals() const {
    std::map<std::pair<Duration, std::size_t>, Arrival> ordered;
    const Instant first = history_.work.front().submitted;
    for (const PastWork& work : history_.work) {
        const Duration at = work.submitted - first;
        ordered[{at, ordered.size()}] = {.at = at, .work = &work};
        if (!work.withdrawn) continue;
        const Duration left = *work.withdrawn - first;
        ordered[{left, ordered.size()}] = {.at = left, .work = &work, .leaves = true};
    }
    std::vector<Arrival> list;
    for (const auto& [place, arrival] : ordered) list.push_back(arrival);
    return list;
}

bool Replay::all_done() const {
    return std::ranges::all_of(stage_.state().table<Job>().rows(), [](const auto& row) {
        return model::is_terminal(row.second.status.phase);
    });
}

void Replay::play() {
    began_ = stage_.now();
    for (const Arrival& arrival : arrivals()) {
        const Duration ahead = began_ + arrival.at - stage_.now();
        if (ahead.ms > 0) stage_.pass(ahead);
        if (arrival.leaves)
            withdraw(*arrival.work);
        else
            arrive(*arrival.work);
        if (!stage_.violation().empty()) return;
    }
    const Instant last = stage_.now() + (stage_.now() - began_) + week;
    Duration step = seconds(1);
    while (stage_.now() < last && !all_done() && stage_.violation().empty()) {
        stage_.pass(step);
        step = std::min(step + step, step_max);
    }
}

ReplayFigures Replay::figures() {
    ReplayFigures told = figures_;
    for (const PastWork& work : history_.work) {
        told.cut_off += work.cut_off ? 1 : 0;
        told.guessed += work.guessed ? 1 : 0;
    }
    Instant end = began_;
    for (const auto& [id, job] : stage_.state().table<Job>().rows())
        if (job.status.started && job.status.finished) end = std::max(end, *job.status.finished);
    told.makespan_ms = (end - began_).ms;
    told.evictions = static_cast<std::int64_t>(stage_.evictions().size());
    told.devices = devices_;
    told.chronicle = chronicle_.close();
    return told;
}

}  // namespace

Result<ReplayFigures> replay_history(const History& history, const model::WhatIf& change) {
    return Replay(history, change).run();
}

}  // namespace tandem::sim
