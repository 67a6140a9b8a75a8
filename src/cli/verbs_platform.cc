// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "codec/manifest.h"

namespace tandem::cli {
namespace {

using codec::Value;

// Only the lines that speak of one name.
void keep_named(Value& view, const char* member, const std::vector<std::string>& words) {
    if (words.empty()) return;
    for (std::size_t i = 0; i < view.names.size(); ++i)
        if (view.names[i] == "items")
            std::erase_if(view.items[i].items, [&](const Value& line) {
                return text_at(line, member) != words.front();
            });
}

Result<int> show_view(Session& session, const std::string& path, QueryPairs query) {
    TANDEM_LET(view, session.get(path, std::move(query)));
    show(session, view, [&] { return render_generic(view, look_of(session)); });
    return exit_ok;
}

Result<model::ApiKey> wanted_key(const Session& session) {
    const Arguments& a = session.arguments();
    model::ApiKey key;
    key.meta.name = a.words.front();
    key.spec.subject = a.subject;
    key.spec.project = a.project;
    key.spec.services = a.services;
    key.spec.inference_only = a.inference_only;
    key.spec.requests_per_minute = a.requests_per_minute;
    key.spec.concurrency = a.concurrency;
    TANDEM_TRY(model::check_name(key.meta.name, "NAME"));
    TANDEM_LET(expires, parse_moment(a.expires, session.terminal().now(), "--expires", 1));
    if (!expires.empty()) {
        TANDEM_LET(at, parse_instant(expires));
        key.spec.expires = at;
    }
    return key;
}

}  // namespace

Result<std::string> parse_moment(std::string_view text, Instant now, std::string_view flag,
                                 int direction) {
    if (text.empty()) return std::string();
    if (const auto duration = parse_duration(text))
        return render_instant({now.ms + direction * duration->ms});
    const auto at = parse_instant(text);
    if (!at)
        return invalid_field(
            std::string(flag),
            "must be a time such as 2026-11-30T14:28:59Z or a duration such as 24h");
    return render_instant(*at);
}

namespace {

Result<int> show_queue_order(Session& session, const std::string& name) {
    TANDEM_LET(order,
               session.get(session.item(session.key_of(model::Kind::queue, name)) + "/order"));
    show(session, order, [&] { return render_generic(order, look_of(session)); });
    return exit_ok;
}

}  // namespace

Result<int> do_limits(Session& session) {
    TANDEM_LET(view, session.get("/api/v1/limits-view"));
    show(session, view, [&] { return render_generic(view, look_of(session)); });
    return exit_ok;
}

Result<int> do_queue(Session& session) {
    const std::vector<std::string>& words = session.arguments().words;
    if (words.size() == 2 && words[0] == "order") return show_queue_order(session, words[1]);
    if (words.size() == 2)
        return fail(ErrorCode::invalid, "name one queue, or say: queue order NAME");
    TANDEM_LET(view, session.get("/api/v1/queues-view"));
    keep_named(view, "queue", session.arguments().words);
    show(session, view, [&] { return render_generic(view, look_of(session)); });
    return exit_ok;
}

Result<int> do_node(Session& session) {
    const auto& words = session.arguments().words;
    if (!words.empty()) {
        TANDEM_LET(node,
                   session.get(session.item(session.key_of(model::Kind::node, words.front()))));
        show(session, node, [&] {
            std::string text =
                render_table(make_table(model::Kind::node, {&node}, session.terminal().now(),
                                        look_of(session).language, {}),
                             wants_colour(session.terminal()));
            const Value* status = node.find("status");
            return text + "\n" +
                   (status ? render_generic(*status, look_of(session)) : "");
        });
        return exit_ok;
    }
    TANDEM_LET(list, list_all(session, model::Kind::node, {}, false));
    show_list(session, model::Kind::node, list, false);
    return exit_ok;
}

Result<int> do_pool(Session& session) {
    TANDEM_LET(view, session.get("/api/v1/pools-view"));
    keep_named(view, "pool", session.arguments().words);
    show(session, view, [&] { return render_generic(view, look_of(session)); });
    return exit_ok;
}

Result<int> do_usage_report(Session& session) {
    const Arguments& a = session.arguments();
    TANDEM_LET(from, parse_moment(a.from, session.terminal().now(), "--from", -1));
    TANDEM_LET(to, parse_moment(a.to, session.terminal().now(), "--to", -1));
    return show_view(session, "/api/v1/usage/report",
                     {{"from", from}, {"to", to}, {"project", a.project}});
}

Result<int> do_usage_explain(Session& session) {
    TANDEM_LET(key, parse_one(session, session.arguments().words));
    if (key.kind != model::Kind::job && key.kind != model::Kind::service)
        return fail(ErrorCode::invalid,
                    "jobs and services use devices: explain job/NAME or service/NAME");
    return show_view(session, "/api/v1/usage/explain",
                     {{"kind", std::string(model::name_of(key.kind))},
                      {"project", key.project},
                      {"namespace", key.name_space},
                      {"name", key.name},
                      {"lang", session.arguments().language}});
}

Result<int> do_key_create(Session& session) {
    TANDEM_LET(key, wanted_key(session));
    TANDEM_LET(made,
               session.call(
                   {.method = "POST", .path = "/api/v1/keys", .body = codec::render_object(key)}));
    const std::string secret = text_at(made, "status.secret");
    if (secret.empty())
        return fail(ErrorCode::internal,
                    "the server made the key but showed no secret; revoke it and try again");
    if (session.arguments().output == "table") {
        session.terminal().out(secret + "\n");
        session.terminal().err(say(look_of(session).language,
                                   "tandem: key/{} of {}; it is not shown again\n",
                                   key.meta.name, text_at(made, "spec.subject")));
        return exit_ok;
    }
    Value shown = codec::make_object();
    shown.add("name", codec::make_text(key.meta.name));
    for (const char* field : {"subject", "keyId", "project"})
        shown.add(field, codec::make_text(text_at(made, std::string("spec.") + field)));
    shown.add("key", codec::make_text(secret));
    show(session, shown, [] { return std::string(); });
    return exit_ok;
}

Result<int> do_key_list(Session& session) {
    TANDEM_LET(list, list_all(session, model::Kind::api_key, {}, false));
    show_list(session, model::Kind::api_key, list, false);
    return exit_ok;
}

Result<int> do_key_revoke(Session& session) {
    const std::string path =
        session.item(session.key_of(model::Kind::api_key, session.arguments().words.front()));
    TANDEM_LET(shown, session.get(path));
    TANDEM_LET(object, codec::parse_shown_object(shown));
    auto* key = std::get_if<model::ApiKey>(&object);
    if (!key) return fail(ErrorCode::internal, "the server answered with another kind of object");
    key->spec.revoked = true;
    TANDEM_LET(changed,
               session.call({.method = "PUT", .path = path, .body = codec::render_object(object)}));
    show(session, changed, [&] { 
        return say(look_of(session).language, "key/{} revoked\n", key->meta.name);
    });
    return exit_ok;
}

Result<int> do_whoami(Session& session) {
    return show_view(session, "/api/v1/whoami", {});
}

namespace {

// People read who it was and by which key; programs get the caller whole.
void flatten_callers(Value& view) {
    for (std::size_t i = 0; i < view.names.size(); ++i) {
        if (view.names[i] != "items") continue;
        for (Value& row : view.items[i].items)
            for (std::size_t m = 0; m < row.names.size(); ++m) {
                if (row.names[m] != "caller") continue;
                const std::string key = text_at(row.items[m], "keyId");
                row.items[m] = codec::make_text(text_at(row.items[m], "subject"));
                row.names.insert(row.names.begin() + static_cast<std::ptrdiff_t>(m) + 1, "keyId");
                row.items.insert(row.items.begin() + static_cast<std::ptrdiff_t>(m) + 1,
                                 codec::make_text(key));
                break;
            }
    }
}

}  // namespace

Result<int> do_audit(Session& session) {
    TANDEM_LET(
        view, session.get("/api/v1/audit", {{"limit", std::to_string(session.arguments().limit)}}));
    if (session.arguments().output == "table") flatten_callers(view);
    show(session, view, [&] { return render_generic(view, look_of(session)); });
    return exit_ok;
}

void tell_client_version(const Arguments& arguments, const Terminal& terminal,
                         const std::string& client, const std::string& server) {
    Value known = codec::make_object();
    known.add("client", codec::make_text(client));
    if (!server.empty()) known.add("server", codec::make_text(server));
    if (arguments.output == "json") terminal.out(codec::render_json_pretty(known));
    if (arguments.output == "yaml") terminal.out(codec::render_yaml(known));
}

Result<int> do_version(Session& session) {
    auto answered = session.get("/api/v1/version");
    if (!answered) {
        tell_client_version(session.arguments(), session.terminal(), session.client_version(),
                            session.server());
        return pass_on(answered.error());
    }
    Value& version = *answered;
    version.add("client", codec::make_text(session.client_version()));
    version.add("server", codec::make_text(session.server()));
    show(session, version, [&] {
        return say(look_of(session).language, "server {} at {}\n", text_at(version, "version"),
                   session.server());
    });
    return exit_ok;
}

}  // namespace tandem::cli
