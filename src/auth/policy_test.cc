// SPDX-License-Identifier: Apache-2.0
#include "auth/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::auth {
namespace {

using model::Role;
using model::RoleBindingSpec;

SubjectFacts subject(Role role, std::string project = {}) {
    return {.subject = "user:ann",
            .bindings = {{.subject = "user:ann", .role = role, .project = std::move(project)}}};
}
bool may(const SubjectFacts& who, std::string_view permission, std::string_view project = {}) {
    return decide(who, *Permission::parse(permission), project).allowed;
}

TEST(Policy, permission_text_goes_both_ways) {
    for (std::string_view text :
         {"jobs.create", "logs.read", "services.invoke", "keys.delete", "admin.backup"}) {
        ASSERT_TRUE(Permission::parse(text)) << text;
        EXPECT_EQ(Permission::parse(text)->text(), text);
    }
    for (std::string_view text :
         {"", "jobs", "jobs.", ".read", "jobs.fly", "logs.create", "cars.read"}) {
        EXPECT_FALSE(Permission::parse(text)) << text;
    }
}

struct Row {
    std::string_view permission;
    // admin, operator, algorithm user, app caller, auditor, finance viewer: bound to the
    // installation
    std::string_view allowed;
};

TEST(Policy, table_of_roles_holds) {
    constexpr Role roles[] = {Role::platform_admin, Role::platform_operator, Role::algorithm_user,
                              Role::app_caller,     Role::auditor,           Role::finance_viewer};
    const Row rows[] = {
        {"jobs.create", "y-y---"},         {"jobs.read", "yyy-y-"},
        {"jobs.cancel", "yyy---"},         {"jobs.steer", "yyy---"},
        {"logs.read", "yyy---"},           {"services.create", "y-y---"},
        {"services.invoke", "y-yy--"},     {"models.read", "yyyyy-"},
        {"models.create", "y-y---"},       {"usage.read", "yyy-yy"},
        {"audit.read", "y---y-"},          {"keys.create", "y-----"},
        {"keys.read", "y---y-"},           {"nodes.update", "yy----"},
        {"nodes.read", "yyy-y-"},          {"pools.create", "yy----"},
        {"queues.update", "yy----"},       {"users.create", "y-----"},
        {"rolebindings.create", "y-----"}, {"admin.read", "yy----"},
        {"admin.backup", "y-----"},        {"admin.restore", "y-----"},
        {"projects.create", "y-----"},     {"replicas.read", "yyy-y-"},
        {"replicas.update", "yy----"},
    };
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < std::size(roles); ++i) {
            EXPECT_EQ(may(subject(roles[i]), row.permission, "vision"), row.allowed[i] == 'y')
                << row.permission << " for " << model::name_of(roles[i]);
        }
    }
}

TEST(Policy, nobody_without_a_binding_may_anything) {
    const SubjectFacts nobody{.subject = "user:ann",
                              .bindings = {{.subject = "user:bob", .role = Role::platform_admin}}};
    for (const Grant& grant : grants_of(Role::platform_admin)) {
        const Decision decision = decide(nobody, grant.permission, "vision");
        EXPECT_FALSE(decision.allowed) << grant.permission.text();
        EXPECT_THAT(decision.rule, testing::HasSubstr(grant.permission.text()));
    }
}

TEST(Policy, project_binding_reaches_its_project_alone) {
    const SubjectFacts ann = subject(Role::algorithm_user, "vision");
    EXPECT_TRUE(may(ann, "jobs.create", "vision"));
    EXPECT_EQ(decide(ann, {Area::jobs, Verb::create}, "vision").rule, "algorithm-user on vision");
    EXPECT_FALSE(may(ann, "jobs.create", "speech"));
    EXPECT_FALSE(may(ann, "jobs.read", "speech"));
    EXPECT_FALSE(may(ann, "jobs.create"));
    EXPECT_TRUE(may(ann, "queues.read"));  // shared things are seen by everybody who works here
    EXPECT_FALSE(may(ann, "queues.update"));
    EXPECT_FALSE(may(subject(Role::platform_admin, "vision"), "nodes.update"));
    EXPECT_FALSE(may(subject(Role::app_caller, "vision"), "services.invoke", "speech"));
}

