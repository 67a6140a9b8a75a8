// SPDX-License-Identifier: Apache-2.0
#include "api/keys.h"

#include <fmt/format.h>

#include "api/commands.h"
#include "api/resources.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"
#include "crypto/api_key.h"
#include "model/selector.h"

namespace tandem::api {
namespace {

// The stored object with the secret put into its status, this once.
std::string with_secret(const std::string& json, const Secret& secret) {
    std::string shown = json;
    shown.pop_back();  // the closing brace
    shown += ",\"status\":{\"secret\":\"";
    shown += secret.reveal();
    shown += "\"}}";
    return shown;
}

void create_key(const Parts& parts, Call call) {
    auto body = parse_body(call.request);
    if (!body) return call.refuse(body.error());
    auto object = codec::parse_manifest(*body);
    if (!object) return call.refuse(object.error());
    auto* key = std::get_if<model::ApiKey>(&*object);
    if (!key) return call.refuse({ErrorCode::invalid, "must be ApiKey here", "kind"});
    if (!key->spec.key_id.empty())
        return call.refuse(
            {ErrorCode::invalid, "is drawn by the server; leave it out", "spec.keyId"});
    if (key->spec.subject.empty()) key->spec.subject = call.who.subject;
    auto made = std::make_shared<crypto::NewApiKey>(crypto::make_api_key());
    key->spec.key_id = made->key_id;
    key->spec.digest = made->digest;
    model::Command command{
        .ticket = 0,
        .caller = call.caller(),
        .actions = {model::ApplyObject{.object = *key, .mode = model::ApplyMode::create}},
        .idempotency_key = {},
        .body_digest = {},
        .dry_run = call.query_flag("dryRun")};
    if (const Status taken = take_idempotency_key(call, command); !taken)
        return call.refuse(taken.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.submit(
        std::move(command),
        [&parts, shared, made](const model::Answer& answer, const server::BatchTexts&) {
            if (answer.error) return shared->refuse(*answer.error);
            for (const model::Outcome& outcome : answer.outcomes) shared->touched(outcome);
            auto found = parts.reader.find(answer.outcomes.front().key);
            if (!found || !*found) return shared->answer(render_outcomes(answer.outcomes));
            // The first answer alone held the secret: it is kept nowhere.
            if (answer.replayed) return shared->answer((*found)->json);
            shared->answer(with_secret((*found)->json, made->text), 201);
        });
    if (!queued) shared->refuse(queued.error());
}

bool is_selected(const model::ApiKey& key, const std::vector<model::Requirement>& labels,
                 const std::vector<model::Requirement>& fields) {
    return model::matches_labels(labels, key.meta.labels) &&
           model::matches_fields(fields, model::selectable_fields_of(model::Object{key}));
}

}  // namespace

bool sees_all_keys(const Call& call) {
    return auth::decide(call.who.facts, {auth::Area::keys, auth::Verb::read}, "").allowed;
}

bool may_see_key(const Call& call, const std::string& json) {
    const auto document = codec::parse_json(json);
    if (!document) return false;
    const auto object = codec::parse_shown_object(*document);
    const auto* key = object ? std::get_if<model::ApiKey>(&*object) : nullptr;
    return key && auth::decide_key(call.who.facts, auth::Verb::read, key->spec).allowed;
}

void list_own_keys(const Parts& parts, Call call, const core::ListQuery& query) {
    auto labels = model::parse_label_selector(query.label_selector);
    if (!labels) return call.refuse(labels.error());
    auto fields = model::parse_field_selector(query.field_selector, query.kind);
    if (!fields) return call.refuse(fields.error());
    // The version first: what the view has beyond it, a watch tells once more.
    core::ListQuery newest{.kind = query.kind, .scope = {}, .limit = 1};
    auto page = parts.reader.list(newest);
    if (!page) return call.refuse(page.error());
    core::ListPage own{.version = page->version};
    const auto view = parts.core.access();
    for (const model::ApiKey& key : view->keys())
        if (key.spec.subject == call.who.subject && is_selected(key, *labels, *fields))
            own.items.push_back(
                {.version = key.meta.version, .json = codec::render_object(model::Object{key})});
    call.answer(render_list(query.kind, own));
}

void add_key_routes(Router& router, const Parts& parts) {
    router.add({.method = "POST",
                .pattern = "/api/v1/keys",
                .door = Door::caller,
                .handler = [&parts](Call call) { create_key(parts, std::move(call)); },
                .operation = "createApiKey",
                .summary = "Make a key; its secret is shown once, in status.secret",
                .request_schema = "ApiKey",
                .response_schema = "ApiKey",
                .query = {dry_run_parameter()}});
}

}  // namespace tandem::api
