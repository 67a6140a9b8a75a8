// SPDX-License-Identifier: Apache-2.0
#include "sim/clients.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/quantity.h"
#include "core/access.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t jobs_at_first = 20;
constexpr std::int64_t services_at_first = 2;
constexpr std::int64_t calls_of_each = 6;
constexpr std::int64_t chaos_ms = 240'000;

template <class T>
T placed(std::string name) {
    T object;
    object.meta.name = std::move(name);
    object.meta.project = "default";
    object.meta.name_space = "default";
    return object;
}

template <class T>
T cluster_wide(std::string name) {
    T object;
    object.meta.name = std::move(name);
    return object;
}

std::vector<model::Action> base_objects() {
    std::vector<model::Object> objects;
    objects.push_back(cluster_wide<model::Project>("default"));
    model::Namespace name_space = cluster_wide<model::Namespace>("default");
    name_space.meta.project = "default";
    objects.push_back(name_space);
    objects.push_back(cluster_wide<model::Pool>("default"));
    objects.push_back(cluster_wide<model::Queue>("default"));
    model::Queue cohort = cluster_wide<model::Queue>("cohort");
    cohort.spec.quotas.push_back({.flavor = "*", .nominal = 4000});
    cohort.spec.usage_half_life = minutes(10);
    cohort.spec.preemption.per_minute = 30;
    cohort.spec.preemption.burst = 4;
    objects.push_back(cohort);
    model::License seats = cluster_wide<model::License>("seats");
    seats.spec.count = seats_there;
    objects.push_back(seats);
    for (const char* name : {"team-a", "team-b"}) {
        model::Queue queue = cluster_wide<model::Queue>(name);
        queue.spec.parent = "cohort";
        queue.spec.quotas.push_back({.flavor = "*", .nominal = 2000});
        queue.spec.preemption.fair_share = model::FairSharing::larger_share;
        queue.spec.min_run_time = seconds(2);
        queue.spec.limits.running = queue_running_max;
        objects.push_back(queue);
    }
    model::Runtime runtime = cluster_wide<model::Runtime>("llama-cpp");
    runtime.spec.command = {"serve", "{model}", "{port}"};
    runtime.spec.ready_timeout = seconds(30);
    objects.push_back(runtime);
    objects.push_back(placed<model::Model>("tiny"));
    model::ModelVersion version = placed<model::ModelVersion>("tiny.v1");
    version.spec.model = "tiny";
    version.spec.number = 1;
    version.spec.digest = "sha256:" + std::string(64, 'a');
    version.spec.bytes = 1;
    objects.push_back(version);
    std::vector<model::Action> actions;
    for (model::Object& object : objects)
        actions.push_back(model::ApplyObject{.object = std::move(object), .mode = model::ApplyMode::create});
    return actions;
}

std::string describe(const model::Job& job) {
    const model::JobRole& role = job.spec.roles.front();
    std::string text = fmt::format("{}: {} x {} devices of queue {}, priority {}, {} steps", job.meta.name,
                                   role.replicas, render_milli(role.resources.devices), job.spec.queue,
                                   job.spec.priority, job.spec.env.at("STEPS"));
    if (job.spec.env.contains("EXIT")) text += ", fails";
    if (job.spec.checkpoint.enabled) text += ", saves";
    if (job.spec.retries.limit > 0) text += fmt::format(", {} retries", job.spec.retries.limit);
    if (!job.spec.outputs.empty()) text += ", has outputs";
    for (const auto& [name, count] : job.spec.licenses) text += fmt::format(", {} {}", count, name);
    if (job.spec.array)
        text += fmt::format(", an array of {}, {} at once", job.spec.array->count, job.spec.array->max_running);
    return text;
}

std::string service_name(std::int64_t index) { return fmt::format("service-{}", index); }

}  // namespace

model::Command Clients::command_of(model::Object object, const std::string& key) {
    return {.ticket = 0,
            .caller = {.subject = std::string(core::platform_subject), .key_id = {}, .request_id = {}},
            .actions = {model::ApplyObject{.object = std::move(object), .mode = model::ApplyMode::create}},
            .idempotency_key = key,
            .body_digest = key,
            .dry_run = false};
}

