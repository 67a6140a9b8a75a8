// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/quantity.h"
#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "codec/manifest.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using codec::Value;

constexpr std::size_t actions_max = 1000;  // of one batch

bool is_manifest_name(const fs::path& path) {
    const std::string ending = path.extension().string();
    return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

// A folder stands for its manifests, by name; it is not walked further down.
Result<std::vector<std::string>> expand(const std::string& name) {
    std::error_code error, ignored;
    if (name == "-" || !fs::is_directory(name, error)) return std::vector<std::string>{name};
    std::vector<std::string> files;
    for (fs::directory_iterator at(name, error), end; !error && at != end; at.increment(error))
        if (is_manifest_name(at->path()) && !fs::is_directory(at->path(), ignored))
            files.push_back(at->path().string());  // one that can't be read is told by its name
    if (error)
        return fail(ErrorCode::invalid, fmt::format("reading {}: {}", name, error.message()));
    if (files.empty())
        return fail(ErrorCode::invalid, fmt::format("{} holds no .yaml, .yml or .json file", name));
    std::ranges::sort(files);
    return files;
}

Result<std::string> read_file(const Session& session, const std::string& name) {
    if (name == "-") return session.terminal().read_input();
    std::error_code error;
    const auto size = fs::file_size(name, error);
    if (error)
        return fail(ErrorCode::invalid, fmt::format("reading {}: {}", name, error.message()));
    if (size > codec::document_bytes_max)
        return fail(ErrorCode::too_large,
                    fmt::format("{} has {} bytes, at most 8 MiB are taken", name, size));
    std::ifstream stream(name, std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    if (!stream) return fail(ErrorCode::invalid, fmt::format("reading {} failed", name));
    return text.str();
}

Result<std::vector<Value>> parse_documents(const std::string& name, const std::string& text) {
    if (!name.ends_with(".json") && !codec::looks_like_json(text)) return codec::parse_yaml(text);
    TANDEM_LET(document, codec::parse_json(text));
    return std::vector<Value>{std::move(document)};
}

// {"kind": "JobList", "items": [...]}: what `get KIND -o yaml` shows.
bool is_list(const Value& document) {
    return text_at(document, "kind").ends_with("List") && document.find("items") &&
           document.find("items")->type == codec::ValueType::array;
}

Value& member_of(Value& object, const std::string& name) {
    const auto found = std::ranges::find(object.names, name);
    if (found != object.names.end())
        return object.items[static_cast<std::size_t>(found - object.names.begin())];
    object.add(name, Value{});
    return object.items.back();
}

void fill_in(Value& document, const std::string& name, const std::string& value) {
    Value& meta = member_of(document, "metadata");
    if (meta.type == codec::ValueType::null) meta.type = codec::ValueType::object;
    if (meta.type != codec::ValueType::object) return;
    Value& member = member_of(meta, name);
    if (member.text_or_empty().empty()) member = codec::make_text(value);
}

Result<ManifestSource> settle(const Session& session, Value document, std::string where) {
    const auto kind = model::parse_enum<model::Kind>(text_at(document, "kind"));
    if (kind && model::info_of(*kind).scope != model::Scope::cluster)
        fill_in(document, "project", session.project());
    if (kind && model::info_of(*kind).scope == model::Scope::name_space)
        fill_in(document, "namespace", session.name_space());
    auto object = codec::parse_manifest(document);
    if (!object)
        return in_context(where, Error{object.error().code, render_error(object.error()), {}});
    // YAML leaves open what a plain word is; on the wire it is what the field wants.
    TANDEM_LET(wire, codec::parse_json(codec::render_object(*object)));
    model::ObjectKey key = key_of(*object);
    where += fmt::format(" ({}/{})", model::info_of(key.kind).singular, key.name);
    return ManifestSource{
        .where = std::move(where), .document = std::move(wire), .key = std::move(key)};
}

// "actions[3]" or "action 3: " off the front of a text; absent when it does not stand there.
std::optional<std::size_t> eat_index(std::string& text, std::string_view head,
                                     std::string_view tail) {
    if (!text.starts_with(head)) return std::nullopt;
    const std::size_t end = text.find(tail, head.size());
    if (end == text.npos) return std::nullopt;
    const auto index = parse_integer(std::string_view(text).substr(head.size(), end - head.size()));
    if (!index || *index < 0) return std::nullopt;
    text.erase(0, end + tail.size());
    return static_cast<std::size_t>(*index);
}

// The server speaks of actions by number; people think in files.
Error in_files(Error error, const std::vector<ManifestSource>& sources) {
    const auto of_message = eat_index(error.message, "action ", ": ");
    const auto of_field = eat_index(error.field, "actions[", "]");
    // Without a number it may still speak of the only object there is.
    const bool of_object = error.code == ErrorCode::invalid || error.code == ErrorCode::conflict ||
                           error.code == ErrorCode::not_found;
    const std::size_t otherwise = sources.size() == 1 && of_object ? 0 : sources.size();
    const std::size_t index = of_field.value_or(of_message.value_or(otherwise));
    if (index >= sources.size()) return error;
    for (const std::string_view part : {".apply", "."})
        if (error.field.starts_with(part)) error.field.erase(0, part.size());
    return {error.code, fmt::format("{}: {}", sources[index].where, render_error(error)), {}};
}

Phrase describe_outcome(const Value& outcome) {
    const auto flag = [&](const char* name) {
        const Value* value = outcome.find(name);
        return value && value->boolean;
    };
    return flag("created")   ? Phrase("created")
           : flag("changed") ? Phrase("changed")
                             : Phrase("unchanged");
}

}  // namespace

Result<std::vector<ManifestSource>> read_manifests(const Session& session,
                                                   std::vector<Value>* questions) {
    std::vector<ManifestSource> sources;
    if (session.arguments().files.empty())
        return fail(ErrorCode::invalid, "name at least one file: -f FILE");
    for (const std::string& given : session.arguments().files) {
        TANDEM_LET(files, expand(given));
        for (const std::string& file : files) {
            const std::string shown = file == "-" ? "standard input" : file;
            TANDEM_LET(text, read_file(session, file));
            auto documents = parse_documents(file, text);
            if (!documents) return in_context(shown, documents.error());
            std::vector<Value> objects;
            for (Value& document : *documents) {
                if (is_list(document))
                    std::ranges::copy(document.find("items")->items, std::back_inserter(objects));
                else
                    objects.push_back(std::move(document));
            }
            for (std::size_t i = 0; i < objects.size(); ++i) {
                if (questions && text_at(objects[i], "kind") == "WhatIf") {
                    questions->push_back(std::move(objects[i]));
                    continue;
                }
                std::string where =
                    objects.size() == 1 ? shown : fmt::format("{}, object {}", shown, i + 1);
                TANDEM_LET(source, settle(session, std::move(objects[i]), std::move(where)));
                sources.push_back(std::move(source));
            }
        }
    }
    if (sources.empty() && (!questions || questions->empty()))
        return fail(ErrorCode::invalid, "the files hold no object");
    return sources;
}

Result<int> do_apply(Session& session) {
    TANDEM_LET(sources, read_manifests(session));
    if (sources.size() > actions_max)
        return fail(ErrorCode::too_large,
                    fmt::format("{} objects in one go; at most {} are done all or none",
                                sources.size(), actions_max));
    std::string body = "{\"actions\":[";
    for (const ManifestSource& source : sources)
        body += (body.back() == '[' ? "" : ",") +
                ("{\"apply\":" + codec::render_json(source.document) + "}");
    body += "]}";
    const bool dry_run = session.arguments().dry_run;
    auto answer = session.call({.method = "POST",
                                .path = "/api/v1/batch",
                                .query = {{"dryRun", dry_run ? "true" : ""}},
                                .body = std::move(body)});
    if (!answer) return pass_on(in_files(answer.error(), sources));
    show(session, *answer, [&] {
        const codec::Language language = language_of(session.arguments());
        std::string lines;
        const Value* outcomes = answer->find("outcomes");
        for (std::size_t i = 0; outcomes && i < outcomes->items.size() && i < sources.size(); ++i)
            lines += fmt::format("{}/{} {}{}\n", model::info_of(sources[i].key.kind).singular,
                                 sources[i].key.name,
                                 say(language, describe_outcome(outcomes->items[i])),
                                 dry_run ? say(language, " (dry run)") : "");
        return lines;
    });
    return exit_ok;
}

}  // namespace tandem::cli