TEST(Policy, key_only_takes_away) {
    SubjectFacts ann = subject(Role::platform_admin);
    ann.key = KeyNarrowing{.project = "vision"};
    EXPECT_TRUE(may(ann, "jobs.create", "vision"));
    EXPECT_FALSE(may(ann, "jobs.create", "speech"));
    EXPECT_FALSE(may(ann, "nodes.update"));
    ann.key = KeyNarrowing{.inference_only = true};
    EXPECT_TRUE(may(ann, "services.invoke", "vision"));
    EXPECT_TRUE(may(ann, "models.read", "vision"));
    EXPECT_FALSE(may(ann, "jobs.read", "vision"));
    SubjectFacts bob = subject(Role::finance_viewer);
    bob.key = KeyNarrowing{};
    EXPECT_FALSE(may(bob, "jobs.read", "vision"));
}

TEST(Policy, disabled_subject_may_nothing) {
    SubjectFacts ann = subject(Role::platform_admin);
    ann.disabled = true;
    EXPECT_FALSE(may(ann, "jobs.read", "vision"));
    EXPECT_FALSE(decide_key(ann, Verb::create, {.subject = "user:ann"}).allowed);
    EXPECT_TRUE(reach_of(ann, {Area::jobs, Verb::read}).projects.empty());
    EXPECT_FALSE(reach_of(ann, {Area::jobs, Verb::read}).everywhere);
}

TEST(Policy, reach_lists_where_a_permission_holds) {
    SubjectFacts ann = subject(Role::algorithm_user, "vision");
    ann.bindings.push_back({.subject = "user:ann", .role = Role::app_caller, .project = "speech"});
    ann.bindings.push_back(
        {.subject = "user:bob", .role = Role::algorithm_user, .project = "other"});
    EXPECT_THAT(reach_of(ann, {Area::jobs, Verb::read}).projects, testing::ElementsAre("vision"));
    EXPECT_THAT(reach_of(ann, {Area::services, Verb::invoke}).projects,
                testing::ElementsAre("speech", "vision"));
    EXPECT_TRUE(reach_of(subject(Role::auditor), {Area::jobs, Verb::read}).everywhere);
    ann = subject(Role::auditor);
    ann.key = KeyNarrowing{.project = "vision"};
    EXPECT_FALSE(reach_of(ann, {Area::jobs, Verb::read}).everywhere);
    EXPECT_THAT(reach_of(ann, {Area::jobs, Verb::read}).projects, testing::ElementsAre("vision"));
}

TEST(Policy, own_keys_are_own_business_others_are_not) {
    const SubjectFacts ann = subject(Role::app_caller, "vision");
    EXPECT_TRUE(decide_key(ann, Verb::create, {.subject = "user:ann"}).allowed);
    EXPECT_TRUE(decide_key(ann, Verb::remove, {.subject = "user:ann"}).allowed);
    EXPECT_FALSE(decide_key(ann, Verb::create, {.subject = "user:bob"}).allowed);
    EXPECT_FALSE(decide_key(ann, Verb::read, {.subject = "user:bob"}).allowed);
    EXPECT_FALSE(decide_key(subject(Role::platform_operator), Verb::create, {.subject = "user:bob"})
                     .allowed);
    EXPECT_TRUE(
        decide_key(subject(Role::platform_admin), Verb::create, {.subject = "user:bob"}).allowed);
    EXPECT_TRUE(decide_key(subject(Role::platform_admin, "vision"), Verb::create,
                           {.subject = "serviceaccount:vision/bot"})
                    .allowed);
    EXPECT_FALSE(decide_key(subject(Role::platform_admin, "vision"), Verb::create,
                            {.subject = "serviceaccount:speech/bot"})
                     .allowed);
    EXPECT_FALSE(decide_key({}, Verb::create, {}).allowed);
}