model::Job Clients::draw_job(std::int64_t number, Random& random) {
    model::Job job = placed<model::Job>(fmt::format("job-{}", number));
    job.spec.command = {"work"};
    const std::int64_t queue = static_cast<std::int64_t>(random.below(3));
    job.spec.queue = queue == 0 ? "default" : queue == 1 ? "team-a" : "team-b";
    job.spec.priority = random.between(0, 3) * 10;
    model::JobRole role;
    role.replicas = random.between(1, 4);
    const bool fraction = random.chance(200);
    role.resources.devices = fraction ? random.between(1, 9) * 100 : 1000;
    role.resources.flavor = "card";
    job.spec.roles.push_back(role);
    job.spec.grace = seconds(random.between(1, 5));
    job.spec.checkpoint.enabled = random.chance(600);
    job.spec.retries.limit = random.between(0, 3);
    job.spec.retries.backoff = seconds(1);
    job.spec.env["STEPS"] = std::to_string(random.between(2, 40));
    if (random.chance(100)) job.spec.env["EXIT"] = "3";
    if (random.chance(300)) job.spec.outputs.push_back({.name = "weights", .path = "weights.bin"});
    job.spec.heartbeat_timeout = seconds(20);
    if (random.chance(200)) job.spec.licenses["seats"] = random.between(1, 2);
    if (!fraction && random.chance(300)) {
        job.spec.roles.front().max_replicas = role.replicas + random.between(1, 4);
        job.spec.elastic.grow_after = seconds(random.between(1, 4));
        job.spec.checkpoint.restart_time = milliseconds(random.between(10, 400));
        if (random.chance(400)) job.spec.elastic.resize = model::ResizeMode::restart;
    }
    if (!random.chance(120)) return job;
    model::JobArray& array = job.spec.array.emplace();
    array.count = random.between(2, 5);
    array.max_running = random.between(0, 2);
    return job;
}

void Clients::plan_one(std::int64_t from_ms, std::int64_t to_ms, Deed deed) {
    const std::int64_t number = ++planned_;
    Random random = random_.fork(fmt::format("operation-{}", number));
    const std::int64_t at = random.between(from_ms, to_ms);
    if (only_ && !only_->contains(number)) return;
    agenda_.in(milliseconds(at), [this, number, random, deed]() mutable { (this->*deed)(number, random); });
}

void Clients::note(std::int64_t number, std::string what) { done_.push_back({number, std::move(what)}); }

void Clients::submit_job(std::int64_t number, Random& random) {
    model::Job job = draw_job(number, random);
    jobs_ += 1;
    note(number, describe(job));
    Request request{.command = {}, .name = job.meta.name};
    request.command = command_of(std::move(job), fmt::format("key-{}", number));
    requests_[number] = std::move(request);
    send(number);
}

void Clients::submit_service(std::int64_t number, Random&) {
    model::Service service = placed<model::Service>(service_name(number - jobs_at_first));
    service.spec.model = "tiny";
    service.spec.resources.devices = 1000;
    service.spec.resources.flavor = "card";
    service.spec.replicas.max = random_.between(1, 3);
    service.spec.preemptible = random_.chance(500);
    service.spec.replicas.idle_timeout = seconds(20);
    service.spec.drain_timeout = seconds(3);
    const std::string name = service.meta.name;
    note(number, name);
    Request request{.command = command_of(std::move(service), fmt::format("key-{}", number)), .name = name};
    requests_[number] = std::move(request);
    send(number);
}

void Clients::call_service(std::int64_t number, Random& random) {
    const std::int64_t call = number - jobs_at_first - services_at_first - 1;
    const std::string name = service_name(1 + call / calls_of_each);
    const std::int64_t waiting = random.between(1, 8);
    const std::int64_t lasts = random.between(2, 30);
    const std::int64_t rows = random.between(1, 3);
    const auto it = services_.find(name);
    if (it == services_.end() || !calling_) return;
    note(number, fmt::format("{} calls of {}", waiting, name));
    const Uid uid = it->second;
    post_(model::GatewayLoad{.gateway = "g1", .services = {{.service = uid, .waiting = waiting, .in_flight = 0}}});
    agenda_.in(seconds(lasts), [this, uid, rows] {
        post_(model::GatewayLoad{.gateway = "g1", .services = {{.service = uid, .waiting = 0, .in_flight = 0}}});
        usage_made_ += rows;
        ship_usage();
    });
}

// The gateway's journal: everything after what was acknowledged, again and again.
void Clients::ship_usage() {
    if (usage_booked_ >= usage_made_) return;
    model::UsageShipped shipped{.ticket = -1, .gateway = "g1", .epoch = 1, .first_sequence = usage_booked_ + 1, .rows = {}};
    for (std::int64_t sequence = usage_booked_ + 1; sequence <= usage_made_; ++sequence) {
        model::RequestUsage row;
        row.sequence = sequence;
        row.request_id = fmt::format("r{}", sequence);
        row.at = agenda_.now();
        row.completion_tokens = sequence;
        shipped.rows.push_back(row);
    }
    const bool twice = faults_.strikes(Fault::usage_sent_twice);
    post_(shipped);
    if (twice) post_(shipped);
    agenda_.in(seconds(5), [this] { ship_usage(); });
}

