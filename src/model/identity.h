// SPDX-License-Identifier: Apache-2.0
// Who may do what: projects, namespaces, subjects, bindings, keys.
//
// A subject is "user:NAME" or "serviceaccount:PROJECT/NAME". A key is td_<id 12>_<secret 43><crc 6>; only
// its id and the SHA-256 digest of the whole text are ever stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"
#include "model/work_limits.h"

namespace tandem::model {

enum class Role : std::uint8_t {
    platform_admin, platform_operator, algorithm_user, app_caller, auditor, finance_viewer,
};
template <>
struct EnumNames<Role> {
    static constexpr std::string_view values[] = {"platform-admin", "platform-operator", "algorithm-user",
                                                  "app-caller",     "auditor",           "finance-viewer"};
};

struct ProjectSpec {
    std::string title{};
    std::string data_owner{};      // who answers for the project's data
    std::string failure_contact{}; // who handles its failures
    WorkLimits limits{};           // of all its work
    WorkLimits per_user{};         // of each submitter's work in it
    bool operator==(const ProjectSpec&) const = default;
};
struct Project {
    static constexpr Kind kind = Kind::project;
    Meta meta{};
    ProjectSpec spec{};
    bool operator==(const Project&) const = default;
};

struct NamespaceSpec {
    std::string title{};
    bool operator==(const NamespaceSpec&) const = default;
};
struct Namespace {
    static constexpr Kind kind = Kind::name_space;
    Meta meta{};
    NamespaceSpec spec{};
    bool operator==(const Namespace&) const = default;
};

struct UserSpec {
    std::string title{};
    bool disabled = false;
    WorkLimits limits{};  // of what it submitted, in all projects
    bool operator==(const UserSpec&) const = default;
};
struct User {
    static constexpr Kind kind = Kind::user;
    Meta meta{};
    UserSpec spec{};
    bool operator==(const User&) const = default;
};

struct ServiceAccount {
    static constexpr Kind kind = Kind::service_account;
    Meta meta{};
    UserSpec spec{};
    bool operator==(const ServiceAccount&) const = default;
};

struct RoleBindingSpec {
    std::string subject{};
    Role role = Role::app_caller;
    std::string project{};  // empty: the whole installation
    bool operator==(const RoleBindingSpec&) const = default;
};
struct RoleBinding {
    static constexpr Kind kind = Kind::role_binding;
    Meta meta{};
    RoleBindingSpec spec{};
    bool operator==(const RoleBinding&) const = default;
};

struct ApiKeySpec {
    std::string subject{};
    std::string key_id{};   // 12 characters of a-z0-9
    std::string digest{};   // SHA-256 of the key text, hex; never shown
    std::string project{};  // narrows the subject's rights to one project; empty: all of them
    std::vector<std::string> services{};  // public names it may call; empty: all its subject may
    bool inference_only = false;          // no control-plane rights
    std::int64_t requests_per_minute = 0; // 0: no limit
    std::int64_t concurrency = 64;        // requests in flight
    std::optional<Instant> expires{};
    bool revoked = false;
    bool operator==(const ApiKeySpec&) const = default;
};
struct ApiKey {
    static constexpr Kind kind = Kind::api_key;
    Meta meta{};
    ApiKeySpec spec{};
    bool operator==(const ApiKey&) const = default;
};

}  // namespace tandem::model
