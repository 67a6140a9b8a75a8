// SPDX-License-Identifier: Apache-2.0
#include "api/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/commands.h"
#include "api/resources.h"
#include "base/quantity.h"
#include "blob/blob_store.h"
#include "blob/gguf.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"
#include "model/selector.h"

namespace tandem::api {
namespace {

Status allow_upload(const Call& call) {
    const auth::Reach reach = auth::reach_of(call.who.facts, {auth::Area::model_versions, auth::Verb::create});
    if (reach.everywhere || !reach.projects.empty()) return {};
    return fail(ErrorCode::denied, "only who may make model versions in some project may upload");
}

std::string render_upload(const blob::UploadFacts& upload) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("upload");
    writer.text(upload.id);
    writer.key("bytes");
    writer.number(upload.bytes);
    writer.key("offset");
    writer.number(upload.offset);
    writer.end_object();
    return json;
}

Result<std::int64_t> integer_field(const codec::Value& body, const std::string& name) {
    const codec::Value* value = body.find(name);
    const auto number = value ? parse_integer(value->text_or_empty()) : Result<std::int64_t>(invalid_field(name, "is needed"));
    if (!number || *number <= 0) return invalid_field(name, "must be a whole number above 0");
    return *number;
}

void begin_upload(const Parts& parts, Call call) {
    if (const Status allowed = allow_upload(call); !allowed) return call.refuse(allowed.error());
    auto body = parse_body(call.request);
    if (!body) return call.refuse(body.error());
    auto bytes = integer_field(*body, "bytes");
    if (!bytes) return call.refuse(bytes.error());
    auto upload = parts.blobs.begin_upload(*bytes);
    if (!upload) return call.refuse(upload.error());
    call.answer(render_upload(*upload), 201);
}

void find_upload(const Parts& parts, Call call) {
    if (const Status allowed = allow_upload(call); !allowed) return call.refuse(allowed.error());
    auto upload = parts.blobs.find_upload(call.at("upload"));
    if (!upload) return call.refuse(upload.error());
    call.answer(render_upload(*upload));
}

void append(const Parts& parts, Call call) {
    if (const Status allowed = allow_upload(call); !allowed) return call.refuse(allowed.error());
    auto offset = query_number(call, "offset", 0, 0, INT64_MAX);
    if (!offset) return call.refuse(offset.error());
    auto known = parts.blobs.find_upload(call.at("upload"));
    if (!known) return call.refuse(known.error());
    // A part that is there already was answered, but the answer got lost.
    if (*offset + static_cast<std::int64_t>(call.request.body.size()) <= known->offset) return call.answer(render_upload(*known));
    auto upload = parts.blobs.append(call.at("upload"), *offset, call.request.body);
    if (!upload) return call.refuse(upload.error());
    call.answer(render_upload(*upload));
}

std::string text_field(const codec::Value& body, std::string_view name) {
    const codec::Value* value = body.find(name);
    return value ? std::string(value->text_or_empty()) : "";
}

void finish(const Parts& parts, WeightsGate& gate, Call call) {
    if (const Status allowed = allow_upload(call); !allowed) return call.refuse(allowed.error());
    auto body = parse_body(call.request);
    if (!body) return call.refuse(body.error());
    auto facts = parts.blobs.finish_upload(call.at("upload"), text_field(*body, "digest"));
    if (!facts) return call.refuse(facts.error());
    gate.note_upload(call, facts->digest);
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("digest");
    writer.text(facts->digest);
    writer.key("bytes");
    writer.number(facts->bytes);
    writer.end_object();
    call.answer(std::move(json));
}

// What the versions's weights are: a digest that was uploaded, or an output of a job of the same namespace.
struct Weights {
    std::string digest{};
    std::string source_job{};
};

Result<Weights> weights_of(const Parts& parts, const Call& call, const codec::Value& body) {
    const std::string digest = text_field(body, "digest");
    const std::string job_name = text_field(body, "fromJob");
    if (digest.empty() == job_name.empty())
        return invalid_field("digest", "give either digest, or fromJob and output");
    if (!digest.empty()) return Weights{.digest = digest, .source_job = {}};
    TANDEM_LET(found, parts.reader.find({model::Kind::job, call.at("project"), call.at("namespace"), job_name}));
    if (!found) return invalid_field("fromJob", fmt::format("job \"{}\" does not exist", job_name));
    TANDEM_LET(document, codec::parse_json(found->json));
    TANDEM_LET(object, codec::parse_shown_object(document));
    const auto& job = std::get<model::Job>(object);
    const std::string output = text_field(body, "output");
    for (const model::OutputRecord& kept : job.status.outputs)
        if (kept.name == output || (output.empty() && job.status.outputs.size() == 1))
            return Weights{.digest = kept.digest, .source_job = job.meta.uid.text()};
    return invalid_field("output", fmt::format("job \"{}\" has kept no output \"{}\"", job_name, output));
}

struct Known {
    std::int64_t last = 0;                   // number of the newest version
    std::optional<core::ObjectText> same{};  // the newest of these very weights
};

Result<Known> known_versions(const Parts& parts, const Call& call, const std::string& digest) {
    core::ListQuery query{.kind = model::Kind::model_version,
                          .scope = {.all_projects = true, .projects = {}},
                          .project = call.at("project"),
                          .name_space = call.at("namespace")};
    Known known;
    std::int64_t same = 0;
    do {
        TANDEM_LET(page, parts.reader.list(query));
        for (core::ObjectText& item : page.items) {
            TANDEM_LET(document, codec::parse_json(item.json));
            TANDEM_LET(object, codec::parse_shown_object(document));
            const auto& version = std::get<model::ModelVersion>(object);
            if (version.spec.model != call.at("name")) continue;
            known.last = std::max(known.last, version.spec.number);
            if (version.spec.digest != digest || version.spec.number < same) continue;
            same = version.spec.number;
            known.same = std::move(item);
        }
        query.continue_token = page.continue_token;
    } while (!query.continue_token.empty());
    return known;
}

// Reads the header of the weights before anything refers to them: a file that is no model never becomes one.
Result<model::ModelVersion> make_version(const Parts& parts, const Call& call,
                                         const Weights& weights, std::int64_t number) {
    auto held = parts.blobs.hold(weights.digest);
    if (!held && held.error().code == ErrorCode::not_found)
        return pass_on(absent_weights(weights.digest));
    TANDEM_LET(blob, std::move(held));
    TANDEM_LET(facts, blob::read_gguf([&](std::int64_t offset, std::int64_t length) { return parts.blobs.read(weights.digest, offset, length); },
                                      blob.bytes));
    model::ModelVersion version;
    version.meta.project = call.at("project");
    version.meta.name_space = call.at("namespace");
    version.meta.name = fmt::format("{}.v{}", call.at("name"), number);
    version.spec.model = call.at("name");
    version.spec.number = number;
    version.spec.digest = weights.digest;
    version.spec.bytes = blob.bytes;
    version.spec.facts = std::move(facts);
    version.spec.source_job = weights.source_job;
    return version;
}

// What makes the version, the newest last. The same weights again are the version that they are
// already: asked for as it is, it stays so, and the answer is kept under its key like any other.
Result<std::vector<model::Action>> version_actions(const Parts& parts, const WeightsGate& gate,
                                                   const Call& call) {
    TANDEM_LET(body, parse_body(call.request));
    TANDEM_LET(weights, weights_of(parts, call, body));
    if (weights.source_job.empty()) TANDEM_TRY(gate.check(call, weights.digest));
    TANDEM_LET(versions, known_versions(parts, call, weights.digest));
    std::vector<model::Action> actions;
    if (versions.same) {
        TANDEM_LET(document, codec::parse_json(versions.same->json));
        TANDEM_LET(same, codec::parse_shown_object(document));
        actions.push_back(
            model::ApplyObject{.object = std::move(same), .mode = model::ApplyMode::update});
        return actions;
    }
    TANDEM_LET(version, make_version(parts, call, weights, versions.last + 1));
    model::Model owner;
    owner.meta.project = version.meta.project;
    owner.meta.name_space = version.meta.name_space;
    owner.meta.name = version.spec.model;
    TANDEM_LET(known, parts.reader.find(model::key_of(owner)));
    if (!known)
        actions.push_back(
            model::ApplyObject{.object = std::move(owner), .mode = model::ApplyMode::create});
    actions.push_back(
        model::ApplyObject{.object = std::move(version), .mode = model::ApplyMode::create});
    return actions;
}

void add_version(const Parts& parts, const WeightsGate& gate, Call call) {
    const Status allowed =
        allow_read(parts, call, {auth::Area::models, auth::Verb::read}, call.at("project"),
                   call.at("project") + "/" + call.at("namespace") + "/" + call.at("name"));
    if (!allowed) return call.refuse(allowed.error());
    auto actions = version_actions(parts, gate, call);
    if (!actions)
        return refuse_unless_answered(parts, std::move(call), actions.error(), Show::last_object);
    send_command(parts, std::move(call), std::move(*actions), Show::last_object);
}

}  // namespace

