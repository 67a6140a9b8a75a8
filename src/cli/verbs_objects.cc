// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"

namespace tandem::cli {
namespace {

using codec::Value;

constexpr int pages_max = 10'000;

void append_items(Value& list, Value page) {
    const Value* items = page.find("items");
    if (!items) return;
    for (std::size_t i = 0; i < list.names.size(); ++i)
        if (list.names[i] == "items")
            list.items[i].items.insert(list.items[i].items.end(), items->items.begin(),
                                       items->items.end());
}

// The list as one page: what belongs to paging is gone.
void drop_paging(Value& list) {
    for (std::size_t i = 0; i < list.names.size(); ++i) {
        if (list.names[i] != "metadata") continue;
        Value kept = codec::make_object();
        if (const Value* version = list.items[i].find("resourceVersion"))
            kept.add("resourceVersion", *version);
        list.items[i] = std::move(kept);
    }
}

Result<int> show_gateway_lines(Session& session, const Value& service) {
    if (text_at(service, "status.phase") != "ready" && text_at(service, "status.phase") != "asleep")
        return exit_ok;
    TANDEM_LET(version, session.get("/api/v1/version"));
    session.terminal().out("\n" + calling_lines(service, text_at(version, "gateway"),
                                                look_of(session).language));
    return exit_ok;
}

// Work is ended before its object goes; what had nothing to end is gone with the answer.
bool is_being_ended(Session& session, const model::ObjectKey& key, const Value& answer) {
    if (find_at(answer, "metadata.deletionRequestedAt") == nullptr) return false;
    const auto still = session.get(session.item(key));
    return still || still.error().code != ErrorCode::not_found;
}

Result<int> delete_keys(Session& session, const std::vector<model::ObjectKey>& keys) {
    const bool dry_run = session.arguments().dry_run;
    int code = exit_ok;
    for (const model::ObjectKey& key : keys) {
        auto answer = session.call({.method = "DELETE",
                                    .path = session.item(key),
                                    .query = {{"dryRun", dry_run ? "true" : ""}}});
        const std::string shown = fmt::format("{}/{}", model::info_of(key.kind).singular, key.name);
        if (!answer) {
            if (keys.size() == 1) return pass_on(answer.error());
            session.terminal().err(
                fmt::format("tandem: {}: {}\n", shown, render_error(answer.error())));
            code = exit_code_of(answer.error().code);
            continue;
        }
        const bool ending = is_being_ended(session, key, *answer);
        show(session, *answer, [&] {
            const codec::Language language = look_of(session).language;
            return fmt::format("{} {}{}\n", shown,
                               say(language, ending ? Phrase("is being ended, then deleted")
                                                    : Phrase("deleted")),
                               dry_run ? say(language, " (dry run)") : "");
        });
    }
    return code;
}

}  // namespace

Result<Value> list_all(Session& session, model::Kind kind, QueryPairs query, bool all_projects) {
    query.emplace_back("continue", "");
    const std::string path = session.collection(kind, all_projects);
    TANDEM_LET(list, session.get(path, query));
    std::string token = text_at(list, "metadata.continue");
    for (int page = 1; !token.empty() && page < pages_max; ++page) {
        query.back().second = token;
        TANDEM_LET(more, session.get(path, query));
        token = text_at(more, "metadata.continue");
        append_items(list, std::move(more));
    }
    drop_paging(list);
    return list;
}

Result<int> do_get(Session& session) {
    const Arguments& a = session.arguments();
    TANDEM_LET(target, parse_target(a.words));
    if (target.names.empty()) {
        TANDEM_LET(list, list_all(session, target.kind,
                                  {{"labelSelector", a.label_selector},
                                   {"fieldSelector", a.field_selector}},
                                  a.all_projects));
        show_list(session, target.kind, list, a.all_projects);
        return exit_ok;
    }
    Value list = codec::make_object();
    list.add("items", Value{.type = codec::ValueType::array});
    for (const std::string& name : target.names) {
        TANDEM_LET(object, session.get(session.item(session.key_of(target.kind, name))));
        list.items.front().items.push_back(std::move(object));
    }
    if (target.names.size() > 1) {
        show_list(session, target.kind, list, false);
        return exit_ok;
    }
    const Value& object = list.items.front().items.front();
    show_one(session, target.kind, object);
    if (target.kind != model::Kind::service || a.output != "table") return exit_ok;
    return show_gateway_lines(session, object);
}

Result<int> do_describe(Session& session) {
    TANDEM_LET(key, parse_one(session, session.arguments().words));
    TANDEM_LET(object, session.get(session.item(key)));
    const Terminal& terminal = session.terminal();
    if (session.arguments().output != "table") {
        show(session, object, [] { return std::string(); });
        return exit_ok;
    }
    terminal.out(codec::render_yaml(object));
    const codec::Language language = language_of(session.arguments());
    const std::string reason = reason_text(find_at(object, "status.reason"), language);
    if (!reason.empty()) terminal.out(say(language, "\nWhy: {}\n", printable(reason)));
    std::string about = std::string(model::info_of(key.kind).singular);
    for (const std::string* part : {&key.project, &key.name_space, &key.name})
        if (!part->empty()) about += "/" + *part;
    const auto events =
        session.get("/api/v1/events",
                    {{"about", about}, {"limit", "20"}, {"lang", session.arguments().language}});
    if (!events) {
        if (events.error().code == ErrorCode::not_found || events.error().code == ErrorCode::denied)
            return exit_ok;
        return pass_on(events.error());
    }
    terminal.out(say(language, "\nEvents:\n"));
    for (const Value& event :
         events->find("items") ? events->find("items")->items : std::vector<Value>{})
        terminal.out(
            fmt::format("  {}  {}\n", text_at(event, "at"), printable(text_at(event, "text"))));
    if (key.kind == model::Kind::service) return show_gateway_lines(session, object);
    return exit_ok;
}

Result<int> do_delete(Session& session) {
    const Arguments& a = session.arguments();
    std::vector<model::ObjectKey> keys;
    if (!a.files.empty()) {
        TANDEM_LET(sources, read_manifests(session));
        // What was made first is ended last.
        for (auto it = sources.rbegin(); it != sources.rend(); ++it) keys.push_back(it->key);
        return delete_keys(session, keys);
    }
    TANDEM_LET(target, parse_target(a.words));
    if (target.names.empty())
        return fail(ErrorCode::invalid, "name what is to be deleted: delete KIND NAME...");
    for (const std::string& name : target.names) keys.push_back(session.key_of(target.kind, name));
    return delete_keys(session, keys);
}

}  // namespace tandem::cli
