// SPDX-License-Identifier: Apache-2.0
// Who may do what: facts of a subject + a permission + a project -> a decision with the rule that
// decides. PURE. core asks it for every mutation (in the transaction of the audit row), api and
// gateway for reads and calls.
//
// Rules
//  1. Denied by default; only a binding allows, and a key can only take away.
//  2. A binding for a project reaches that project, and of installation-wide objects only those
//  that its role
//     may see everywhere (queues, pools, nodes, runtimes for reading).
//  3. A subject handles its own keys, and those it makes are never wider than the key it shows.
//  4. Nobody binds a role that holds a permission the binder lacks in that scope.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/command.h"
#include "model/identity.h"

namespace tandem::auth {

// What is acted on: the kinds in the order of model::Kind, then what is no object.
enum class Area : std::uint8_t {
    projects,
    namespaces,
    users,
    service_accounts,
    role_bindings,
    keys,
    nodes,
    pools,
    queues,
    runtimes,
    jobs,
    services,
    replicas,
    models,
    model_versions,
    licenses,
    reservations,
    maintenances,
    logs,
    events,
    usage,
    audit,
    admin,
};
inline constexpr std::size_t area_count = 23;
enum class Verb : std::uint8_t {
    read,
    create,
    update,
    remove,
    cancel,
    retry,
    steer,  // hold, release, suspend, resume, requeue, front
    invoke,
    backup,
    restore,
    overrule  // force, priority: against quotas, limits and others' turns
};
inline constexpr std::size_t verb_count = 11;

struct Permission {
    Area area = Area::jobs;
    Verb verb = Verb::read;
    auto operator<=>(const Permission&) const = default;

    std::string text() const;  // "jobs.create"; verb remove reads "delete"
    static std::optional<Permission> parse(std::string_view text);
};

constexpr Area area_of(model::Kind kind) {
    return static_cast<Area>(kind);
}
// The permission an action needs; an apply updates what exists and creates what does not.
Permission permission_of(const model::Action& action, bool exists);
// The project that decides for an object: of a key or binding the one it is for, else where the
// object lives.
std::string project_of(const model::Object& object);

// How the shown key narrows its subject.
struct KeyNarrowing {
    std::string project{};                // empty: all
    std::vector<std::string> services{};  // empty: all
    bool inference_only = false;
    std::int64_t requests_per_minute = 0;  // 0: no limit
    std::int64_t concurrency = 0;          // 0: no limit
    std::optional<Instant> expires{};
};
KeyNarrowing narrowing_of(const model::ApiKeySpec& key);
// Revoked keys and those past their expiry open nothing.
bool is_usable(const model::ApiKeySpec& key, Instant now);

struct SubjectFacts {
    std::string subject{};  // "user:admin"
    bool disabled = false;
    std::vector<model::RoleBindingSpec> bindings{};  // its own; others' are ignored
    std::optional<KeyNarrowing> key{};
};

struct Decision {
    bool allowed = false;
    std::string rule{};  // "platform-admin", "algorithm-user on vision", or what was missing
};

// May it, in that project (empty: an installation-wide object)?
Decision decide(const SubjectFacts& who, Permission permission, std::string_view project);

// Where it may: everywhere, or in these projects (sorted). For lists, watches and the gateway's
// feed.
struct Reach {
    bool everywhere = false;
    std::vector<std::string> projects{};
};
Reach reach_of(const SubjectFacts& who, Permission permission);

// A call of a service by its public name.
Decision decide_invoke(const SubjectFacts& who, std::string_view project,
                       std::string_view public_name);
// An act on a key: one's own, or with the permission for all keys. For create and update `key` is
// the wish.
Decision decide_key(const SubjectFacts& who, Verb verb, const model::ApiKeySpec& key);
// Making, changing or deleting a binding.
Decision decide_binding(const SubjectFacts& who, Verb verb, const model::RoleBindingSpec& binding);

// What a role holds, in order; `everywhere`: also on installation-wide objects through a project's
// binding.
struct Grant {
    Permission permission{};
    bool everywhere = false;
};
std::vector<Grant> grants_of(model::Role role);

}  // namespace tandem::auth
