// SPDX-License-Identifier: Apache-2.0
#include "api/history.h"

#include <fmt/format.h>

#include "api/usage.h"
#include "codec/json_writer.h"
#include "codec/reasons.h"
#include "codec/record.h"

namespace tandem::api {
namespace {

template <class Row>
std::string render_items(const std::vector<Row>& rows) {
    return "{\"items\":" + codec::encode(rows) + "}";
}

// "job/default/default/train" or "pool/default": kind word, then as many names as its scope has.
Result<model::ObjectKey> parse_about(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('/'), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    const auto kind = parts.empty() ? std::nullopt : model::find_kind_by_word(parts.front());
    if (!kind) return invalid_field("about", "must be KIND/NAME or KIND/PROJECT/NAMESPACE/NAME");
    const model::Scope scope = model::info_of(*kind).scope;
    const std::size_t names = scope == model::Scope::cluster ? 1 : scope == model::Scope::project ? 2 : 3;
    if (parts.size() != names + 1)
        return invalid_field("about", fmt::format("must have {} names after the kind, has {}", names, parts.size() - 1));
    model::ObjectKey key{.kind = *kind};
    key.name = parts.back();
    if (names >= 2) key.project = parts[1];
    if (names == 3) key.name_space = parts[2];
    return key;
}

void write_event(codec::JsonWriter& writer, const model::EventRecord& event, codec::Language language) {
    writer.begin_object();
    writer.key("at");
    writer.text(render_instant(event.at));
    writer.key("kind");
    writer.text(model::name_of(event.about.kind));
    writer.key("project");
    writer.text(event.about.project);
    writer.key("namespace");
    writer.text(event.about.name_space);
    writer.key("name");
    writer.text(event.about.name);
    writer.key("uid");
    writer.text(event.uid.text());
    writer.key("code");
    writer.text(model::name_of(event.reason.code));
    writer.key("text");
    writer.text(codec::render_reason(event.reason, language));
    writer.end_object();
}

void events(const Parts& parts, Call call) {
    const core::ReadScope scope = scope_of(auth::reach_of(call.who.facts, {auth::Area::events, auth::Verb::read}));
    auto limit = query_number(call, "limit", 100, 1, 500);
    if (!limit) return call.refuse(limit.error());
    const std::string about = call.query_or("about");
    auto shared = std::make_shared<Call>(std::move(call));
    const auto answer = [&parts, scope, limit = *limit](Call& asked, const Uid& uid) {
        auto rows = parts.reader.events(scope, uid, limit);
        if (!rows) return asked.refuse(rows.error());
        const auto language = asked.query_or("lang") == "zh" ? codec::Language::zh : codec::Language::en;
        std::string json;
        codec::JsonWriter writer(json);
        writer.begin_object();
        writer.key("items");
        writer.begin_array();
        for (const model::EventRecord& row : *rows) write_event(writer, row, language);
        writer.end_array();
        writer.end_object();
        asked.answer(std::move(json));
    };
    if (about.empty()) return answer(*shared, {});
    auto key = parse_about(about);
    if (!key) return shared->refuse(key.error());
    // Events are kept by uid; the name tells it as long as the object is there.
    auto found = parts.reader.find(*key);
    if (!found) return shared->refuse(found.error());
    const auto document = *found ? codec::parse_json((*found)->json) : Result<codec::Value>(codec::Value{});
    const codec::Value* meta = document ? document->find("metadata") : nullptr;
    const codec::Value* uid = meta ? meta->find("uid") : nullptr;
    const auto parsed = uid ? Uid::parse(uid->text_or_empty()) : std::nullopt;
    if (!parsed) return shared->refuse({ErrorCode::not_found, fmt::format("\"{}\" does not exist", about), "about"});
    answer(*shared, *parsed);
}

void audit(const Parts& parts, Call call) {
    const Status allowed = allow_read(parts, call, {auth::Area::audit, auth::Verb::read}, "", "audit");
    if (!allowed) return call.refuse(allowed.error());
    auto after = query_number(call, "after", core::newest_rows, core::newest_rows, INT64_MAX);
    if (!after) return call.refuse(after.error());
    auto limit = query_number(call, "limit", 500, 1, 500);
    if (!limit) return call.refuse(limit.error());
    auto rows = parts.reader.audit(*after, *limit);
    if (!rows) return call.refuse(rows.error());
    call.answer(render_items(*rows));
}

}  // namespace

void add_history_routes(Router& router, const Parts& parts) {
    const auto add = [&](std::string pattern, std::string operation, std::string summary,
                         void (*handler)(const Parts&, Call), Parameters query) {
        router.add({.method = "GET",
                    .pattern = std::move(pattern),
                    .door = Door::caller,
                    .handler = [&parts, handler](Call call) { handler(parts, std::move(call)); },
                    .operation = std::move(operation),
                    .summary = std::move(summary),
                    .query = std::move(query)});
    };
    const Parameter limit{.name = "limit", .note = "at most so many", .type = ParameterType::number, .low = 1, .high = 500};
    const Parameter from{.name = "from", .note = "time, RFC 3339"};
    const Parameter to{.name = "to", .note = "time, RFC 3339 (default: now)"};
    add("/api/v1/events", "listEvents", "What happened to objects, newest first", events,
        {{.name = "about", .note = "KIND/PROJECT/NAMESPACE/NAME, as far as the kind has them"}, limit, language_parameter()});
    add("/api/v1/audit", "listAudit", "Audit rows, the newest or those after a sequence number; oldest first", audit,
        {{.name = "after", .note = "sequence of the last row seen; without it: the newest rows", .type = ParameterType::number}, limit});
    add("/api/v1/usage/report", "reportUsage", "Device time and tokens of a time window", usage_report,
        {from, to, {.name = "project", .note = "only of this one"}});
    add("/api/v1/usage/explain", "explainUsage", "Every interval and call of one job or service", usage_explain,
        {{.name = "kind", .note = "job or service"},
         {.name = "project"}, {.name = "namespace"}, {.name = "name"}, from, to, language_parameter()});
}

}  // namespace tandem::api
