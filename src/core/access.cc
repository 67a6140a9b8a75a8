// SPDX-License-Identifier: Apache-2.0
#include "core/access.h"

namespace tandem::core {
namespace {

bool is_disabled(const State& state, const std::string& subject) {
    if (subject.starts_with("user:")) {
        const model::User* user = state.table<model::User>().find_named(subject.substr(5));
        return !user || user->spec.disabled || user->meta.deletion_requested.has_value();
    }
    if (subject.starts_with("serviceaccount:")) {
        const std::size_t slash = subject.find('/');
        if (slash == std::string::npos) return true;
        const model::ServiceAccount* account = state.table<model::ServiceAccount>().find_named(
            subject.substr(15, slash - 15), "", subject.substr(slash + 1));
        return !account || account->spec.disabled;
    }
    return true;
}

auth::Verb verb_of(const model::Action& action, bool exists) {
    if (std::holds_alternative<model::DeleteObject>(action)) return auth::Verb::remove;
    return exists ? auth::Verb::update : auth::Verb::create;
}

}  // namespace

const model::ApiKey* find_key(const State& state, std::string_view key_id) {
    for (const auto& [id, key] : state.table<model::ApiKey>().rows())
        if (key.spec.key_id == key_id) return &key;
    return nullptr;
}

auth::SubjectFacts facts_of(const State& state, const model::Caller& caller, Instant now) {
    auth::SubjectFacts facts{.subject = caller.subject, .disabled = is_disabled(state, caller.subject), .bindings = {}, .key = {}};
    for (const auto& [id, binding] : state.table<model::RoleBinding>().rows())
        if (binding.spec.subject == caller.subject) facts.bindings.push_back(binding.spec);
    if (!caller.key_id.empty()) {
        const model::ApiKey* key = find_key(state, caller.key_id);
        // A key that was revoked between the read that let it in and this transaction opens nothing.
        if (!key || !auth::is_usable(key->spec, now) || key->spec.subject != caller.subject)
            facts.disabled = true;
        else
            facts.key = auth::narrowing_of(key->spec);
    }
    return facts;
}

namespace {

// A key that lets its subject do all that its bindings allow.
bool is_unnarrowed(const model::ApiKeySpec& key, Instant now) {
    return auth::is_usable(key, now) && !key.inference_only && key.project.empty() && key.services.empty();
}

}  // namespace

bool has_admin(const State& state, Instant now) {
    for (const auto& [id, binding] : state.table<model::RoleBinding>().rows()) {
        if (binding.spec.role != model::Role::platform_admin || !binding.spec.project.empty()) continue;
        if (is_disabled(state, binding.spec.subject)) continue;
        for (const auto& [key_id, key] : state.table<model::ApiKey>().rows())
            if (key.spec.subject == binding.spec.subject && is_unnarrowed(key.spec, now)) return true;
    }
    return false;
}

auth::Decision decide_action(const State& state, const model::Caller& caller, const model::Action& action,
                             const model::Object& wanted, bool exists, Instant now) {
    if (caller.subject == platform_subject) return {.allowed = true, .rule = "platform"};
    const auth::SubjectFacts facts = facts_of(state, caller, now);
    if (const auto* key = std::get_if<model::ApiKey>(&wanted))
        return auth::decide_key(facts, verb_of(action, exists), key->spec);
    if (const auto* binding = std::get_if<model::RoleBinding>(&wanted))
        return auth::decide_binding(facts, verb_of(action, exists), binding->spec);
    return auth::decide(facts, auth::permission_of(action, exists), auth::project_of(wanted));
}

bool may(const State& state, const model::Caller& caller, auth::Permission permission,
         std::string_view project, Instant now) {
    return caller.subject == platform_subject ||
           auth::decide(facts_of(state, caller, now), permission, project).allowed;
}

bool may_see(const State& state, const model::Caller& caller, const model::Object& object, Instant now) {
    const auth::Permission read{auth::area_of(model::kind_of(object)), auth::Verb::read};
    return may(state, caller, read, auth::project_of(object), now);
}

}  // namespace tandem::core
