// SPDX-License-Identifier: Apache-2.0
#include "server/bootstrap.h"

#include "core/access.h"
#include "crypto/api_key.h"

namespace tandem::server {
namespace {

template <class T>
T named(std::string name) {
    T object;
    object.meta.name = std::move(name);
    return object;
}

void add(model::Command& command, model::Object object) {
    command.actions.push_back(
        model::ApplyObject{.object = std::move(object), .mode = model::ApplyMode::create});
}

}  // namespace

Bootstrap make_bootstrap() {
    Bootstrap start;
    start.command.caller = {.subject = std::string(core::platform_subject), .key_id = {}, .request_id = "bootstrap"};
    add(start.command, named<model::Project>("default"));
    model::Namespace name_space = named<model::Namespace>("default");
    name_space.meta.project = "default";
    add(start.command, name_space);
    add(start.command, named<model::Pool>("default"));
    add(start.command, named<model::Queue>("default"));
    add(start.command, named<model::User>("admin"));
    model::RoleBinding binding = named<model::RoleBinding>("admin");
    binding.spec.subject = "user:admin";
    binding.spec.role = model::Role::platform_admin;
    add(start.command, binding);
    crypto::NewApiKey secret = crypto::make_api_key();
    model::ApiKey key = named<model::ApiKey>("admin");
    key.spec.subject = "user:admin";
    key.spec.key_id = secret.key_id;
    key.spec.digest = secret.digest;
    add(start.command, key);
    start.admin_key = std::move(secret.text);
    return start;
}

model::Command make_recovery(const std::string& key_id, const std::string& digest,
                             const std::vector<model::ApiKey>& revoked) {
    model::Command command;
    command.caller = {.subject = std::string(core::platform_subject), .key_id = {}, .request_id = "recover-key"};
    const auto apply = [&](model::Object object) {
        command.actions.push_back(model::ApplyObject{.object = std::move(object), .mode = model::ApplyMode::apply});
    };
    apply(named<model::User>("admin"));
    model::RoleBinding binding = named<model::RoleBinding>("admin-recovered");
    binding.spec.subject = "user:admin";
    binding.spec.role = model::Role::platform_admin;
    apply(binding);
    model::ApiKey key = named<model::ApiKey>("admin-recovered-" + key_id);
    key.spec.subject = "user:admin";
    key.spec.key_id = key_id;
    key.spec.digest = digest;
    apply(key);
    for (model::ApiKey other : revoked) {
        other.spec.revoked = true;
        apply(std::move(other));
    }
    return command;
}

}  // namespace tandem::server
