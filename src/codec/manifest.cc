// SPDX-License-Identifier: Apache-2.0
#include "codec/manifest.h"

#include <fmt/format.h>

#include <array>

#include "base/quantity.h"
#include "codec/describe_capacity.h"
#include "codec/describe_identity.h"
#include "codec/describe_meta.h"
#include "codec/describe_service.h"
#include "codec/describe_window.h"
#include "codec/describe_work.h"
#include "codec/field_reader.h"
#include "codec/field_writer.h"
#include "codec/verb.h"

namespace tandem::codec {
namespace {

// Four that make and remove objects, those of model::JobAct, two on tasks of before a restore.
constexpr std::array<std::string_view, 17> verbs{
    "apply",  "create",  "update", "delete", "cancel",   "retry",   "hold",  "release", "suspend",
    "resume", "requeue", "front",  "force",  "priority", "preview", "adopt", "end"};
constexpr std::size_t first_act = 4;
constexpr std::size_t first_task_verb = 15;

// Objects without a status in the model still may come with one: it is never read.
struct SkippedStatus {};
void describe(auto& v, Of<SkippedStatus> auto&) {
    v.named("Status");
}

template <class S>
void read_body(ReadContext& context, const Place& place, const Value& value, S& object) {
    FieldReader reader(context, place, value);
    std::string version;
    model::Kind kind{};
    reader.field("apiVersion", version);
    reader.field("kind", kind);
    describe(reader, object);
    SkippedStatus skipped;
    if constexpr (!requires { object.status; }) reader.server_set("status", skipped);
    reader.finish();
}

Result<model::Object> parse_object(const Value& document, Origin origin) {
    ReadContext context{.origin = origin};
    model::Object object;
    read_object(context, Place{}, document, object);
    if (context.error) return pass_on(*std::move(context.error));
    return object;
}

void read_action(ReadContext& context, const Place& place, const Value& value, model::Action& out) {
    if (!require_type(context, place, value, ValueType::object)) return;
    if (value.items.size() != 1)
        return context.refuse(place,
                              fmt::format("must hold exactly one of {}", fmt::join(verbs, ", ")));
    const Value verb = make_text(value.names[0]);
    const auto index = read_word(context, place, verb, verbs.data(), verbs.size());
    if (!index) return;
    const Place inner{&place, value.names[0]};
    if (*index < 3) {
        model::ApplyObject apply{.mode = *index == 0   ? model::ApplyMode::apply
                                         : *index == 1 ? model::ApplyMode::create
                                                       : model::ApplyMode::update};
        read_object(context, inner, value.items[0], apply.object);
        out = std::move(apply);
        return;
    }
    model::ObjectKey key;
    FieldReader(context, inner, value.items[0]).get(inner, value.items[0], key);
    if (*index < first_act)
        out = model::DeleteObject{std::move(key)};
    else if (*index < first_task_verb)
        out = model::ActOnJob{std::move(key), static_cast<model::JobAct>(*index - first_act)};
    else if (*index == first_task_verb)
        out = model::AdoptTask{std::move(key)};
    else
        out = model::EndTask{std::move(key)};
}

}  // namespace

std::string_view verb_of(const model::Action& action) {
    if (const auto* apply = std::get_if<model::ApplyObject>(&action)) return name_of(apply->mode);
    if (const auto* act = std::get_if<model::ActOnJob>(&action)) return name_of(act->act);
    if (std::holds_alternative<model::AdoptTask>(action)) return verbs[first_task_verb];
    if (std::holds_alternative<model::EndTask>(action)) return verbs[first_task_verb + 1];
    return verbs[first_act - 1];
}

void read_object(ReadContext& context, const Place& place, const Value& value, model::Object& out) {
    if (!require_type(context, place, value, ValueType::object)) return;
    const Value none{};
    const Value* version = value.find("apiVersion");
    read_word(context, {&place, "apiVersion"}, version ? *version : none, &api_version, 1);
    const Value* kind = value.find("kind");
    constexpr auto& kinds = model::EnumNames<model::Kind>::values;
    const auto index =
        read_word(context, {&place, "kind"}, kind ? *kind : none, kinds, std::size(kinds));
    if (!index || context.error) return;
    out = model::make_object(static_cast<model::Kind>(*index));
    std::visit([&](auto& object) { read_body(context, place, value, object); }, out);
}

void write_object(JsonWriter& json, const model::Object& object, Audience audience) {
    json.begin_object();
    json.member("apiVersion");
    json.text(api_version);
    json.member("kind");
    json.text(name_of(kind_of(object)));
    FieldWriter writer(json, audience);
    std::visit([&](const auto& body) { describe(writer, body); }, object);
    json.end_object();
}

Result<model::Object> parse_manifest(const Value& document) {
    return parse_object(document, Origin::manifest);
}
Result<model::Object> parse_shown_object(const Value& document) {
    return parse_object(document, Origin::shown);
}

bool looks_like_json(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos || text[first] != '{') return false;
    const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
    return second != text.npos && (text[second] == '"' || text[second] == '}');
}

