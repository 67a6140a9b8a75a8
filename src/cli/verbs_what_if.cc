// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/foreseen.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "codec/what_if.h"

namespace tandem::cli {
namespace {

using codec::Value;

Value& member_of(Value& object, const std::string& name, codec::ValueType type) {
    const auto found = std::ranges::find(object.names, name);
    if (found != object.names.end())
        return object.items[static_cast<std::size_t>(found - object.names.begin())];
    object.add(name, Value{.type = type});
    return object.items.back();
}

// Where the file names no project and namespace, those of the session count, as for objects.
void fill_place(const Session& session, Value& key) {
    if (key.type != codec::ValueType::object) return;
    if (key.find("project") == nullptr) key.add("project", codec::make_text(session.project()));
    if (key.find("namespace") == nullptr)
        key.add("namespace", codec::make_text(session.name_space()));
}

void fill_places(const Session& session, Value& question) {
    for (std::size_t i = 0; i < question.names.size(); ++i) {
        if (question.names[i] == "priorities")
            for (Value& one : question.items[i].items) fill_place(session, one);
        if (question.names[i] != "actions") continue;
        for (Value& action : question.items[i].items)
            for (std::size_t verb = 0; verb < action.names.size(); ++verb)
                if (const auto kind =
                        model::parse_enum<model::Kind>(text_at(action.items[verb], "kind"));
                    kind && model::info_of(*kind).scope == model::Scope::name_space &&
                    !action.items[verb].find("metadata"))
                    fill_place(session, action.items[verb]);
    }
}

Result<Value> spec_of(const Value& document) {
    for (const std::string& name : document.names)
        if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "spec")
            return invalid_field(name, "is no part of a WhatIf; it has apiVersion, kind and spec");
    if (text_at(document, "apiVersion") != "tandem/v1")
        return invalid_field("apiVersion", "must be tandem/v1");
    const Value* spec = document.find("spec");
    if (spec == nullptr || spec->type == codec::ValueType::null) return codec::make_object();
    if (spec->type != codec::ValueType::object) return invalid_field("spec", "must be an object");
    return *spec;
}

Result<Value> read_question(const Session& session) {
    Value question = codec::make_object();
    if (session.arguments().files.empty()) return question;
    std::vector<Value> asked;
    TANDEM_LET(sources, read_manifests(session, &asked));
    if (asked.size() > 1)
        return fail(ErrorCode::invalid, "the files hold more than one WhatIf; put all into one");
    if (!asked.empty()) {
        TANDEM_LET(spec, spec_of(asked.front()));
        question = std::move(spec);
        fill_places(session, question);
    }
    if (sources.empty()) return question;
    Value& actions = member_of(question, "actions", codec::ValueType::array);
    for (ManifestSource& source : sources) {
        Value apply = codec::make_object();
        apply.add("apply", std::move(source.document));
        actions.items.push_back(std::move(apply));
    }
    return question;
}

std::string evictions_of(const Value& work, codec::Language language) {
    std::string text;
    if (const Value* evictions = work.find("evictions"))
        for (const Value& eviction : evictions->items)
            text += (text.empty() ? "" : "; ") + reason_text(eviction.find("reason"), language);
    return text;
}

std::string why_of(const Value& work, codec::Language language) {
    std::string text = evictions_of(work, language);
    const std::string waits = reason_text(work.find("waits"), language);
    if (!waits.empty()) text += (text.empty() ? "" : "; ") + waits;
    return text;
}

std::vector<std::string> row_of(const Value& work, bool compares, Instant from,
                                codec::Language language) {
    const auto kind = model::parse_enum<model::Kind>(text_at(work, "object.kind"));
    const Value* added = work.find("added");
    std::string name = fmt::format("{}/{}", kind ? model::info_of(*kind).singular : "",
                                   text_at(work, "object.name"));
    if (added != nullptr && added->boolean) name += say(language, " (new)");
    std::vector<std::string> row{
        std::move(name), text_at(work, "queue"),
        start_words(work.find("start"), text_at(work, "noStart"), from, language),
        basis_words(work.find("start"), language)};
    if (compares)
        row.push_back(
            start_words(work.find("startBefore"), text_at(work, "noStartBefore"), from, language));
    row.push_back(why_of(work, language));
    return row;
}

std::string counts_of(const Value& answer, codec::Language language) {
    const auto count = [&](const char* name) {
        const std::string now = std::to_string(number_at(answer, fmt::format("after.{}", name)));
        if (answer.find("before") == nullptr) return now;
        return say(language, "{} (without the change {})", now,
                   number_at(answer, fmt::format("before.{}", name)));
    };
    std::string text = say(language, "as of version {}, looked until {}\n",
                           number_at(answer, "resourceVersion"), text_at(answer, "after.until"));
    text += say(language, "  start now: {}\n", count("startsNow"));
    text += say(language, "  start later: {}\n", count("startsLater"));
    text += say(language, "  still wait then: {}\n", count("waits"));
    text += say(language, "  are asked to leave: {}\n", count("evictions"));
    return text;
}

std::string lines_of(const Session& session, const Value& answer) {
    const codec::Language language = look_of(session).language;
    const bool compares = answer.find("before") != nullptr;
    const auto from = parse_instant(text_at(answer, "at"));
    Table table{.headers = {say(language, "WORK"), say(language, "QUEUE"),
                            say(language, "STARTS AT"), say(language, "BASIS")}};
    if (compares) table.headers.push_back(say(language, "WITHOUT THE CHANGE"));
    table.headers.push_back(say(language, "WHY"));
    if (const Value* work = answer.find("work"))
        for (const Value& one : work->items)
            table.rows.push_back(row_of(one, compares, from.value_or(Instant{}), language));
    std::string text = counts_of(answer, language);
    if (!table.rows.empty()) text += "\n" + render_table(table, wants_colour(session.terminal()));
    if (const std::int64_t more = number_at(answer, "more"); more > 0)
        text += say(language, "and {} more\n", more);
    if (const std::int64_t others = number_at(answer, "ofOthers"); others > 0)
        text += say(language, "and {} of others\n", others);
    return text;
}

}  // namespace

Result<int> do_what_if(Session& session) {
    TANDEM_LET(question, read_question(session));
    if (!session.arguments().horizon.empty() && question.find("horizon") == nullptr)
        question.add("horizon", codec::make_text(session.arguments().horizon));
    // YAML leaves open what a plain word is; on the wire it is what the field wants.
    TANDEM_LET(wire, codec::parse_what_if(question));
    TANDEM_LET(answer, session.call({.method = "POST",
                                     .path = "/api/v1/whatif",
                                     .body = codec::render_what_if(wire)}));
    show(session, answer, [&] { return lines_of(session, answer); });
    return exit_ok;
}

}  // namespace tandem::cli
