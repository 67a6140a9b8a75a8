// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of projects, namespaces, subjects, bindings and keys.
#pragma once

#include "codec/describe.h"
#include "model/identity.h"
#include "model/license.h"
#include "model/limits.h"

namespace tandem::codec {

void describe(auto& v, Of<model::WorkLimits> auto& s) {
    v.named("WorkLimits");
    v.field("submitted", s.submitted,
            {.note = "jobs that are not over, an array's elements one by one; more are refused; "
                     "absent: no limit",
             .min = 0,
             .max = model::limits::work_limit_max});
    v.field("running", s.running,
            {.note = "jobs that hold capacity; more wait; absent: no limit",
             .min = 0,
             .max = model::limits::work_limit_max});
    v.quota("devices", s.devices, {.note = "that they hold"});
}

void describe(auto& v, Of<model::LicenseSpec> auto& s) {
    v.named("LicenseSpec");
    v.field("title", s.title);
    v.field("count", s.count,
            {.note = "how many there are",
             .min = 0,
             .max = model::limits::license_count_max,
             .required = true});
    v.field("projects", s.projects, {.note = "who may use it; empty: everybody"});
}

void describe(auto& v, Of<model::ProjectSpec> auto& s) {
    v.named("ProjectSpec");
    v.field("title", s.title);
    v.field("dataOwner", s.data_owner, {.note = "who answers for the project's data"});
    v.field("failureContact", s.failure_contact, {.note = "who handles its failures"});
    v.field("limits", s.limits, {.note = "of all its work"});
    v.field("perUser", s.per_user, {.note = "of each submitter's work in it"});
}

void describe(auto& v, Of<model::NamespaceSpec> auto& s) {
    v.named("NamespaceSpec");
    v.field("title", s.title);
}

void describe(auto& v, Of<model::UserSpec> auto& s) {
    v.named("UserSpec");
    v.field("title", s.title);
    v.field("disabled", s.disabled, {.note = "its keys stop working"});
    v.field("limits", s.limits, {.note = "of what it submitted, in all projects"});
}

void describe(auto& v, Of<model::RoleBindingSpec> auto& s) {
    v.named("RoleBindingSpec");
    v.field("subject", s.subject,
            {.note = "user:NAME or serviceaccount:PROJECT/NAME", .required = true});
    v.field("role", s.role, {.required = true});
    v.field("project", s.project, {.note = "empty: the whole installation"});
}

void describe(auto& v, Of<model::ApiKeySpec> auto& s) {
    v.named("ApiKeySpec");
    v.field("subject", s.subject,
            {.note = "user:NAME or serviceaccount:PROJECT/NAME", .required = true});
    v.server_set("keyId", s.key_id, {.note = "the part of the key that is no secret"});
    v.internal("digest", s.digest);
    v.field("project", s.project, {.note = "narrows the subject's rights to one project"});
    v.field("services", s.services,
            {.note = "public names it may call; empty: all that its subject may"});
    v.field("inferenceOnly", s.inference_only, {.note = "no rights but to call services"});
    v.field("requestsPerMinute", s.requests_per_minute,
            {.note = "0: no limit", .min = 0, .max = model::limits::rate_max});
    v.field("concurrency", s.concurrency,
            {.note = "requests in flight", .min = 1, .max = model::limits::concurrency_max});
    v.field("expires", s.expires);
    v.field("revoked", s.revoked);
}

}  // namespace tandem::codec