Result<model::Object> parse_manifest_text(std::string_view text) {
    if (looks_like_json(text)) {
        // YAML takes JSON too, but JSON's own reader names mistakes better.
        TANDEM_LET(document, parse_json(text));
        return parse_manifest(document);
    }
    TANDEM_LET(documents, parse_yaml(text));
    if (documents.size() != 1)
        return fail(ErrorCode::invalid,
                    fmt::format("must be one object, holds {} documents", documents.size()));
    return parse_manifest(documents.front());
}

Result<std::vector<model::Action>> parse_batch(const Value& document) {
    ReadContext context{.origin = Origin::manifest};
    std::vector<model::Action> actions;
    const Place root{};
    if (!require_type(context, root, document, ValueType::object))
        return pass_on(*std::move(context.error));
    const Value* list = document.find("actions");
    if (!list || document.items.size() != 1)
        return invalid_field("actions",
                             "must be given, and nothing beside it: {\"actions\": [...]}");
    const Place place{&root, "actions"};
    if (require_type(context, place, *list, ValueType::array)) {
        actions.resize(list->items.size());
        for (std::size_t i = 0; i < actions.size() && !context.error; ++i)
            read_action(context, {&place, {}, i}, list->items[i], actions[i]);
    }
    if (context.error) return pass_on(*std::move(context.error));
    return actions;
}

std::string render_batch(const std::vector<model::Action>& actions) {
    std::string out;
    JsonWriter json(out);
    FieldWriter writer(json, Audience::people);
    json.begin_object();
    json.key("actions");
    json.begin_array();
    for (const model::Action& action : actions) {
        json.begin_object();
        json.key(verb_of(action));
        if (const auto* apply = std::get_if<model::ApplyObject>(&action))
            writer.put(apply->object);
        else
            writer.put(key_of_action(action));
        json.end_object();
    }
    json.end_array();
    json.end_object();
    return out;
}

std::string render_object(const model::Object& object) {
    std::string out;
    out.reserve(1024);
    JsonWriter json(out);
    write_object(json, object, Audience::people);
    return out;
}

const std::string& change_text(const model::BatchRecord& record, std::size_t change) {
    record.change_texts.resize(record.changes.size());
    std::string& text = record.change_texts[change];
    if (text.empty()) text = render_object(record.changes[change].object);
    return text;
}

std::string render_internal(const model::Object& object) {
    if (const auto* replica = std::get_if<model::Replica>(&object))
        return std::to_string(replica->spec.owner_id.value);
    if (const auto* key = std::get_if<model::ApiKey>(&object)) return key->spec.digest;
    return {};
}

Result<model::Object> parse_stored_object(std::string_view text, std::string_view internal,
                                          RowId id) {
    TANDEM_LET(document, parse_json(text));
    TANDEM_LET(object, parse_shown_object(document));
    meta_of(object).id = id;
    if (auto* replica = std::get_if<model::Replica>(&object)) {
        TANDEM_LET(owner, parse_integer(internal));
        replica->spec.owner_id = RowId{owner};
    } else if (auto* key = std::get_if<model::ApiKey>(&object)) {
        key->spec.digest = internal;
    }
    return object;
}

}  // namespace tandem::codec
