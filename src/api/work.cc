// SPDX-License-Identifier: Apache-2.0
#include "api/work.h"

#include <fmt/format.h>

#include "api/commands.h"
#include "api/logs.h"
#include "api/resources.h"
#include "codec/json_writer.h"
#include "codec/reasons.h"

namespace tandem::api {
namespace {

codec::Language language_of(const Call& call) {
    return call.query_or("lang") == "zh" ? codec::Language::zh : codec::Language::en;
}

void write_reason(codec::JsonWriter& writer, const model::Reason& reason, codec::Language language) {
    writer.begin_object();
    writer.key("code");
    writer.text(model::name_of(reason.code));
    writer.key("params");
    writer.begin_object();
    for (const model::ReasonParam& param : reason.params) {
        writer.key(param.name);
        writer.text(param.value);
    }
    writer.end_object();
    writer.key("text");
    writer.text(codec::render_reason(reason, language));
    writer.end_object();
}

struct WhyAnswer {
    std::string phase{};
    model::Reason reason{};
    std::optional<model::Verdict> verdict{};
};

std::string render_why(const model::ObjectKey& key, const WhyAnswer& why, codec::Language language) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("kind");
    writer.text(model::name_of(key.kind));
    writer.key("name");
    writer.text(key.name);
    writer.key("phase");
    writer.text(why.phase);
    writer.key("reason");
    write_reason(writer, why.verdict ? why.verdict->reason : why.reason, language);
    writer.key("lastReason");
    write_reason(writer, why.reason, language);
    if (why.verdict) {
        writer.key("position");
        writer.number(why.verdict->position);
        writer.key("remedies");
        writer.begin_array();
        for (const model::Reason& remedy : why.verdict->remedies) write_reason(writer, remedy, language);
        writer.end_array();
    }
    writer.end_object();
    return json;
}

template <class T>
std::optional<WhyAnswer> find_why(const core::State& state, const model::ObjectKey& key) {
    const T* row = state.table<T>().find_named(key.project, key.name_space, key.name);
    if (!row) return std::nullopt;
    return WhyAnswer{.phase = std::string(model::name_of(row->status.phase)),
                     .reason = row->status.reason,
                     .verdict = state.planner.verdict(row->meta.id)};
}

void why(const Parts& parts, Call call, model::Kind kind) {
    const model::ObjectKey key = key_of_path(call, kind);
    const Status allowed = allow_read(parts, call, {auth::area_of(kind), auth::Verb::read}, key.project,
                                      key.project + "/" + key.name_space + "/" + key.name);
    if (!allowed) return call.refuse(allowed.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.query([shared, key](const core::State& state) {
        const auto why = key.kind == model::Kind::job ? find_why<model::Job>(state, key)
                                                      : find_why<model::Service>(state, key);
        if (!why) return shared->refuse({ErrorCode::not_found, fmt::format("\"{}\" does not exist", key.name), ""});
        shared->answer(render_why(key, *why, language_of(*shared)));
    });
    if (!queued) shared->refuse(queued.error());
}

void write_queue_line(codec::JsonWriter& writer, const sched::QueueLine& line) {
    writer.begin_object();
    const auto text = [&](std::string_view name, const std::string& value) {
        writer.key(name);
        writer.text(value);
    };
    const auto number = [&](std::string_view name, std::int64_t value) {
        writer.key(name);
        writer.number(value);
    };
    text("queue", line.queue);
    text("parent", line.parent);
    text("flavor", line.flavor);
    number("nominalMilli", line.nominal);
    number("quotaMilli", line.quota);
    number("usedMilli", line.used);
    number("borrowedMilli", line.borrowed);
    number("lentMilli", line.lent);
    number("weight", line.weight);
    text("share", line.share);
    number("hardwareMilli", line.hardware);
    number("decayedHoursMilli", line.faded_hours);
    number("waiting", line.waiting);
    writer.end_object();
}

void write_pool_line(codec::JsonWriter& writer, const sched::PoolLine& line) {
    writer.begin_object();
    writer.key("pool");
    writer.text(line.pool);
    writer.key("flavor");
    writer.text(line.flavor);
    writer.key("totalMilli");
    writer.number(line.total);
    writer.key("usedMilli");
    writer.number(line.used);
    writer.key("idleMilli");
    writer.number(line.idle);
    writer.end_object();
}

template <class Line>
std::string render_lines(const std::vector<Line>& lines, void (*write)(codec::JsonWriter&, const Line&)) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("items");
    writer.begin_array();
    for (const Line& line : lines) write(writer, line);
    writer.end_array();
    writer.end_object();
    return json;
}

void view(const Parts& parts, Call call, auth::Area area, std::string (*render)(const core::State&)) {
    const Status allowed = allow_read(parts, call, {area, auth::Verb::read}, "", call.request.path);
    if (!allowed) return call.refuse(allowed.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued =
        parts.core.query([shared, render](const core::State& state) { shared->answer(render(state)); });
    if (!queued) shared->refuse(queued.error());
}

std::string render_queues(const core::State& state) { return render_lines(state.planner.queue_lines(), write_queue_line); }
std::string render_pools(const core::State& state) { return render_lines(state.planner.pool_lines(), write_pool_line); }

void add(Router& router, std::string method, std::string pattern, std::string summary, RouteHandler handler,
         Parameters query = {}) {
    router.add({.method = std::move(method),
                .pattern = std::move(pattern),
                .door = Door::caller,
                .handler = std::move(handler),
                .summary = std::move(summary),
                .query = std::move(query)});
}

struct JobRoute {
    model::JobAct act;
    const char* summary;
};
constexpr JobRoute job_routes[] = {
    {model::JobAct::cancel, "Cancel a job"},
    {model::JobAct::retry, "Start a failed or cancelled job again"},
    {model::JobAct::hold, "Keep a pending job from starting"},
    {model::JobAct::release, "Take a hold back"},
    {model::JobAct::suspend, "Stop a job with a checkpoint and let it wait until resumed"},
    {model::JobAct::resume, "Let a suspended job wait its turn again"},
    {model::JobAct::requeue, "Stop a running job with a checkpoint and queue it again"},
    {model::JobAct::front, "Put a pending job before its submitter's other ones"},
};

}  // namespace

void add_work_routes(Router& router, const Parts& parts, Ticker& ticker) {
    const std::string job = collection_path(model::Kind::job) + "/{name}";
    const std::string service = collection_path(model::Kind::service) + "/{name}";
    const std::string replica = collection_path(model::Kind::replica) + "/{name}";
    for (const JobRoute& route : job_routes)
        add(router, "POST", fmt::format("{}/{}", job, model::name_of(route.act)), route.summary,
            [&parts, act = route.act](Call call) {
                std::vector<model::Action> actions{
                    model::ActOnJob{key_of_path(call, model::Kind::job), act}};
                send_command(parts, std::move(call), std::move(actions), Show::object);
            },
            {dry_run_parameter()});
    for (const model::Kind kind : {model::Kind::job, model::Kind::service}) {
        const std::string& base = kind == model::Kind::job ? job : service;
        add(router, "GET", base + "/why", "Why it is as it is, and what would change it",
            [&parts, kind](Call call) { why(parts, std::move(call), kind); }, {language_parameter()});
        add(router, "GET", base + "/logs", "Output of one of its replicas",
            [&parts, &ticker, kind](Call call) { logs(parts, ticker, std::move(call), kind); }, log_parameters());
    }
    add(router, "GET", replica + "/logs", "Output of a replica",
        [&parts, &ticker](Call call) { logs(parts, ticker, std::move(call), model::Kind::replica); }, log_parameters());
    add(router, "GET", "/api/v1/queues-view", "Use and waiting work of every queue",
        [&parts](Call call) { view(parts, std::move(call), auth::Area::queues, render_queues); });
    add(router, "GET", "/api/v1/pools-view", "Devices of every pool",
        [&parts](Call call) { view(parts, std::move(call), auth::Area::pools, render_pools); });
}

}  // namespace tandem::api
