// SPDX-License-Identifier: Apache-2.0
#include "api/system.h"

#include <fmt/format.h>

#include <thread>

#include "api/openapi.h"
#include "blob/blob_store.h"
#include "codec/json_writer.h"

namespace tandem::api {
namespace {

void whoami(const Parts&, Call call) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("subject");
    writer.text(call.who.subject);
    writer.key("keyId");
    writer.text(call.who.key_id);
    writer.key("bindings");
    writer.begin_array();
    for (const model::RoleBindingSpec& binding : call.who.facts.bindings) {
        writer.begin_object();
        writer.key("role");
        writer.text(model::name_of(binding.role));
        writer.key("project");
        writer.text(binding.project);
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    call.answer(std::move(json));
}

void version(const Parts& parts, Call call) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("version");
    writer.text(parts.version);
    writer.key("apiVersion");
    writer.text("tandem/v1");
    writer.key("gateway");
    writer.text(parts.gateway_address);
    writer.end_object();
    call.answer(std::move(json));
}

void health(const Parts& parts, Call call) {
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.query([shared](const core::State& state) {
        shared->answer(state.live.recovering ? "{\"status\":\"recovering\"}" : "{\"status\":\"ready\"}",
                       state.live.recovering ? 503 : 200);
    });
    if (!queued) shared->refuse(queued.error());
}

Status allow_admin(const Parts& parts, const Call& call, auth::Verb verb) {
    return allow_read(parts, call, {auth::Area::admin, verb}, "", call.request.path);
}

Result<std::string> path_of_body(const Call& call) {
    TANDEM_LET(body, parse_body(call.request));
    const codec::Value* path = body.find("path");
    if (!path || path->text_or_empty().empty())
        return invalid_field("path", "must name a file on the server's machine");
    return std::string(path->text_or_empty());
}

// Answers when it is done; a refusal at once when too many are at work.
void run_errand(Errands& errands, Call call, std::move_only_function<void(Call&, const std::stop_token&)> act) {
    auto shared = std::make_shared<Call>(std::move(call));
    const Status started = errands.start([shared, act = std::move(act)](const std::stop_token& stop) mutable {
        act(*shared, stop);
    });
    if (!started) shared->refuse(started.error());
}

using PathAct = std::function<Status(Admin&, const std::string& path, const std::stop_token&)>;

void do_with_path(const Parts& parts, Errands& errands, Call call, auth::Verb verb, PathAct act) {
    const Status allowed = allow_admin(parts, call, verb);
    if (!allowed) return call.refuse(allowed.error());
    auto path = path_of_body(call);
    if (!path) return call.refuse(path.error());
    run_errand(errands, std::move(call), [&parts, act = std::move(act), path = std::move(*path)](Call& asked, const std::stop_token& stop) {
        const Status done = act(parts.admin, path, stop);
        if (!done) return asked.refuse(done.error());
        std::string json;
        codec::JsonWriter writer(json);
        writer.begin_object();
        writer.key("path");
        writer.text(path);
        writer.end_object();
        asked.answer(std::move(json));
    });
}

void backup(const Parts& parts, Errands& errands, Call call) {
    do_with_path(parts, errands, std::move(call), auth::Verb::backup,
                 [](Admin& admin, const std::string& path, const std::stop_token& stop) { return admin.backup(path, stop); });
}

void restore(const Parts& parts, Errands& errands, Call call) {
    do_with_path(parts, errands, std::move(call), auth::Verb::restore,
                 [](Admin& admin, const std::string& path, const std::stop_token&) { return admin.stage_restore(path); });
}

void check(const Parts& parts, Errands& errands, Call call) {
    const Status allowed = allow_admin(parts, call, auth::Verb::backup);
    if (!allowed) return call.refuse(allowed.error());
    run_errand(errands, std::move(call), [&parts](Call& asked, const std::stop_token& stop) {
        const Status done = parts.admin.check(stop);
        if (!done) return asked.refuse(done.error());
        asked.answer("{\"status\":\"ok\"}");
    });
}

void collect_blobs(const Parts& parts, Errands& errands, Call call) {
    const Status allowed = allow_admin(parts, call, auth::Verb::backup);
    if (!allowed) return call.refuse(allowed.error());
    run_errand(errands, std::move(call), [&parts](Call& asked, const std::stop_token& stop) {
        const auto done = parts.admin.collect_blobs(stop);
        if (!done) return asked.refuse(done.error());
        std::string json;
        codec::JsonWriter writer(json);
        writer.begin_object();
        writer.key("blobs");
        writer.number(done->blobs);
        writer.key("uploads");
        writer.number(done->uploads);
        writer.key("bytes");
        writer.number(done->bytes);
        writer.end_object();
        asked.answer(std::move(json));
    });
}

// At the peer's pace: each piece waits until there is room for it, at most a minute.
bool send_at_pace(const http::Stream& stream, std::string_view text, const std::stop_token& stop) {
    constexpr std::size_t piece_max = 64 * 1024;
    constexpr int tries_max = 12'000;
    while (!text.empty()) {
        const std::string_view piece = text.substr(0, piece_max);
        for (int tries = 0; stream.room() < piece.size(); ++tries) {
            if (tries > tries_max || stop.stop_requested()) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        if (!stream.write(piece)) return false;
        text.remove_prefix(piece.size());
    }
    return true;
}

void export_history(const Parts& parts, Errands& errands, Call call) {
    const Status allowed = allow_admin(parts, call, auth::Verb::backup);
    if (!allowed) return call.refuse(allowed.error());
    run_errand(errands, std::move(call), [&parts](Call& asked, const std::stop_token& stop) {
        http::Stream stream = asked.responder.start_stream(200, {{"Content-Type", "application/x-ndjson"}});
        (void)parts.reader.export_history([&](std::string_view line) {
            return send_at_pace(stream, std::string(line) + "\n", stop);
        });
        stream.close();
    });
}

}  // namespace

void add_system_routes(Router& router, const Parts& parts, Errands& errands) {
    const auto add = [&](std::string method, std::string pattern, Door door, std::string operation,
                         std::string summary, void (*handler)(const Parts&, Call)) {
        router.add({.method = std::move(method),
                    .pattern = std::move(pattern),
                    .door = door,
                    .handler = [&parts, handler](Call call) { handler(parts, std::move(call)); },
                    .operation = std::move(operation),
                    .summary = std::move(summary)});
    };
    add("GET", "/healthz", Door::open, "getHealth", "Is the server ready?", health);
    add("GET", "/api/v1/version", Door::open, "getVersion", "Version of the server", version);
    add("GET", "/api/v1/whoami", Door::caller, "getCaller", "Subject, key and roles of the caller", whoami);
    const auto add_errand = [&](std::string method, std::string pattern, std::string operation,
                                std::string summary, void (*handler)(const Parts&, Errands&, Call)) {
        router.add({.method = std::move(method),
                    .pattern = std::move(pattern),
                    .door = Door::caller,
                    .handler = [&parts, &errands, handler](Call call) { handler(parts, errands, std::move(call)); },
                    .operation = std::move(operation),
                    .summary = std::move(summary)});
    };
    add_errand("POST", "/api/v1/admin/backup", "createBackup", "Write a backup of the store to a file", backup);
    add_errand("POST", "/api/v1/admin/restore", "stageRestore", "Check a backup and apply it at the next start", restore);
    add_errand("POST", "/api/v1/admin/check", "checkStore", "Check every page of the store", check);
    add_errand("POST", "/api/v1/admin/collect-blobs", "collectBlobs", "Remove blobs that nothing has referred to for a day", collect_blobs);
    add_errand("GET", "/api/v1/admin/history", "exportHistory", "Export segments, rows and changes as NDJSON", export_history);
    router.add({.method = "GET",
                .pattern = "/api/openapi.json",
                .door = Door::open,
                .handler = [&router, &parts](Call call) { call.answer(render_openapi(router, parts.version)); },
                .operation = "getInterface",
                .summary = "This interface as OpenAPI 3.1"});
}

}  // namespace tandem::api
