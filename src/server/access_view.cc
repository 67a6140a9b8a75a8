// SPDX-License-Identifier: Apache-2.0
#include "server/access_view.h"

#include <algorithm>

#include "crypto/api_key.h"
#include "crypto/sha256.h"

namespace tandem::server {
namespace {

const std::string no_digest(64, '0');

std::unexpected<Error> unknown_key() {
    return fail(ErrorCode::unauthenticated, "the API key is missing, unknown, expired or revoked");
}

}  // namespace

AccessView::AccessView(const core::State& state) {
    for (const auto& [id, key] : state.table<model::ApiKey>().rows()) {
        key_by_id_[key.spec.key_id] = keys_.size();
        keys_.push_back(key);
    }
    for (const auto& [id, binding] : state.table<model::RoleBinding>().rows())
        bindings_[binding.spec.subject].push_back(binding.spec);
    for (const auto& [id, user] : state.table<model::User>().rows())
        disabled_["user:" + user.meta.name] = user.spec.disabled;
    for (const auto& [id, account] : state.table<model::ServiceAccount>().rows())
        disabled_["serviceaccount:" + account.meta.project + "/" + account.meta.name] = account.spec.disabled;
}

bool AccessView::is_disabled(const std::string& subject) const {
    const auto it = disabled_.find(subject);
    return it == disabled_.end() || it->second;
}

auth::SubjectFacts AccessView::facts_of(const std::string& subject) const {
    auth::SubjectFacts facts{.subject = subject, .disabled = is_disabled(subject), .bindings = {}, .key = {}};
    const auto it = bindings_.find(subject);
    if (it != bindings_.end()) facts.bindings = it->second;
    return facts;
}

std::vector<model::ApiKey> AccessView::admin_keys() const {
    std::vector<model::ApiKey> found;
    for (const model::ApiKey& key : keys_) {
        const auto bound = bindings_.find(key.spec.subject);
        const bool admin = bound != bindings_.end() &&
                           std::ranges::any_of(bound->second, [](const model::RoleBindingSpec& one) {
                               return one.role == model::Role::platform_admin;
                           });
        if (admin && !key.spec.revoked) found.push_back(key);
    }
    return found;
}

Result<Identity> AccessView::identify(std::string_view key_text, Instant now) const {
    const auto proof = crypto::parse_api_key(key_text);
    if (!proof) return unknown_key();
    const auto it = key_by_id_.find(proof->key_id);
    const model::ApiKey* key = it == key_by_id_.end() ? nullptr : &keys_[it->second];
    // An unknown id is compared too: both ways take the same time.
    const bool same = crypto::equal_in_constant_time(proof->digest, key ? key->spec.digest : no_digest);
    if (!key || !same || !auth::is_usable(key->spec, now) || is_disabled(key->spec.subject)) return unknown_key();
    Identity identity{.subject = key->spec.subject, .key_id = key->spec.key_id, .facts = facts_of(key->spec.subject)};
    identity.facts.key = auth::narrowing_of(key->spec);
    return identity;
}

bool AccessView::depends_on(model::Kind kind) {
    return kind == model::Kind::api_key || kind == model::Kind::user || kind == model::Kind::service_account ||
           kind == model::Kind::role_binding;
}

}  // namespace tandem::server
