// SPDX-License-Identifier: Apache-2.0
#include "api/resources.h"

#include <fmt/format.h>

#include "api/commands.h"
#include "api/keys.h"
#include "api/watch.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"

namespace tandem::api {
namespace {

constexpr std::size_t batch_actions_max = 1000;

// What the path says and the body may repeat, but not contradict.
Status take_from_path(std::string& field, const std::string& path, const std::string& name) {
    if (field.empty()) field = path;
    if (field == path) return {};
    return invalid_field(name, fmt::format("is \"{}\", but the path says \"{}\"", field, path));
}

Result<model::Object> parse_object(const Call& call, model::Kind kind) {
    TANDEM_LET(body, parse_body(call.request));
    TANDEM_LET(object, codec::parse_manifest(body));
    if (model::kind_of(object) != kind)
        return invalid_field("kind", fmt::format("must be {} here, is {}", model::name_of(kind),
                                                 model::name_of(model::kind_of(object))));
    model::Meta& meta = model::meta_of(object);
    TANDEM_TRY(take_from_path(meta.project, call.path_or_empty("project"), "metadata.project"));
    TANDEM_TRY(
        take_from_path(meta.name_space, call.path_or_empty("namespace"), "metadata.namespace"));
    if (call.path.contains("name"))
        TANDEM_TRY(take_from_path(meta.name, call.at("name"), "metadata.name"));
    return object;
}

void apply(const Parts& parts, const WeightsGate& weights, Call call, model::Kind kind,
           model::ApplyMode mode) {
    auto object = parse_object(call, kind);
    if (!object) return call.refuse(object.error());
    std::vector<model::Action> actions{
        model::ApplyObject{.object = std::move(*object), .mode = mode}};
    if (const Status allowed = weights.check(call, actions); !allowed)
        return call.refuse(allowed.error());
    send_command(parts, std::move(call), std::move(actions), Show::object);
}

void remove(const Parts& parts, Call call, model::Kind kind) {
    std::vector<model::Action> actions{model::DeleteObject{.key = key_of_path(call, kind)}};
    send_command(parts, std::move(call), std::move(actions), Show::object);
}

std::string shown_name(const model::ObjectKey& key) {
    std::string path;
    for (const std::string* part : {&key.project, &key.name_space})
        if (!part->empty()) path += *part + "/";
    return path + key.name;
}

// The project that decides about reading an object of this kind at this place.
std::string deciding_project(model::Kind kind, const Call& call) {
    return kind == model::Kind::project && call.path.contains("name")
               ? call.at("name")
               : call.path_or_empty("project");
}

std::unexpected<Error> not_there(const model::ObjectKey& key) {
    return fail(ErrorCode::not_found,
                fmt::format("{} \"{}\" does not exist", model::info_of(key.kind).singular,
                            shown_name(key)));
}

// Others' keys are answered like keys that are not there.
void get_key(const Parts& parts, Call call, const model::ObjectKey& key) {
    auto found = parts.reader.find(key);
    if (!found) return call.refuse(found.error());
    if (*found && may_see_key(call, (*found)->json)) return call.answer(std::move((*found)->json));
    if (*found)
        parts.core.post(model::DenialSeen{
            .caller = call.caller(), .action = "keys.read", .object = shown_name(key)});
    call.refuse(not_there(key).error());
}

void get(const Parts& parts, Call call, model::Kind kind) {
    const model::ObjectKey key = key_of_path(call, kind);
    if (kind == model::Kind::api_key) return get_key(parts, std::move(call), key);
    const auth::Permission permission{auth::area_of(kind), auth::Verb::read};
    const Status allowed =
        allow_read(parts, call, permission, deciding_project(kind, call), shown_name(key));
    if (!allowed) return call.refuse(allowed.error());
    auto found = parts.reader.find(key);
    if (!found) return call.refuse(found.error());
    if (!*found) return call.refuse(not_there(key).error());
    call.answer(std::move((*found)->json));
}

Result<core::ListQuery> list_query(const Parts&, const Call& call, model::Kind kind) {
    const auth::Reach reach =
        auth::reach_of(call.who.facts, {auth::area_of(kind), auth::Verb::read});
    core::ListQuery query{.kind = kind,
                          .scope = scope_of(reach),
                          .project = call.path_or_empty("project"),
                          .name_space = call.path_or_empty("namespace"),
                          .label_selector = call.query_or("labelSelector"),
                          .field_selector = call.query_or("fieldSelector"),
                          .limit = 500,
                          .continue_token = call.query_or("continue")};
    // Kinds of the whole installation have no project to scope by: the permission itself decides.
    if (model::info_of(kind).scope == model::Scope::cluster && kind != model::Kind::project)
        query.scope.all_projects =
            auth::decide(call.who.facts, {auth::area_of(kind), auth::Verb::read}, "").allowed;
    TANDEM_LET(limit, query_number(call, "limit", 500, 1, 500));
    query.limit = limit;
    return query;
}

void list(const Parts& parts, Ticker& ticker, Call call, model::Kind kind) {
    auto query = list_query(parts, call, kind);
    if (!query) return call.refuse(query.error());
    const bool own_keys = kind == model::Kind::api_key && !sees_all_keys(call);
    if (call.query_flag("watch")) return watch(parts, ticker, std::move(call), *query, own_keys);
    if (own_keys) return list_own_keys(parts, std::move(call), *query);
    auto page = parts.reader.list(*query);
    if (!page) return call.refuse(page.error());
    call.answer(render_list(kind, *page));
}

void batch(const Parts& parts, const WeightsGate& weights, Call call) {
    auto body = parse_body(call.request);
    if (!body) return call.refuse(body.error());
    auto actions = codec::parse_batch(*body);
    if (!actions) return call.refuse(actions.error());
    if (actions->size() > batch_actions_max)
        return call.refuse(
            {ErrorCode::too_large,
             fmt::format("must hold at most 1000 actions, holds {}", actions->size()), "actions"});
    if (const Status allowed = weights.check(call, *actions); !allowed)
        return call.refuse(allowed.error());
    send_command(parts, std::move(call), std::move(*actions), Show::outcomes);
}

Parameters list_parameters() {
    return {{.name = "watch",
             .note = "answer with a stream of server-sent events",
             .type = ParameterType::flag},
            {.name = "resourceVersion",
             .note = "with watch: the version to go on from (default: now)",
             .type = ParameterType::number},
            {.name = "labelSelector", .note = "a=b,c!=d,e,!f"},
            {.name = "fieldSelector", .note = "status.phase=running,spec.queue=q,metadata.name=x"},
            {.name = "limit",
             .note = "of one page",
             .type = ParameterType::number,
             .low = 1,
             .high = 500},
            {.name = "continue", .note = "metadata.continue of the page before"}};
}

void add_kind(Router& router, const Parts& parts, Ticker& ticker, const WeightsGate& weights,
              model::Kind kind) {
    const std::string schema(model::name_of(kind));
    const std::string words(model::info_of(kind).plural);
    const std::string collection = collection_path(kind);
    const std::string item = collection + "/{name}";
    const auto add = [&](std::string method, const std::string& pattern, std::string operation,
                         std::string summary, RouteHandler handler, bool takes_body = false) {
        const bool is_list = method == "GET" && pattern != item;
        router.add({.method = std::move(method),
                    .pattern = pattern,
                    .door = Door::caller,
                    .handler = std::move(handler),
                    .operation = std::move(operation),
                    .summary = std::move(summary),
                    .request_schema = takes_body ? schema : "",
                    .response_schema = is_list ? schema + "List" : schema,
                    .query = is_list           ? list_parameters()
                             : method == "GET" ? Parameters{}
                                               : Parameters{dry_run_parameter()}});
    };
    add("GET", collection, "list" + schema + "s", "List or watch " + words,
        [&parts, &ticker, kind](Call call) { list(parts, ticker, std::move(call), kind); });
    add("GET", item, "get" + schema, "Get one of " + words,
        [&parts, kind](Call call) { get(parts, std::move(call), kind); });
    if (model::info_of(kind).scope != model::Scope::cluster)
        add("GET", "/api/v1/" + words, "listAll" + schema + "s",
            "List or watch " + words + " of all projects in reach",
            [&parts, &ticker, kind](Call call) { list(parts, ticker, std::move(call), kind); });
    if (model::info_of(kind).read_only) return;
    // Keys are made by their own route: the secret is the server's to draw.
    if (kind != model::Kind::api_key)
        add(
            "POST", collection, "create" + schema, "Create one of " + words,
            [&parts, &weights, kind](Call call) {
                apply(parts, weights, std::move(call), kind, model::ApplyMode::create);
            },
            true);
    add(
        "PUT", item, "apply" + schema, "Create or change one of " + words,
        [&parts, &weights, kind](Call call) {
            apply(parts, weights, std::move(call), kind, model::ApplyMode::apply);
        },
        true);
    add("DELETE", item, "delete" + schema, "Delete one of " + words,
        [&parts, kind](Call call) { remove(parts, std::move(call), kind); });
}

}  // namespace

std::string collection_path(model::Kind kind) {
    const model::KindInfo& info = model::info_of(kind);
    std::string path = "/api/v1";
    if (info.scope != model::Scope::cluster) path += "/projects/{project}";
    if (info.scope == model::Scope::name_space) path += "/namespaces/{namespace}";
    return path + "/" + std::string(info.plural);
}

std::string render_list(model::Kind kind, const core::ListPage& page) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("apiVersion");
    writer.text("tandem/v1");
    writer.key("kind");
    writer.text(std::string(model::name_of(kind)) + "List");
    writer.key("metadata");
    writer.begin_object();
    writer.key("resourceVersion");
    writer.number(page.version);
    writer.key("continue");
    writer.text(page.continue_token);
    writer.key("remaining");
    writer.number(page.remaining);
    writer.end_object();
    writer.key("items");
    writer.begin_array();
    for (const core::ObjectText& item : page.items) writer.raw(item.json);
    writer.end_array();
    writer.end_object();
    return json;
}

model::ObjectKey key_of_path(const Call& call, model::Kind kind) {
    return {kind, call.path_or_empty("project"), call.path_or_empty("namespace"),
            call.path_or_empty("name")};
}

void add_resource_routes(Router& router, const Parts& parts, Ticker& ticker,
                         const WeightsGate& weights) {
    for (const model::KindInfo& info : model::kind_table)
        add_kind(router, parts, ticker, weights, info.kind);
    router.add({.method = "POST",
                .pattern = "/api/v1/batch",
                .door = Door::caller,
                .handler = [&parts, &weights](Call call) { batch(parts, weights, std::move(call)); },
                .operation = "runBatch",
                .summary = "Do up to 1000 actions, all or none",
                .request_schema = "BatchRequest",
                .response_schema = "Outcomes",
                .query = {dry_run_parameter()}});
}

}  // namespace tandem::api
