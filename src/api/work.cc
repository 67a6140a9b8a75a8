// SPDX-License-Identifier: Apache-2.0
#include "api/work.h"

#include <fmt/format.h>

#include "api/commands.h"
#include "api/logs.h"
#include "api/queue_order.h"
#include "api/resources.h"
#include "api/why.h"
#include "base/quantity.h"
#include "codec/json_writer.h"
#include "model/limits.h"

namespace tandem::api {
namespace {

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

void view(const Parts& parts, Call call, auth::Area area,
          std::string (*render)(const sched::Snapshot&)) {
    const Status allowed = allow_read(parts, call, {area, auth::Verb::read}, "", call.request.path);
    if (!allowed) return call.refuse(allowed.error());
    call.answer(render(parts.core.work()->plan()));
}

std::string render_queues(const sched::Snapshot& plan) {
    return render_lines(plan.queue_lines(), write_queue_line);
}
std::string render_pools(const sched::Snapshot& plan) {
    return render_lines(plan.pool_lines(), write_pool_line);
}

void add(Router& router, std::string method, std::string pattern, std::string operation,
         std::string summary, RouteHandler handler, Parameters query = {}) {
    router.add({.method = std::move(method),
                .pattern = std::move(pattern),
                .door = Door::caller,
                .handler = std::move(handler),
                .operation = std::move(operation),
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
    {model::JobAct::force, "Start a pending job whatever quotas and limits say"},
};

Parameter priority_parameter(std::string note) {
    return {.name = "priority",
            .note = std::move(note),
            .type = ParameterType::number,
            .low = -model::limits::priority_max,
            .high = model::limits::priority_max};
}

void act_with_priority(const Parts& parts, Call call, model::JobAct act, Show show) {
    model::ActOnJob wanted{key_of_path(call, model::Kind::job), act};
    if (const std::string text = call.query_or("priority"); !text.empty())
        wanted.priority = parse_integer(text).value_or(0);
    send_command(parts, std::move(call), {std::move(wanted)}, show);
}

void add_priority_routes(Router& router, const Parts& parts, const std::string& job) {
    add(router, "POST", job + "/priority", "overrideJobPriority",
        "Give a job another priority than it was submitted with, or take that back",
        [&parts](Call call) {
            act_with_priority(parts, std::move(call), model::JobAct::priority, Show::object);
        },
        {priority_parameter("absent: as submitted"), dry_run_parameter()});
    add(router, "POST", job + "/preview", "previewJob",
        "Where a pending job would start now, and whom it would evict; changes nothing",
        [&parts](Call call) {
            act_with_priority(parts, std::move(call), model::JobAct::preview, Show::preview);
        },
        {priority_parameter("as if it had this one")});
}

}  // namespace

void add_work_routes(Router& router, const Parts& parts, Ticker& ticker, StartTimes& start_times) {
    const std::string job = collection_path(model::Kind::job) + "/{name}";
    const std::string service = collection_path(model::Kind::service) + "/{name}";
    const std::string replica = collection_path(model::Kind::replica) + "/{name}";
    for (const JobRoute& route : job_routes)
        add(router, "POST", fmt::format("{}/{}", job, model::name_of(route.act)),
            std::string(model::name_of(route.act)) + "Job", route.summary,
            [&parts, act = route.act](Call call) {
                std::vector<model::Action> actions{
                    model::ActOnJob{key_of_path(call, model::Kind::job), act}};
                send_command(parts, std::move(call), std::move(actions), Show::object);
            },
            {dry_run_parameter()});
    add_priority_routes(router, parts, job);
    add_queue_order_routes(router, parts);
    for (const model::Kind kind : {model::Kind::job, model::Kind::service}) {
        const std::string& base = kind == model::Kind::job ? job : service;
        const std::string schema(model::name_of(kind));
        add(router, "GET", base + "/why", "explain" + schema, "Why it is as it is, and what would change it",
            [&parts, &start_times, kind](Call call) { why(parts, start_times, std::move(call), kind); }, {language_parameter()});
        add(router, "GET", base + "/logs", "read" + schema + "Logs", "Output of one of its replicas",
            [&parts, &ticker, kind](Call call) { logs(parts, ticker, std::move(call), kind); }, log_parameters());
    }
    add(router, "GET", replica + "/logs", "readReplicaLogs", "Output of a replica",
        [&parts, &ticker](Call call) { logs(parts, ticker, std::move(call), model::Kind::replica); }, log_parameters());
    add(router, "GET", "/api/v1/queues-view", "viewQueues", "Use and waiting work of every queue",
        [&parts](Call call) { view(parts, std::move(call), auth::Area::queues, render_queues); });
    add(router, "GET", "/api/v1/pools-view", "viewPools", "Devices of every pool",
        [&parts](Call call) { view(parts, std::move(call), auth::Area::pools, render_pools); });
}

}  // namespace tandem::api
