// SPDX-License-Identifier: Apache-2.0
#include "api/usage.h"

#include <fmt/format.h>

#include "codec/json_writer.h"
#include "ledger/report.h"

namespace tandem::api {
namespace {

using codec::JsonWriter;

Result<ledger::Window> window_of(const Parts& parts, const Call& call) {
    ledger::Window window{.from = {}, .to = parts.core.now()};
    for (const auto& [name, at] : {std::pair{"from", &window.from}, std::pair{"to", &window.to}}) {
        const std::string text = call.query_or(name);
        if (text.empty()) continue;
        const auto instant = parse_instant(text);
        if (!instant) return invalid_field(name, instant.error().message);
        *at = *instant;
    }
    if (window.to < window.from) return invalid_field("to", "must not lie before from");
    return window;
}

void put(JsonWriter& writer, std::string_view name, const std::string& text) {
    writer.key(name);
    writer.text(text);
}
void put(JsonWriter& writer, std::string_view name, std::int64_t number) {
    writer.key(name);
    writer.number(number);
}

void put_time(JsonWriter& writer, std::string_view name, const ledger::DeviceTime& time) {
    put(writer, name, time.device_ms);
    if (time.rest_milli != 0) put(writer, std::string(name) + "RestMilli", time.rest_milli);
}

void write_devices(JsonWriter& writer, const std::vector<ledger::UsageLine>& lines) {
    writer.key("devices");
    writer.begin_array();
    for (const ledger::UsageLine& line : lines) {
        writer.begin_object();
        put(writer, "project", line.key.project);
        put(writer, "pool", line.key.pool);
        put(writer, "ownerKind", line.key.owner_kind);
        put(writer, "ownerName", line.key.owner_name);
        put(writer, "state", std::string(model::name_of(line.key.state)));
        put_time(writer, "deviceMs", line.time);
        writer.end_object();
    }
    writer.end_array();
}

void write_tokens(JsonWriter& writer, const std::vector<ledger::TokenLine>& lines) {
    writer.key("tokens");
    writer.begin_array();
    for (const ledger::TokenLine& line : lines) {
        writer.begin_object();
        put(writer, "project", line.key.project);
        put(writer, "service", line.key.service);
        put(writer, "modelVersion", line.key.model_version);
        put(writer, "keyId", line.key.key_id);
        put(writer, "subject", line.key.subject);
        put(writer, "requests", line.requests);
        put(writer, "failed", line.failed);
        put(writer, "aborted", line.aborted);
        put(writer, "estimated", line.estimated);
        put(writer, "gatewayLost", line.gateway_lost);
        put(writer, "promptTokens", line.prompt_tokens);
        put(writer, "cachedTokens", line.cached_tokens);
        put(writer, "completionTokens", line.completion_tokens);
        put(writer, "estimatedPromptTokens", line.estimated_prompt_tokens);
        put(writer, "estimatedCompletionTokens", line.estimated_completion_tokens);
        writer.end_object();
    }
    writer.end_array();
}

// Sums say what they cover and where they come from.
void write_frame(JsonWriter& writer, const ledger::Window& window) {
    put(writer, "from", render_instant(window.from));
    put(writer, "to", render_instant(window.to));
    put(writer, "source", "usage ledger of this installation");
}

core::UsageQuery query_of(const Call& call, const ledger::Window& window) {
    const auth::Reach reach = auth::reach_of(call.who.facts, {auth::Area::usage, auth::Verb::read});
    return {.scope = scope_of(reach), .from = window.from, .to = window.to, .project = call.query_or("project"), .owner = {}};
}

// Idle time has no project: it belongs to pools, and is shown to those who see everything.
bool is_shown(const model::UsageRecord& row, const core::UsageQuery& query) {
    return !row.owner_kind.empty() || (query.scope.all_projects && query.project.empty());
}

void write_explanation(JsonWriter& writer, const ledger::Explanation& told) {
    writer.key("intervals");
    writer.begin_array();
    for (const ledger::ExplainedLine& line : told.lines) {
        writer.begin_object();
        put(writer, "from", render_instant(line.row.from));
        put(writer, "to", render_instant(line.row.to));
        put(writer, "state", std::string(model::name_of(line.row.state)));
        put(writer, "cause", std::string(ledger::name_of(line.cause)));
        put(writer, "replica", line.row.replica);
        put(writer, "epoch", line.row.epoch);
        put(writer, "node", line.row.node);
        put(writer, "device", line.row.device);
        put(writer, "milli", line.row.milli);
        put_time(writer, "deviceMs", line.time);
        writer.end_object();
    }
    writer.end_array();
    writer.key("byState");
    writer.begin_array();
    for (const auto& [state, time] : told.by_state) {
        writer.begin_object();
        put(writer, "state", std::string(model::name_of(state)));
        put_time(writer, "deviceMs", time);
        writer.end_object();
    }
    writer.end_array();
    put_time(writer, "accountedMs", told.accounted);
    put_time(writer, "spanMs", told.span);
    writer.key("addsUp");
    writer.boolean(told.adds_up());
    writer.key("gaps");
    writer.begin_array();
    for (const std::string& gap : told.gaps) writer.text(gap);
    writer.end_array();
}

// The object may be gone: its uid is then taken from what the ledger itself remembers of the name.
Uid uid_in(const std::vector<model::UsageRecord>& rows, const model::ObjectKey& key) {
    Uid uid;
    for (const model::UsageRecord& row : rows)
        if (row.owner_name == key.name && row.project == key.project && row.name_space == key.name_space &&
            row.owner_kind == model::name_of(key.kind))
            uid = row.owner_uid;
    return uid;
}

// Of the object that has the name now; zero when none has.
Result<Uid> uid_of(const Parts& parts, const model::ObjectKey& key) {
    TANDEM_LET(found, parts.reader.find(key));
    if (!found) return Uid{};
    TANDEM_LET(document, codec::parse_json(found->json));
    const codec::Value* meta = document.find("metadata");
    const codec::Value* uid = meta ? meta->find("uid") : nullptr;
    return Uid::parse(uid ? uid->text_or_empty() : "").value_or(Uid{});
}

}  // namespace

void usage_report(const Parts& parts, Call call) {
    auto window = window_of(parts, call);
    if (!window) return call.refuse(window.error());
    const core::UsageQuery query = query_of(call, *window);
    auto rows = parts.reader.usage(query);
    if (!rows) return call.refuse(rows.error());
    auto requests = parts.reader.requests(query);
    if (!requests) return call.refuse(requests.error());
    ledger::UsageSums sums({.project = true, .owner = true, .state = true, .pool = true}, *window);
    for (model::UsageRecord& row : *rows) {
        if (row.to.ms == 0) row.to = window->to;
        if (is_shown(row, query)) sums.add(row);
    }
    ledger::TokenSums tokens(*window);
    for (const model::RequestUsage& row : *requests) tokens.add(row);
    std::string json;
    JsonWriter writer(json);
    writer.begin_object();
    write_frame(writer, *window);
    write_devices(writer, sums.lines());
    write_tokens(writer, tokens.lines());
    writer.end_object();
    call.answer(std::move(json));
}

void usage_explain(const Parts& parts, Call call) {
    auto window = window_of(parts, call);
    if (!window) return call.refuse(window.error());
    const auto kind = model::find_kind_by_word(call.query_or("kind"));
    if (!kind || (*kind != model::Kind::job && *kind != model::Kind::service))
        return call.refuse({ErrorCode::invalid, "must be job or service", "kind"});
    const model::ObjectKey key{*kind, call.query_or("project", "default"), call.query_or("namespace", "default"), call.query_or("name")};
    const Status allowed = allow_read(parts, call, {auth::Area::usage, auth::Verb::read}, key.project,
                                      key.project + "/" + key.name_space + "/" + key.name);
    if (!allowed) return call.refuse(allowed.error());
    core::UsageQuery query = query_of(call, *window);
    query.project = key.project;
    auto rows = parts.reader.usage(query);
    if (!rows) return call.refuse(rows.error());
    // When no object has that name any more, it is the last one that the ledger remembers.
    auto found = uid_of(parts, key);
    if (!found) return call.refuse(found.error());
    const Uid uid = *found ? *found : uid_in(*rows, key);
    if (!uid) return call.refuse({ErrorCode::not_found, fmt::format("the ledger knows nothing of {} \"{}\"", model::info_of(*kind).singular, key.name), "name"});
    std::vector<model::UsageRecord> own;
    for (model::UsageRecord& row : *rows) {
        if (row.owner_uid != uid) continue;
        if (row.to.ms == 0) row.to = window->to;
        own.push_back(std::move(row));
    }
    query.owner = uid;
    auto requests = parts.reader.requests(query);
    if (!requests) return call.refuse(requests.error());
    ledger::TokenSums tokens(*window);
    for (const model::RequestUsage& row : *requests) tokens.add(row);
    std::string json;
    JsonWriter writer(json);
    writer.begin_object();
    put(writer, "kind", std::string(model::name_of(*kind)));
    put(writer, "name", key.name);
    put(writer, "uid", uid.text());
    write_frame(writer, *window);
    write_explanation(writer, ledger::explain(std::move(own)));
    write_tokens(writer, tokens.lines());
    writer.end_object();
    call.answer(std::move(json));
}

}  // namespace tandem::api