TEST(Policy, key_makes_no_wider_key) {
    SubjectFacts ann = subject(Role::algorithm_user);
    ann.key = KeyNarrowing{.project = "vision",
                           .services = {"chat"},
                           .requests_per_minute = 60,
                           .concurrency = 4,
                           .expires = Instant{1000}};
    const model::ApiKeySpec same{.subject = "user:ann",
                                 .project = "vision",
                                 .services = {"chat"},
                                 .requests_per_minute = 60,
                                 .concurrency = 4,
                                 .expires = Instant{1000}};
    EXPECT_TRUE(decide_key(ann, Verb::create, same).allowed);
    const auto refuses = [&](auto widen) {
        model::ApiKeySpec wish = same;
        widen(wish);
        return !decide_key(ann, Verb::create, wish).allowed &&
               !decide_key(ann, Verb::update, wish).allowed;
    };
    EXPECT_TRUE(refuses([](auto& key) { key.project = ""; }));
    EXPECT_TRUE(refuses([](auto& key) { key.project = "speech"; }));
    EXPECT_TRUE(refuses([](auto& key) { key.services = {}; }));
    EXPECT_TRUE(refuses([](auto& key) { key.services = {"chat", "other"}; }));
    EXPECT_TRUE(refuses([](auto& key) { key.requests_per_minute = 0; }));
    EXPECT_TRUE(refuses([](auto& key) { key.concurrency = 5; }));
    EXPECT_TRUE(refuses([](auto& key) { key.expires.reset(); }));
    EXPECT_TRUE(refuses([](auto& key) { key.expires = Instant{1001}; }));
    ann.key->inference_only = true;
    EXPECT_FALSE(decide_key(ann, Verb::create, same).allowed);
}

TEST(Policy, nobody_binds_a_role_above_the_own) {
    const SubjectFacts admin = subject(Role::platform_admin);
    const SubjectFacts project_admin = subject(Role::platform_admin, "vision");
    EXPECT_TRUE(
        decide_binding(admin, Verb::create, {.subject = "user:bob", .role = Role::platform_admin})
            .allowed);
    EXPECT_TRUE(
        decide_binding(project_admin, Verb::create,
                       {.subject = "user:bob", .role = Role::algorithm_user, .project = "vision"})
            .allowed);
    EXPECT_FALSE(decide_binding(project_admin, Verb::create,
                                {.subject = "user:bob", .role = Role::platform_admin})
                     .allowed);
    EXPECT_FALSE(
        decide_binding(project_admin, Verb::create,
                       {.subject = "user:bob", .role = Role::app_caller, .project = "speech"})
            .allowed);
    for (Role role : {Role::platform_operator, Role::algorithm_user, Role::auditor}) {
        EXPECT_FALSE(decide_binding(subject(role), Verb::create,
                                    {.subject = "user:ann", .role = Role::platform_admin})
                         .allowed);
    }
    SubjectFacts narrowed = admin;
    narrowed.key = KeyNarrowing{.project = "vision"};
    EXPECT_FALSE(decide_binding(narrowed, Verb::create,
                                {.subject = "user:ann", .role = Role::platform_admin})
                     .allowed);
}

TEST(Policy, invoking_needs_the_service_on_the_key) {
    SubjectFacts ann = subject(Role::app_caller, "vision");
    EXPECT_TRUE(decide_invoke(ann, "vision", "chat").allowed);
    ann.key = KeyNarrowing{.services = {"chat"}};
    EXPECT_TRUE(decide_invoke(ann, "vision", "chat").allowed);
    EXPECT_FALSE(decide_invoke(ann, "vision", "other").allowed);
    EXPECT_FALSE(decide_invoke(ann, "speech", "chat").allowed);
}

TEST(Policy, action_names_its_permission_and_project) {
    model::Job job;
    job.meta = {.name = "train", .project = "vision", .name_space = "default"};
    EXPECT_EQ(permission_of(model::ApplyObject{job}, false).text(), "jobs.create");
    EXPECT_EQ(permission_of(model::ApplyObject{job}, true).text(), "jobs.update");
    EXPECT_EQ(permission_of(model::DeleteObject{model::key_of(job)}, true).text(), "jobs.delete");
    EXPECT_EQ(permission_of(model::ActOnJob{}, true).text(), "jobs.cancel");
    EXPECT_EQ(permission_of(model::ActOnJob{.act = model::JobAct::retry}, true).text(),
              "jobs.retry");
    EXPECT_EQ(permission_of(model::ActOnJob{.act = model::JobAct::front}, true).text(),
              "jobs.steer");
    EXPECT_EQ(project_of(model::Object{job}), "vision");
    model::ApiKey key;
    key.spec.subject = "serviceaccount:vision/bot";
    EXPECT_EQ(project_of(model::Object{key}), "vision");
    EXPECT_TRUE(is_usable({.expires = Instant{5}}, Instant{4}));
    EXPECT_FALSE(is_usable({.expires = Instant{5}}, Instant{5}));
    EXPECT_FALSE(is_usable({.revoked = true}, Instant{4}));
}

}  // namespace
}  // namespace tandem::auth
