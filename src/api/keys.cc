// SPDX-License-Identifier: Apache-2.0
#include "api/keys.h"

#include <fmt/format.h>

#include "api/commands.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"
#include "crypto/api_key.h"

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
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.submit(
        std::move(command),
        [&parts, shared, made](const model::Answer& answer, const server::BatchTexts&) {
            if (answer.error) return shared->refuse(*answer.error);
            auto found = parts.reader.find(answer.outcomes.front().key);
            if (!found || !*found) return shared->answer(render_outcomes(answer.outcomes));
            shared->answer(with_secret((*found)->json, made->text), 201);
        });
    if (!queued) shared->refuse(queued.error());
}

}  // namespace

void add_key_routes(Router& router, const Parts& parts) {
    router.add({.method = "POST",
                .pattern = "/api/v1/keys",
                .door = Door::caller,
                .handler = [&parts](Call call) { create_key(parts, std::move(call)); },
                .summary = "Make a key; its secret is shown once, in status.secret",
                .request_schema = "ApiKey",
                .response_schema = "ApiKey"});
}

}  // namespace tandem::api
