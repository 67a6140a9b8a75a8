// SPDX-License-Identifier: Apache-2.0
#include "api/system.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
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

// What was done to the installation has no row of its own: it is audited here, under the words that
// a denial of it has.
void audit_done(const Parts& parts, const Call& call, auth::Verb verb, const std::string& file = {}) {
    const auth::Permission permission{auth::Area::admin, verb};
    parts.core.post(model::ErrandDone{
        .caller = call.caller(),
        .action = permission.text(),
        .object = file.empty() ? call.request.path : call.request.path + " " + file,
        .rule = auth::decide(call.who.facts, permission, "").rule});
}

Result<std::string> path_of_body(const Call& call) {
    TANDEM_LET(body, parse_body(call.request));
    const codec::Value* value = body.find("path");
    std::string path(value ? value->text_or_empty() : "");
    if (path.empty()) return invalid_field("path", "must name a file on the server's machine");
    if (!path.starts_with('/'))
        return invalid_field("path", fmt::format("must be absolute, such as /var/backups/tandem.db, is \"{}\"",
                                                 path.substr(0, 200)));
    return path;
}

// A file can be made there.
Status check_place(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const std::string folder = fs::path(path).parent_path().string();
    if (fs::is_directory(path, ignored)) return invalid_field("path", path + " is a folder; name a file in it");
    if (!fs::is_directory(folder, ignored)) return invalid_field("path", "there is no folder " + folder);
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return invalid_field("path", fmt::format("the server can't write into {}: {}", folder, std::strerror(errno)));
    return {};
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
    run_errand(errands, std::move(call), [&parts, verb, act = std::move(act), path = std::move(*path)](Call& asked, const std::stop_token& stop) {
        const Status done = act(parts.admin, path, stop);
        if (!done) return asked.refuse(done.error());
        audit_done(parts, asked, verb, path);
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
                 [](Admin& admin, const std::string& path, const std::stop_token& stop) -> Status {
                     TANDEM_TRY(check_place(path));
                     return admin.backup(path, stop);
                 });
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
        audit_done(parts, asked, auth::Verb::backup);
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
        audit_done(parts, asked, auth::Verb::backup);  // what is sent is out, whole or not
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