void Clients::cancel_some(std::int64_t number, Random& random) {
    const std::int64_t pick = random.between(1, jobs_at_first);
    const bool remove = random.chance(400);
    const auto found = requests_.find(pick);
    if (found == requests_.end() || !found->second.acknowledged) return;
    const Request& request = found->second;
    note(number, fmt::format("{} {}", remove ? "deletes" : "cancels", request.name));
    const model::ObjectKey key{model::Kind::job, "default", "default", request.name};
    if (remove) deleted_.insert(request.name);
    model::Command command{.ticket = next_ticket_++,
                           .caller = {.subject = std::string(core::platform_subject), .key_id = {}, .request_id = {}},
                           .actions = {},
                           .idempotency_key = {},
                           .body_digest = {},
                           .dry_run = false};
    if (remove)
        command.actions.push_back(model::DeleteObject{key});
    else
        command.actions.push_back(model::ActOnJob{key, model::JobAct::cancel});
    post_(std::move(command));
}

void Clients::ask_in_vain(std::int64_t number, Random&) {
    note(number, "asks in vain");
    model::Command command{.ticket = next_ticket_++,
                           .caller = {.subject = std::string(core::platform_subject), .key_id = {}, .request_id = {}},
                           .actions = {model::DeleteObject{{model::Kind::queue, "", "", "cohort"}}},
                           .idempotency_key = {},
                           .body_digest = {},
                           .dry_run = false};
    post_(std::move(command));
    model::Command tried = command_of(placed<model::Job>("tried"), "");
    std::get<model::Job>(std::get<model::ApplyObject>(tried.actions.front()).object).spec.command = {"work"};
    tried.ticket = next_ticket_++;
    tried.dry_run = true;
    post_(std::move(tried));
}

void Clients::plan() {
    constexpr std::int64_t base = 0;
    requests_[base] = Request{.command = command_of(model::Project{}, "base"), .name = "base"};
    requests_[base].command.actions = base_objects();
    send(base);
    // By these numbers operations know each other: jobs first, then services, then the calls of each.
    for (std::int64_t i = 0; i < jobs_at_first; ++i) plan_one(500, chaos_ms / 2, &Clients::submit_job);
    for (std::int64_t i = 0; i < services_at_first; ++i) plan_one(500, 20'000, &Clients::submit_service);
    for (std::int64_t i = 0; i < services_at_first * calls_of_each; ++i)
        plan_one(1000, chaos_ms, &Clients::call_service);
    for (int i = 0; i < 5; ++i) plan_one(5000, chaos_ms, &Clients::cancel_some);
    // Requests that are refused, or only tried, share batches with everything else.
    for (int i = 0; i < 40; ++i) plan_one(1000, chaos_ms, &Clients::ask_in_vain);
}

void Clients::send(std::int64_t number) {
    Request& request = requests_.at(number);
    const std::int64_t ticket = next_ticket_++;
    pending_[ticket] = number;
    request.command.ticket = ticket;
    post_(request.command);
    // Nobody waits for ever: without an answer the same request is sent again.
    agenda_.in(seconds(10), [this, ticket, number] {
        if (pending_.erase(ticket) > 0) again_later(number);
    });
}

void Clients::again_later(std::int64_t number) {
    agenda_.in(milliseconds(random_.between(100, 3000)), [this, number] { send(number); });
}

void Clients::on_answer(const model::Answer& answer) {
    const auto it = pending_.find(answer.ticket);
    if (it == pending_.end()) return;
    const std::int64_t number = it->second;
    pending_.erase(it);
    Request& request = requests_.at(number);
    if (answer.error) {
        const bool retry = answer.error->code == ErrorCode::storage_full || answer.error->code == ErrorCode::unavailable ||
                           request.name == "base" || answer.error->code == ErrorCode::invalid;
        if (retry) again_later(number);
        return;
    }
    request.acknowledged = true;
    request.uid = answer.outcomes.front().uid;
    if (request.name.starts_with("service-")) services_[request.name] = request.uid;
    if (faults_.strikes(Fault::client_retries)) again_later(number);
}

void Clients::on_acknowledged(std::int64_t sequence) { usage_booked_ = std::max(usage_booked_, sequence); }

void Clients::on_server_lost() {
    std::map<std::int64_t, std::int64_t> lost;
    std::swap(lost, pending_);
    for (const auto& [ticket, number] : lost) again_later(number);
}

std::string Clients::check(const store::MemoryRows& rows) const {
    for (const auto& [number, request] : requests_) {
        if (!request.acknowledged || request.name == "base" || deleted_.contains(request.name)) continue;
        const model::Kind kind = request.name.starts_with("job-") ? model::Kind::job : model::Kind::service;
        const auto it = rows.names.find({kind, "default", "default", request.name});
        if (it == rows.names.end()) return fmt::format("A1: {} was acknowledged and is not there", request.name);
        if (model::meta_of(rows.objects.at(it->second)).uid != request.uid)
            return fmt::format("A2: one key made two objects of {}", request.name);
    }
    if (static_cast<std::int64_t>(rows.requests.size()) != usage_booked_ && settled() && usage_booked_ == usage_made_)
        return fmt::format("F30: {} usage rows are booked, {} were made", rows.requests.size(), usage_made_);
    return {};
}

}  // namespace tandem::sim
