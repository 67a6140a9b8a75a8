// SPDX-License-Identifier: Apache-2.0
#include "auth/policy.h"

#include <algorithm>
#include <array>
#include <span>

namespace tandem::auth {
namespace {

constexpr std::array<std::string_view, area_count> area_names{
    "projects", "namespaces", "users",         "serviceaccounts", "rolebindings", "keys",
    "nodes",    "pools",      "queues",        "runtimes",        "jobs",         "services",
    "replicas", "models",     "modelversions", "licenses",        "reservations", "maintenances",
    "logs",     "events",     "usage",         "audit",           "admin"};
constexpr std::array<std::string_view, verb_count> verb_names{
    "read",  "create", "update", "delete",  "cancel",  "retry",
    "steer", "invoke", "backup", "restore", "overrule"};

using Verbs = std::uint16_t;
constexpr Verbs bit(Verb verb) {
    return static_cast<Verbs>(1U << static_cast<unsigned>(verb));
}
constexpr Verbs read_only = bit(Verb::read);
constexpr Verbs edit = bit(Verb::read) | bit(Verb::create) | bit(Verb::update) | bit(Verb::remove);
constexpr Verbs steer = bit(Verb::cancel) | bit(Verb::retry) | bit(Verb::steer);

struct Rule {
    Area area;
    Verbs verbs;
    bool everywhere = false;
};

constexpr Verbs verbs_that_exist(Area area) {
    switch (area) {
        case Area::jobs:
            return static_cast<Verbs>(edit | steer | bit(Verb::overrule));
        case Area::services:
            return edit | bit(Verb::invoke);
        case Area::replicas:
            return read_only | bit(Verb::update);
        case Area::logs:
        case Area::events:
        case Area::usage:
        case Area::audit:
            return read_only;
        case Area::admin:
            return read_only | bit(Verb::backup) | bit(Verb::restore);
        default:
            return edit;
    }
}

// Runs the machines and everybody's work; sees no keys, no logs, no audit trail, and makes nobody
// mightier.
constexpr std::array operator_rules{
    Rule{Area::projects, read_only},
    Rule{Area::namespaces, read_only},
    Rule{Area::users, read_only},
    Rule{Area::service_accounts, read_only},
    Rule{Area::role_bindings, read_only},
    Rule{Area::nodes, edit},
    Rule{Area::pools, edit},
    Rule{Area::queues, edit},
    Rule{Area::runtimes, edit},
    Rule{Area::licenses, edit},
    Rule{Area::reservations, edit},
    Rule{Area::maintenances, edit},
    Rule{Area::jobs,
         static_cast<Verbs>(read_only | bit(Verb::update) | steer | bit(Verb::overrule))},
    Rule{Area::services, static_cast<Verbs>(read_only | bit(Verb::update))},
    Rule{Area::replicas, static_cast<Verbs>(read_only | bit(Verb::update))},
    Rule{Area::models, read_only},
    Rule{Area::model_versions, read_only},
    Rule{Area::logs, read_only},
    Rule{Area::events, read_only},
    Rule{Area::usage, read_only},
    Rule{Area::admin, read_only}};
constexpr std::array algorithm_user_rules{
    Rule{Area::projects, read_only},
    Rule{Area::namespaces, edit},
    Rule{Area::service_accounts, read_only},
    Rule{Area::nodes, read_only, true},
    Rule{Area::pools, read_only, true},
    Rule{Area::queues, read_only, true},
    Rule{Area::runtimes, read_only, true},
    Rule{Area::licenses, read_only, true},
    Rule{Area::reservations, read_only, true},
    Rule{Area::maintenances, read_only, true},
    Rule{Area::jobs, static_cast<Verbs>(edit | steer)},
    Rule{Area::services, static_cast<Verbs>(edit | bit(Verb::invoke))},
    Rule{Area::replicas, read_only},
    Rule{Area::models, edit},
    Rule{Area::model_versions, edit},
    Rule{Area::logs, read_only},
    Rule{Area::events, read_only},
    Rule{Area::usage, read_only}};
constexpr std::array app_caller_rules{Rule{Area::services, bit(Verb::invoke)},
                                      Rule{Area::models, read_only}};
// Sees how everything stands and who did it; what tasks print and what keys open is not its
// business.
constexpr std::array auditor_rules{
    Rule{Area::projects, read_only},       Rule{Area::namespaces, read_only},
    Rule{Area::users, read_only},          Rule{Area::service_accounts, read_only},
    Rule{Area::role_bindings, read_only},  Rule{Area::keys, read_only},
    Rule{Area::nodes, read_only, true},    Rule{Area::pools, read_only, true},
    Rule{Area::queues, read_only, true},   Rule{Area::runtimes, read_only, true},
    Rule{Area::licenses, read_only, true}, Rule{Area::reservations, read_only, true},
    Rule{Area::maintenances, read_only, true}, Rule{Area::jobs, read_only},
    Rule{Area::services, read_only},       Rule{Area::replicas, read_only},
    Rule{Area::models, read_only},         Rule{Area::model_versions, read_only},
    Rule{Area::events, read_only},         Rule{Area::usage, read_only},
    Rule{Area::audit, read_only}};
constexpr std::array finance_viewer_rules{Rule{Area::usage, read_only}};

constexpr std::array<Rule, area_count> make_admin_rules() {
    std::array<Rule, area_count> rules{};
    for (std::size_t i = 0; i < area_count; ++i) {
        rules[i] = {static_cast<Area>(i), verbs_that_exist(static_cast<Area>(i))};
    }
    return rules;
}
constexpr std::array<Rule, area_count> admin_rules = make_admin_rules();

std::span<const Rule> rules_of(model::Role role) {
    switch (role) {
        case model::Role::platform_admin:
            return admin_rules;
        case model::Role::platform_operator:
            return operator_rules;
        case model::Role::algorithm_user:
            return algorithm_user_rules;
        case model::Role::app_caller:
            return app_caller_rules;
        case model::Role::auditor:
            return auditor_rules;
        case model::Role::finance_viewer:
            return finance_viewer_rules;
    }
    return {};
}

const Rule* find_rule(model::Role role, Permission permission) {
    for (const Rule& rule : rules_of(role)) {
        if (rule.area == permission.area && (rule.verbs & bit(permission.verb)) != 0) return &rule;
    }
    return nullptr;
}

std::string describe(const model::RoleBindingSpec& binding) {
    std::string text(model::name_of(binding.role));
    if (!binding.project.empty()) text += " on " + binding.project;
    return text;
}

std::string describe_missing(const SubjectFacts& who, Permission permission,
                             std::string_view project) {
    std::string text = "no role of " + (who.subject.empty() ? std::string("nobody") : who.subject) +
                       " holds " + permission.text();
    return project.empty() ? text + " for the installation" : text + " on " + std::string(project);
}

bool is_of_key(const KeyNarrowing& key, Permission permission) {
    return !key.inference_only || permission.verb == Verb::invoke ||
           permission == Permission{Area::models, Verb::read};
}

// The project part of "serviceaccount:PROJECT/NAME"; empty for users.
std::string project_of_subject(std::string_view subject) {
    constexpr std::string_view prefix = "serviceaccount:";
    if (!subject.starts_with(prefix)) return {};
    subject.remove_prefix(prefix.size());
    return std::string(subject.substr(0, subject.find('/')));
}

bool includes_services(const KeyNarrowing& wide, const std::vector<std::string>& services) {
    if (wide.services.empty()) return true;
    return !services.empty() && std::ranges::all_of(services, [&](const std::string& name) {
        return std::ranges::find(wide.services, name) != wide.services.end();
    });
}

// What of `wish` goes beyond the key that was shown; empty: nothing.
std::string widening_of(const KeyNarrowing& shown, const model::ApiKeySpec& wish) {
    if (!shown.project.empty() && wish.project != shown.project) {
        return "the key shown is for project " + shown.project + " only";
    }
    if (!includes_services(shown, wish.services)) return "the key shown is for fewer services";
    if (shown.requests_per_minute > 0 &&
        (wish.requests_per_minute == 0 || wish.requests_per_minute > shown.requests_per_minute)) {
        return "the key shown allows fewer requests per minute";
    }
    if (shown.concurrency > 0 && wish.concurrency > shown.concurrency) {
        return "the key shown allows fewer requests in flight";
    }
    if (shown.expires && (!wish.expires || *wish.expires > *shown.expires)) {
        return "the key shown expires earlier";
    }
    return {};
}

}  // namespace

std::string Permission::text() const {
    return std::string(area_names[static_cast<std::size_t>(area)]) + "." +
           std::string(verb_names[static_cast<std::size_t>(verb)]);
}

std::optional<Permission> Permission::parse(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto area = std::ranges::find(area_names, text.substr(0, dot));
    const auto verb = std::ranges::find(verb_names, text.substr(dot + 1));
    if (area == area_names.end() || verb == verb_names.end()) return std::nullopt;
    const Permission found{static_cast<Area>(area - area_names.begin()),
                           static_cast<Verb>(verb - verb_names.begin())};
    if ((verbs_that_exist(found.area) & bit(found.verb)) == 0) return std::nullopt;
    return found;
}

Permission permission_of(const model::Action& action, bool exists) {
    if (const auto* apply = std::get_if<model::ApplyObject>(&action)) {
        return {area_of(model::kind_of(apply->object)), exists ? Verb::update : Verb::create};
    }
    if (const auto* gone = std::get_if<model::DeleteObject>(&action))
        return {area_of(gone->key.kind), Verb::remove};
    const auto* act = std::get_if<model::ActOnJob>(&action);
    // Adopting and ending what a restore has left in doubt.
    if (act == nullptr) return {Area::replicas, Verb::update};
    switch (act->act) {
        case model::JobAct::cancel:
            return {Area::jobs, Verb::cancel};
        case model::JobAct::retry:
            return {Area::jobs, Verb::retry};
        case model::JobAct::force:
        case model::JobAct::priority:
            return {Area::jobs, Verb::overrule};
        default:
            return {Area::jobs, Verb::steer};
    }
}

std::string project_of(const model::Object& object) {
    if (const auto* project = std::get_if<model::Project>(&object)) return project->meta.name;
    if (const auto* binding = std::get_if<model::RoleBinding>(&object))
        return binding->spec.project;
    if (const auto* key = std::get_if<model::ApiKey>(&object))
        return project_of_subject(key->spec.subject);
    return model::meta_of(object).project;
}

KeyNarrowing narrowing_of(const model::ApiKeySpec& key) {
    return {.project = key.project,
            .services = key.services,
            .inference_only = key.inference_only,
            .requests_per_minute = key.requests_per_minute,
            .concurrency = key.concurrency,
            .expires = key.expires};
}

bool is_usable(const model::ApiKeySpec& key, Instant now) {
    return !key.revoked && (!key.expires || now < *key.expires);
}

Decision decide(const SubjectFacts& who, Permission permission, std::string_view project) {
    if (who.disabled) return {false, who.subject + " is disabled"};
    if (who.key && !is_of_key(*who.key, permission)) {
        return {false,
                "the key is for inference only; " + permission.text() + " needs a key that is not"};
    }
    for (const model::RoleBindingSpec& binding : who.bindings) {
        if (binding.subject != who.subject) continue;
        const Rule* rule = find_rule(binding.role, permission);
        if (rule == nullptr) continue;
        const bool shared = project.empty() && rule->everywhere;
        if (!binding.project.empty() && binding.project != project && !shared) continue;
        // A narrowed key acts as if all bindings were for its project.
        if (who.key && !who.key->project.empty() && who.key->project != project && !shared) {
            return {false, "the key is for project " + who.key->project + " only"};
        }
        return {true, describe(binding)};
    }
    return {false, describe_missing(who, permission, project)};
}

Reach reach_of(const SubjectFacts& who, Permission permission) {
    Reach reach;
    const std::string only = who.key ? who.key->project : std::string{};
    for (const model::RoleBindingSpec& binding : who.bindings) {
        if (binding.project.empty() && only.empty()) {
            if (decide({.subject = who.subject,
                        .disabled = who.disabled,
                        .bindings = {binding},
                        .key = who.key},
                       permission, {})
                    .allowed) {
                return {.everywhere = true};
            }
        } else {
            const std::string& project = only.empty() ? binding.project : only;
            if (decide(who, permission, project).allowed) reach.projects.push_back(project);
        }
    }
    std::ranges::sort(reach.projects);
    reach.projects.erase(std::ranges::unique(reach.projects).begin(), reach.projects.end());
    return reach;
}

Decision decide_invoke(const SubjectFacts& who, std::string_view project,
                       std::string_view public_name) {
    Decision decision = decide(who, {Area::services, Verb::invoke}, project);
    if (!decision.allowed || !who.key || who.key->services.empty()) return decision;
    if (std::ranges::find(who.key->services, public_name) != who.key->services.end())
        return decision;
    return {false, "the key is not for service " + std::string(public_name)};
}

Decision decide_key(const SubjectFacts& who, Verb verb, const model::ApiKeySpec& key) {
    const Permission permission{Area::keys, verb};
    if (who.disabled) return {false, who.subject + " is disabled"};
    if (who.key && who.key->inference_only) return decide(who, permission, {});
    const bool is_own = !who.subject.empty() && key.subject == who.subject;
    Decision decision = is_own ? Decision{true, "own key"}
                               : decide(who, permission, project_of_subject(key.subject));
    const bool widens = verb == Verb::create || verb == Verb::update;
    if (!decision.allowed || !widens || !who.key) return decision;
    if (std::string wider = widening_of(*who.key, key); !wider.empty()) return {false, wider};
    return decision;
}

Decision decide_binding(const SubjectFacts& who, Verb verb, const model::RoleBindingSpec& binding) {
    const Decision decision = decide(who, {Area::role_bindings, verb}, binding.project);
    if (!decision.allowed || verb == Verb::read) return decision;
    for (const Grant& grant : grants_of(binding.role)) {
        if (decide(who, grant.permission, binding.project).allowed) continue;
        return {false, std::string(model::name_of(binding.role)) + " holds " +
                           grant.permission.text() + ", which " + who.subject + " lacks there"};
    }
    return decision;
}

std::vector<Grant> grants_of(model::Role role) {
    std::vector<Grant> grants;
    for (const Rule& rule : rules_of(role)) {
        for (std::size_t v = 0; v < verb_count; ++v) {
            if ((rule.verbs & bit(static_cast<Verb>(v))) == 0) continue;
            grants.push_back({{rule.area, static_cast<Verb>(v)}, rule.everywhere});
        }
    }
    return grants;
}

}  // namespace tandem::auth
