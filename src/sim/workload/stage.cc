// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/access.h"
#include "core/jobs.h"

namespace tandem::sim {
namespace {

using model::ReasonCode;

constexpr std::int64_t batches_at_once_max = 10'000;

bool is_eviction(ReasonCode code) {
    return code == ReasonCode::preempted || code == ReasonCode::reclaimed ||
           code == ReasonCode::gave_fair_share || code == ReasonCode::gave_surplus ||
           code == ReasonCode::queue_drained || code == ReasonCode::made_way;
}

template <class T>
T named(const std::string& name) {
    T object;
    object.meta.name = name;
    return object;
}

}  // namespace

Stage::Stage(std::int64_t check_every) : check_every_(check_every) {
    driver_ = std::make_unique<core::Driver>(core::Driver::Ports{*this, *this, *this, *this});
    if (const Status started = driver_->start("workload"); !started)
        violation_ = started.error().message;
    run_batch({model::TasksListed{.executor = "workload", .tasks = {}}});
    model::Namespace name_space = named<model::Namespace>("default");
    name_space.meta.project = "default";
    const auto refused =
        submit({model::ApplyObject{named<model::Project>("default")},
                model::ApplyObject{name_space}, model::ApplyObject{named<model::Pool>("default")}});
    if (refused) violation_ = refused->message;
}

std::optional<Error> Stage::submit(std::vector<model::Action> actions) {
    refused_.reset();
    run_batch({model::Command{
        .ticket = ++sequence_,
        .caller = {.subject = std::string(core::platform_subject), .key_id = {}, .request_id = {}},
        .actions = std::move(actions),
        .idempotency_key = {},
        .body_digest = {},
        .dry_run = false}});
    const std::optional<Error> refused = refused_;
    play_until(now_);
    return refused;
}

void Stage::report_nodes(std::vector<model::NodeReported> reports) {
    std::vector<model::Input> inputs;
    for (model::NodeReported& report : reports) inputs.push_back(std::move(report));
    run_batch(std::move(inputs));
    play_until(now_);
}

void Stage::end(const std::string& job, std::int64_t code) {
    for (const auto& [name, task] : tasks_) {
        if (task.job == job) plan_exit(name, now_, code);
    }
    play_until(now_);
}

void Stage::pass(Duration time) {
    const Instant end = now_ + time;
    play_until(end);
    move_to(end);
    run_batch({model::TimerFired{}});
    play_until(end);
}

void Stage::play_until(Instant end) {
    std::int64_t at_once = 0;
    while (violation_.empty()) {
        std::optional<Instant> next = driver_->next_wake();
        if (next) next = std::max(*next, now_ + milliseconds(1));
        if (!agenda_.empty()) {
            const Instant first = agenda_.begin()->first.first;
            next = next ? std::min(*next, first) : first;
        }
        if (!next || *next > end) return;
        at_once = *next > now_ ? 0 : at_once + 1;
        if (at_once > batches_at_once_max) violation_ = "work comes and goes without end";
        move_to(*next);
        std::vector<model::Input> inputs;
        while (!agenda_.empty() && agenda_.begin()->first.first <= now_) {
            inputs.push_back(std::move(agenda_.begin()->second));
            agenda_.erase(agenda_.begin());
            if (const auto* seen = std::get_if<model::CheckpointSeen>(&inputs.back()))
                note_checkpoint(*seen);
            if (const auto* exit = std::get_if<model::TaskExited>(&inputs.back()))
                note_end(*exit);
        }
        if (inputs.empty()) inputs.push_back(model::TimerFired{});
        run_batch(std::move(inputs));
    }
}

void Stage::run_batch(std::vector<model::Input> inputs) {
    batches_ += 1;
    const core::BatchResult result =
        driver_->run(std::move(inputs), {.now = now_, .seed = seed_from(++seeds_)});
    if (result != core::BatchResult::committed && violation_.empty())
        violation_ = "a batch was not committed";
}

void Stage::move_to(Instant when) {
    if (watcher_ && when > now_) watcher_();
    now_ = std::max(now_, when);
}

core::CommitOutcome Stage::commit(const model::BatchRecord& record) {
    for (const model::EventRecord& event : record.events) {
        if (event.about.kind != model::Kind::job) continue;
        if (is_eviction(event.reason.code))
            evictions_.push_back({event.at, event.about.name, event.reason});
        if (event.reason.code == ReasonCode::started)
            starts_.push_back({event.at, event.about.name});
    }
    return core::CommitOutcome::committed;
}

void Stage::publish(const model::BatchRecord&, const core::State& state) {
    if (violation_.empty() && batches_ % check_every_ == 0) check(state);
}

void Stage::check(const core::State& state) {
    violation_ = state.planner.recount();
    if (violation_.empty()) violation_ = state.book.check();
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> used;
    for (const auto& [id, replica] : state.table<model::Replica>().rows()) {
        if (!model::may_be_alive(replica.status.phase) || core::is_gone(replica)) continue;
        for (const model::DeviceShare& share : replica.status.devices)
            used[{replica.status.node, share.index}] += share.milli;
    }
    for (const auto& [device, milli] : used) {
        if (milli > 1000 && violation_.empty())
            violation_ = fmt::format("device {} of node {} is given out more than once",
                                     device.second, device.first);
    }
}

const Behaviour& Stage::behaviour_of(const std::string& job) const {
    const auto found = behaviours_.find(job);
    return found == behaviours_.end() ? plain_ : found->second;
}

void Stage::at(Instant when, model::Input input) {
    agenda_.emplace(std::pair{std::max(when, now_), ++sequence_}, std::move(input));
}

void Stage::execute(const model::Intent& intent) {
    if (const auto* one = std::get_if<model::StartTask>(&intent.body)) start(*one);
    if (const auto* one = std::get_if<model::StopTask>(&intent.body)) stop(*one);
    if (const auto* one = std::get_if<model::CollectOutputs>(&intent.body)) {
        std::vector<model::OutputRecord> outputs;
        for (const model::JobOutput& output : one->outputs)
            outputs.push_back({output.name, "sha256:00", 1});
        at(now_, model::OutputStored{one->task, std::move(outputs), ""});
    }
}

void Stage::start(const model::StartTask& start) {
    if (tasks_.contains(start.task)) return;
    const model::Job* job = driver_->state().table<model::Job>().find_uid(start.task.uid);
    if (job == nullptr) return;
    const std::string& name = job->meta.name;
    std::int64_t milli = 0;
    for (const model::DeviceShare& share : start.devices) milli += share.milli;
    tasks_[start.task] = {
        .job = name, .milli = milli, .started = now_, .resumed = saved_[name]};
    at(now_, model::TaskStarted{start.task, "handle", "", now_});
    const Behaviour& behaviour = behaviour_of(name);
    if (behaviour.run_time.ms > 0) {
        const std::int64_t rest = behaviour.run_time.ms - saved_[name].ms;
        plan_exit(start.task, now_ + milliseconds(std::max<std::int64_t>(0, rest)), 0);
    }
    if (behaviour.checkpoint_every.ms > 0 && start.task.rank == 0)
        plan_checkpoint(start.task, saved_[name].ms / behaviour.checkpoint_every.ms + 1);
}

void Stage::plan_exit(const model::TaskName& task, Instant when, std::int64_t code) {
    at(when, model::TaskExited{.task = task,
                               .exit = {.code = code, .signal = 0, .at = std::max(when, now_)},
                               .start_error = {}});
}

void Stage::note_end(const model::TaskExited& exit) {
    const auto found = tasks_.find(exit.task);
    if (found != tasks_.end() && !found->second.ended) found->second.ended = now_;
}

std::vector<TaskSeen> Stage::tasks() const {
    std::vector<TaskSeen> seen;
    for (const auto& [name, task] : tasks_)
        seen.push_back({task.job, task.milli, task.started, task.ended});
    return seen;
}

void Stage::note_checkpoint(const model::CheckpointSeen& seen) {
    const std::string& job = tasks_.at(seen.task).job;
    saved_[job] = milliseconds(seen.checkpoint.step * behaviour_of(job).checkpoint_every.ms);
    plan_checkpoint(seen.task, seen.checkpoint.step + 1);
}

void Stage::plan_checkpoint(const model::TaskName& task, std::int64_t step) {
    const Task& here = tasks_.at(task);
    const Behaviour& behaviour = behaviour_of(here.job);
    const std::int64_t done = step * behaviour.checkpoint_every.ms;
    if (behaviour.run_time.ms > 0 && done >= behaviour.run_time.ms) return;
    const Instant when = here.started + milliseconds(done - here.resumed.ms);
    at(when, model::CheckpointSeen{
                 task, {.step = step, .path = std::to_string(step), .digest = "d", .at = when}});
}

void Stage::stop(const model::StopTask& stop) {
    const auto found = tasks_.find(stop.task);
    if (found == tasks_.end()) return at(now_, model::TaskGone{stop.task, "never started"});
    if (std::exchange(found->second.leaving, true)) return;
    std::erase_if(agenda_, [&](const auto& entry) {
        const auto* exit = std::get_if<model::TaskExited>(&entry.second);
        const auto* saved = std::get_if<model::CheckpointSeen>(&entry.second);
        return (exit != nullptr && exit->task == stop.task) ||
               (saved != nullptr && saved->task == stop.task);
    });
    const Duration leave = std::min(stop.grace, behaviour_of(found->second.job).leave);
    at(now_ + leave, model::TaskExited{.task = stop.task,
                                       .exit = {.code = -1, .signal = 15, .at = now_ + leave},
                                       .start_error = {}});
}

}  // namespace tandem::sim