void add_model_routes(Router& router, const Parts& parts, WeightsGate& weights) {
    const auto add = [&](std::string method, std::string pattern, std::string operation, std::string summary,
                         RouteHandler handler, Parameters query = {}) {
        router.add({.method = std::move(method),
                    .pattern = std::move(pattern),
                    .door = Door::caller,
                    .handler = std::move(handler),
                    .operation = std::move(operation),
                    .summary = std::move(summary),
                    .query = std::move(query)});
    };
    const auto with_parts = [&parts](void (*handler)(const Parts&, Call)) -> RouteHandler {
        return [&parts, handler](Call call) { handler(parts, std::move(call)); };
    };
    add("POST", "/api/v1/blobs", "beginUpload", "Begin an upload of so many bytes",
        with_parts(begin_upload));
    add("GET", "/api/v1/blobs/uploads/{upload}", "getUpload", "How far an upload is",
        with_parts(find_upload));
    add("PUT", "/api/v1/blobs/uploads/{upload}", "appendUpload", "The next part of an upload",
        with_parts(append),
        {{.name = "offset", .note = "where these bytes belong", .type = ParameterType::number}});
    add("POST", "/api/v1/blobs/uploads/{upload}/finish", "finishUpload", "Check the digest and keep the file",
        [&parts, &weights](Call call) { finish(parts, weights, std::move(call)); });
    add("POST", collection_path(model::Kind::model) + "/{name}/versions", "pushModelVersion", "Make a version of a model",
        [&parts, &weights](Call call) { add_version(parts, weights, std::move(call)); },
        {dry_run_parameter()});
}

}  // namespace tandem::api
