// SPDX-License-Identifier: Apache-2.0
// Kinds of declarative objects and where they live. Wire forms: kind "Job", path "jobs", CLI word "job".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_names.h"

namespace tandem::model {

enum class Kind : std::uint8_t {
    project,
    name_space,
    user,
    service_account,
    role_binding,
    api_key,
    node,
    pool,
    queue,
    runtime,
    job,
    service,
    replica,
    model,
    model_version,
    license,
    reservation,
    maintenance,
};
inline constexpr std::size_t kind_count = 18;

template <>
struct EnumNames<Kind> {
    static constexpr std::string_view values[] = {
        "Project", "Namespace", "User",         "ServiceAccount", "RoleBinding", "ApiKey",
        "Node",    "Pool",      "Queue",        "Runtime",        "Job",         "Service",
        "Replica", "Model",     "ModelVersion", "License",        "Reservation", "Maintenance"};
};

enum class Scope : std::uint8_t { cluster, project, name_space };

struct KindInfo {
    Kind kind;
    std::string_view singular;  // CLI: "job"
    std::string_view plural;    // path: "jobs"
    Scope scope;
    bool read_only = false;     // made by the platform alone
};

// In the order of Kind. Namespaces and keys belong to a project or the installation as the scope says.
inline constexpr std::array<KindInfo, kind_count> kind_table{{
    {Kind::project, "project", "projects", Scope::cluster},
    {Kind::name_space, "namespace", "namespaces", Scope::project},
    {Kind::user, "user", "users", Scope::cluster},
    {Kind::service_account, "serviceaccount", "serviceaccounts", Scope::project},
    {Kind::role_binding, "rolebinding", "rolebindings", Scope::cluster},
    {Kind::api_key, "key", "keys", Scope::cluster},
    {Kind::node, "node", "nodes", Scope::cluster},
    {Kind::pool, "pool", "pools", Scope::cluster},
    {Kind::queue, "queue", "queues", Scope::cluster},
    {Kind::runtime, "runtime", "runtimes", Scope::cluster},
    {Kind::job, "job", "jobs", Scope::name_space},
    {Kind::service, "service", "services", Scope::name_space},
    {Kind::replica, "replica", "replicas", Scope::name_space, true},
    {Kind::model, "model", "models", Scope::name_space},
    {Kind::model_version, "modelversion", "modelversions", Scope::name_space},
    {Kind::license, "license", "licenses", Scope::cluster},
    {Kind::reservation, "reservation", "reservations", Scope::cluster},
    {Kind::maintenance, "maintenance", "maintenances", Scope::cluster},
}};

constexpr const KindInfo& info_of(Kind kind) { return kind_table[static_cast<std::size_t>(kind)]; }
std::optional<Kind> find_kind_by_plural(std::string_view plural);
// Accepts "Job", "job" and "jobs".
std::optional<Kind> find_kind_by_word(std::string_view word);

}  // namespace tandem::model
