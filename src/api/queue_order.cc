// SPDX-License-Identifier: Apache-2.0
#include "api/queue_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/resources.h"
#include "api/why.h"
#include "base/quantity.h"
#include "codec/json_writer.h"

namespace tandem::api {
namespace {

using model::ReasonCode;

constexpr std::int64_t shown_max = 500;
constexpr std::size_t levels_max = 16;

void put_text(codec::JsonWriter& json, std::string_view name, std::string_view value) {
    json.key(name);
    json.text(value);
}
void put_number(codec::JsonWriter& json, std::string_view name, std::int64_t value) {
    json.key(name);
    json.number(value);
}

// The queue and those above it, as they bid against their neighbours.
void write_levels(codec::JsonWriter& json, const sched::Snapshot& plan, std::string queue) {
    const std::vector<sched::QueueLine> lines = plan.queue_lines();
    json.key("levels");
    json.begin_array();
    for (std::size_t depth = 0; depth < levels_max && !queue.empty(); ++depth) {
        std::string parent;
        for (const sched::QueueLine& line : lines) {
            if (line.queue != queue) continue;
            parent = line.parent;
            json.begin_object();
            put_text(json, "queue", line.queue);
            put_text(json, "flavor", line.flavor);
            put_number(json, "nominalMilli", line.nominal);
            put_number(json, "usedMilli", line.used);
            put_number(json, "borrowedMilli", line.borrowed);
            put_number(json, "weight", line.weight);
            put_text(json, "share", line.share);
            put_number(json, "decayedHoursMilli", line.faded_hours);
            json.end_object();
        }
        queue = std::exchange(parent, {});
    }
    json.end_array();
}

std::string render_order(const server::WorkView& view, const Call& call, const std::string& queue,
                         std::size_t limit) {
    std::string text;
    codec::JsonWriter json(text);
    json.begin_object();
    put_text(json, "queue", queue);
    json.key("items");
    json.begin_array();
    for (const sched::WaitingLine& line : view.plan().waiting_lines(queue, limit)) {
        json.begin_object();
        put_number(json, "position", line.position);
        put_text(json, "name", visible_name(view, call, line.workload));
        put_number(json, "priority", line.priority);
        put_text(json, "since", line.forced ? "" : render_instant(line.submitted));
        json.key("forced");
        json.boolean(line.forced);
        const auto verdict = view.plan().verdict(line.workload);
        put_text(json, "waitsFor", verdict ? model::name_of(verdict->reason.code) : "");
        json.end_object();
    }
    json.end_array();
    write_levels(json, view.plan(), queue);
    json.end_object();
    return text;
}

void queue_order(const Parts& parts, Call call) {
    const model::ObjectKey key = key_of_path(call, model::Kind::queue);
    const Status allowed =
        allow_read(parts, call, {auth::Area::queues, auth::Verb::read}, "", call.request.path);
    if (!allowed) return call.refuse(allowed.error());
    const auto row = parts.reader.find(key);
    if (!row) return call.refuse(row.error());
    if (!*row)
        return call.refuse(
            Error{ErrorCode::not_found, fmt::format("queue \"{}\" does not exist", key.name)});
    const auto limit = parse_integer(call.query_or("limit")).value_or(100);
    call.answer(render_order(*parts.core.work(), call, key.name, static_cast<std::size_t>(limit)));
}

// A user sees its own limits; what others have, who may read users.
bool may_see_counter(const Call& call, const sched::Permit& of) {
    const auto reach = [&](auth::Area area) {
        return auth::reach_of(call.who.facts, {area, auth::Verb::read});
    };
    switch (of.bound) {
        case ReasonCode::license_short:
        case ReasonCode::queue_limit:
            return true;
        case ReasonCode::user_limit:
            return of.name == call.who.facts.subject || reach(auth::Area::users).everywhere;
        case ReasonCode::array_limit:
        default: {
            const std::string project =
                of.bound == ReasonCode::array_limit ? of.at.substr(0, of.at.find('/')) : of.name;
            const auth::Reach seen = reach(
                of.bound == ReasonCode::array_limit ? auth::Area::jobs : auth::Area::projects);
            return seen.everywhere ||
                   std::ranges::find(seen.projects, project) != seen.projects.end();
        }
    }
}

void limits_view(const Parts& parts, Call call) {
    const Status allowed =
        allow_read(parts, call, {auth::Area::licenses, auth::Verb::read}, "", call.request.path);
    if (!allowed) return call.refuse(allowed.error());
    std::string text;
    codec::JsonWriter json(text);
    json.begin_object();
    json.key("items");
    json.begin_array();
    for (const sched::CounterLine& line : parts.core.work()->plan().counter_lines()) {
        if (!may_see_counter(call, line.of)) continue;
        json.begin_object();
        put_text(json, "of", sched::word_of(line.of));
        put_text(json, "name", line.of.name);
        put_text(json, "at", line.of.at);
        put_text(json, "counts", sched::what_counts(line.of));
        put_text(json, "used", sched::amount_text(line.of, line.used));
        put_text(json, "limit", sched::amount_text(line.of, line.of.limit));
        put_number(json, "holders", line.holders);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    call.answer(std::move(text));
}

}  // namespace

void add_queue_order_routes(Router& router, const Parts& parts) {
    router.add({.method = "GET",
                .pattern = collection_path(model::Kind::queue) + "/{name}/order",
                .door = Door::caller,
                .handler = [&parts](Call call) { queue_order(parts, std::move(call)); },
                .operation = "showQueueOrder",
                .summary = "Who waits in a queue, in its order, and the numbers that make it",
                .query = {{.name = "limit",
                           .note = "at most so many",
                           .type = ParameterType::number,
                           .low = 1,
                           .high = shown_max}}});
    router.add({.method = "GET",
                .pattern = "/api/v1/limits-view",
                .door = Door::caller,
                .handler = [&parts](Call call) { limits_view(parts, std::move(call)); },
                .operation = "viewLimits",
                .summary = "How much of licenses and of limits on running work is used"});
}

}  // namespace tandem::api
