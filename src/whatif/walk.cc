// SPDX-License-Identifier: Apache-2.0
#include "whatif/walk.h"

#include <algorithm>

#include "core/access.h"
#include "core/jobs.h"

namespace tandem::whatif {
namespace {

using model::Job;
using model::Phase;
using model::ReasonCode;
using model::Replica;
using model::Service;

bool is_eviction(ReasonCode code) {
    return code == ReasonCode::preempted || code == ReasonCode::reclaimed ||
           code == ReasonCode::gave_fair_share || code == ReasonCode::gave_surplus ||
           code == ReasonCode::queue_drained ||
           code == ReasonCode::requeued_by_request;
}

bool waits(const Job& job) {
    return job.status.phase == Phase::pending || job.status.phase == Phase::claimed;
}
bool waits(const Service& service) {
    return service.status.ready < service.status.desired;
}

}  // namespace

Walk::Walk(Scene scene, WalkBounds bounds) : scene_(std::move(scene)), bounds_(std::move(bounds)) {
    version_ = scene_.rows.meta.version;
    now_ = began_ = std::max(bounds_.now, scene_.rows.meta.time);
    end_ = began_ + bounds_.horizon;
    driver_ = std::make_unique<core::Driver>(core::Driver::Ports{*this, *this, *this, *this});
}

Walk::~Walk() = default;

Status Walk::play() {
    TANDEM_TRY(begin());
    return play_on();
}

Status Walk::begin() {
    if (const Status started = driver_->start("whatif"); !started) return started;
    std::vector<model::Input> inputs = std::move(scene_.inputs);
    if (!scene_.actions.empty())
        inputs.push_back(model::Command{.ticket = 1,
                                        .caller = {.subject = std::string(core::platform_subject),
                                                   .key_id = {},
                                                   .request_id = {}},
                                        .actions = std::move(scene_.actions),
                                        .idempotency_key = {},
                                        .body_digest = {},
                                        .dry_run = false});
    // Last, so that nothing is placed before the change is there.
    inputs.push_back(list_tasks());
    for (const auto& [id, job] : driver_->state().table<Job>().rows())
        if (waits(job)) fates_[id].waited = true;
    for (const auto& [id, service] : driver_->state().table<Service>().rows())
        if (waits(service) || scene_.drained.contains(id)) fates_[id].waited = true;
    TANDEM_TRY(run_batch(std::move(inputs)));
    if (answer_ && answer_->error) {
        Error error = *answer_->error;
        const std::string place = "actions[" + std::to_string(answer_->failed_action) + "]";
        error.field = error.field.empty() ? place : place + "." + error.field;
        return std::unexpected(std::move(error));
    }
    mark_waiting();
    return {};
}

// Everything that has processes now, as its executor would tell it.
model::TasksListed Walk::list_tasks() {
    model::TasksListed listed{.executor = "whatif", .tasks = {}};
    for (const auto& [id, replica] : driver_->state().table<Replica>().rows()) {
        if (!model::may_be_alive(replica.status.phase) || core::is_gone(replica)) continue;
        const model::TaskName name = core::task_name(driver_->state(), replica);
        if (!tasks_.contains(name)) take_on(replica);
        listed.tasks.push_back(
            {.task = name,
             .handle = replica.status.handle.empty() ? "handle" : replica.status.handle,
             .endpoint = replica.status.endpoint,
             .exit = {},
             .start_error = {},
             .last_output = {},
             .node = replica.status.node,
             .devices = replica.status.devices});
    }
    return listed;
}

void Walk::take_on(const Replica& replica) {
    const model::TaskName name = core::task_name(driver_->state(), replica);
    Task& task = tasks_[name] = {.workload = replica.spec.owner_id, .pool = replica.spec.pool};
    const Job* job = driver_->state().table<Job>().find(replica.spec.owner_id);
    if (replica.status.phase == Phase::stopping) {
        task.leaving = true;
        plan_exit(name, now_ + grace_of(task.workload), false);
    } else if (job != nullptr && replica.status.phase != Phase::unknown) {
        end_by_itself(name, task, *job, job->status.started.value_or(now_));
    }
}

void Walk::end_by_itself(const model::TaskName& name, Task& task, const Job& job, Instant started) {
    if (job.spec.max_run_time)
        return plan_exit(name, std::max(now_, started + *job.spec.max_run_time), true);
    task.stated = false;
    const auto saved = saved_.find(job.meta.id);
    const Duration before = saved == saved_.end() ? Duration{} : saved->second;
    const auto rest = scene_.typical.rest_of(job, now_ - started + before);
    if (rest) plan_exit(name, now_ + std::max(*rest, seconds(1)), true);
}

void Walk::plan_exit(const model::TaskName& name, Instant when, bool well) {
    if (const auto known = exits_.find(name); known != exits_.end()) agenda_.erase(known->second);
    when = std::max(when, now_);
    at(when, model::TaskExited{.task = name,
                               .exit = {.code = well ? 0 : -1, .signal = well ? 0 : 15, .at = when},
                               .start_error = {},
                               .last_output = {}});
    exits_[name] = {when, sequence_};
}

void Walk::at(Instant when, model::Input input) {
    agenda_.emplace(std::pair{std::max(when, now_), ++sequence_}, std::move(input));
}

Duration Walk::grace_of(RowId workload) const {
    const core::State& state = driver_->state();
    if (const Service* service = state.table<Service>().find(workload))
        return service->spec.drain_timeout;
    const Job* job = state.table<Job>().find(workload);
    if (job == nullptr) return {};
    if (const auto asked = scene_.graces_asked.find(core::key_of_row(*job));
        asked != scene_.graces_asked.end())
        return asked->second;
    const auto known = scene_.graces.find(job->meta.uid);
    return known == scene_.graces.end() ? Duration{} : known->second;
}

void Walk::execute(const model::Intent& intent) {
    if (const auto* one = std::get_if<model::StartTask>(&intent.body)) start(*one);
    if (const auto* one = std::get_if<model::StopTask>(&intent.body)) stop(*one);
    if (const auto* one = std::get_if<model::ProbeReplica>(&intent.body))
        at(now_, model::ReplicaProbed{.task = one->task, .ready = true, .detail = {}});
    if (const auto* one = std::get_if<model::CollectOutputs>(&intent.body)) {
        std::vector<model::OutputRecord> outputs;
        for (const model::JobOutput& output : one->outputs)
            outputs.push_back({output.name, "sha256:00", 1});
        at(now_, model::OutputStored{one->task, std::move(outputs), ""});
    }
}

void Walk::start(const model::StartTask& start) {
    if (tasks_.contains(start.task)) return;
    const core::State& state = driver_->state();
    const Job* job = state.table<Job>().find_uid(start.task.uid);
    const Service* service =
        job == nullptr ? state.table<Service>().find_uid(start.task.uid) : nullptr;
    if (job == nullptr && service == nullptr) return;
    const RowId workload = job != nullptr ? job->meta.id : service->meta.id;
    const model::Queue* queue = state.table<model::Queue>().find_named(
        job != nullptr ? job->spec.queue : service->spec.queue);
    Task& task = tasks_[start.task] = {.workload = workload,
                                       .pool = queue != nullptr ? queue->spec.pool : ""};
    note_first(workload);
    at(now_, model::TaskStarted{start.task, "handle", start.wants_port ? "127.0.0.1:9" : "", now_});
    if (job != nullptr) end_by_itself(start.task, task, *job, now_);
}

void Walk::note_first(RowId workload) {
    Fate& fate = fates_[workload];
    if (fate.start) return;
    const core::State& state = driver_->state();
    std::string pool;
    if (const Job* job = state.table<Job>().find(workload))
        if (const auto* queue = state.table<model::Queue>().find_named(job->spec.queue))
            pool = queue->spec.pool;
    fate.start = StartSeen{.at = now_, .stated = !guessed_.contains(pool)};
}

void Walk::stop(const model::StopTask& stop) {
    const auto found = tasks_.find(stop.task);
    if (found == tasks_.end()) return at(now_, model::TaskGone{stop.task, "never started"});
    if (std::exchange(found->second.leaving, true)) return;
    found->second.stated = true;
    plan_exit(stop.task, now_ + grace_of(found->second.workload), false);
}

core::CommitOutcome Walk::commit(const model::BatchRecord& record) {
    for (const model::EventRecord& event : record.events) {
        if (!is_eviction(event.reason.code)) continue;
        core::State const& state = driver_->state();
        const Job* job = state.table<Job>().find_uid(event.uid);
        const Service* service =
            job == nullptr ? state.table<Service>().find_uid(event.uid) : nullptr;
        if (job == nullptr && service == nullptr) continue;
        const RowId id = job != nullptr ? job->meta.id : service->meta.id;
        fates_[id].evictions.push_back({event.at, event.reason});
        if (event.reason.code == ReasonCode::gave_surplus) continue;  // the rest runs on
        if (job != nullptr && job->spec.checkpoint.enabled && job->status.started)
            saved_[id] = Duration{saved_[id].ms + (now_ - *job->status.started).ms};
    }
    return core::CommitOutcome::committed;
}

void Walk::note_end(const model::Input& input) {
    const auto* exited = std::get_if<model::TaskExited>(&input);
    if (exited == nullptr) return;
    exits_.erase(exited->task);
    const auto task = tasks_.find(exited->task);
    if (task == tasks_.end()) return;
    task->second.ended = true;
    if (!task->second.stated) guessed_.insert(task->second.pool);
}

Status Walk::run_batch(std::vector<model::Input> inputs) {
    batches_ += 1;
    const core::BatchResult result =
        driver_->run(std::move(inputs), {.now = now_, .seed = seed_from(++seeds_)});
    if (result == core::BatchResult::committed) return {};
    return fail(ErrorCode::internal, "a batch on the copied rows was not taken");
}

Status Walk::play_on() {
    while (true) {
        std::optional<Instant> next = driver_->next_wake();
        if (next) next = std::max(*next, now_ + milliseconds(1));
        if (!agenda_.empty()) {
            const Instant first = std::max(agenda_.begin()->first.first, now_);
            next = next ? std::min(*next, first) : first;
        }
        if (!next || *next > end_) break;
        if (batches_ >= bounds_.batches_max || bounds_.stop()) {
            complete_ = false;
            see_the_end();
            return {};
        }
        now_ = *next;
        std::vector<model::Input> inputs;
        while (!agenda_.empty() && agenda_.begin()->first.first <= now_) {
            inputs.push_back(std::move(agenda_.begin()->second));
            agenda_.erase(agenda_.begin());
            note_end(inputs.back());
        }
        if (inputs.empty()) inputs.push_back(model::TimerFired{});
        TANDEM_TRY(run_batch(std::move(inputs)));
    }
    see_the_end();
    now_ = end_;
    return {};
}

// Who waits once the change is there, and who of them has nobody before it.
void Walk::mark_waiting() {
    const core::State& state = driver_->state();
    const auto snapshot = state.planner.snapshot();
    turns_ = snapshot->queue_order();
    std::map<std::string, std::set<std::string>> waiting;  // queues by pool
    for (const auto& [id, job] : state.table<Job>().rows()) {
        if (job.status.phase == Phase::claimed) fates_[id].at_once = true;
        if (!waits(job)) continue;
        fates_[id].waited = true;
        const model::Queue* queue = state.table<model::Queue>().find_named(job.spec.queue);
        if (queue != nullptr && snapshot->position(id) > 0)
            waiting[queue->spec.pool].insert(job.spec.queue);
    }
    for (const auto& [id, service] : state.table<Service>().rows()) {
        if (waits(service)) fates_[id].waited = true;
        const model::Queue* queue = state.table<model::Queue>().find_named(service.spec.queue);
        const bool comes =
            snapshot->position(id) > 0 || scene_.growing.contains(service.spec.queue);
        if (queue != nullptr && comes)
            waiting[queue->spec.pool].insert("service/" + service.spec.queue);
    }
    for (auto& [id, fate] : fates_) {
        const Job* job = state.table<Job>().find(id);
        if (job == nullptr || snapshot->position(id) != 1) continue;
        const model::Queue* queue = state.table<model::Queue>().find_named(job->spec.queue);
        fate.first = queue != nullptr && waiting[queue->spec.pool].size() == 1;
    }
}

void Walk::see_the_end() {
    const core::State& state = driver_->state();
    const auto see = [&](RowId id, const auto& row) {
        const auto found = fates_.find(id);
        if (found == fates_.end()) return;
        Fate& fate = found->second;
        fate.object = core::key_of_row(row);
        fate.queue = row.spec.queue;
        const model::Queue* queue = state.table<model::Queue>().find_named(row.spec.queue);
        if (queue != nullptr) fate.pool = queue->spec.pool;
        fate.waits_still = waits(row);
        if (fate.waits_still) fate.waits = row.status.reason;
    };
    for (const auto& [id, job] : state.table<Job>().rows()) see(id, job);
    for (const auto& [id, service] : state.table<Service>().rows()) see(id, service);
    std::set<std::string> ending;
    for (const auto& [name, task] : tasks_) {
        if (task.ended) continue;
        (exits_.contains(name) ? ending : endless_).insert(task.pool);
    }
    for (const std::string& pool : ending) endless_.erase(pool);
}

bool Walk::knows(const model::ObjectKey& key) const {
    const core::State& state = driver_->state();
    if (key.kind == model::Kind::job)
        return state.table<Job>().find_named(key.project, key.name_space, key.name) != nullptr;
    return state.table<Service>().find_named(key.project, key.name_space, key.name) != nullptr;
}

model::Reason Walk::explain(RowId workload) const {
    const auto verdict = driver_->state().planner.verdict(workload);
    if (verdict && verdict->reason.code != ReasonCode::none) return verdict->reason;
    const auto fate = fates_.find(workload);
    return fate == fates_.end() ? model::Reason{} : fate->second.waits;
}

}  // namespace tandem::whatif
