// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of metadata, keys, reasons and of the shape that all objects share.
#pragma once

#include "codec/describe.h"
#include "model/meta.h"
#include "model/object.h"
#include "model/reason.h"

namespace tandem::codec {

void describe(auto& v, Of<model::Meta> auto& s) {
    v.named("Metadata");
    v.internal("id", s.id);
    v.field("name", s.name, {.note = "unique per kind, project and namespace", .required = true});
    v.field("project", s.project, {.note = "empty where the kind has none"});
    v.field("namespace", s.name_space, {.note = "empty where the kind has none"});
    v.field("labels", s.labels, {.note = "for selectors"});
    v.field("annotations", s.annotations, {.note = "notes that Tandem does not read"});
    v.server_set("uid", s.uid, {.note = "never used twice"});
    v.field("generation", s.generation,
            {.note = "counts changes of spec; when sent and not 0 it must equal the stored one",
             .min = 0});
    v.server_set("resourceVersion", s.version,
                 {.note = "grows with every change of any object", .min = 0});
    v.server_set("createdAt", s.created);
    v.server_set("deletionRequestedAt", s.deletion_requested,
                 {.note = "set while the object is being ended"});
}

void describe(auto& v, Of<model::ObjectKey> auto& s) {
    v.named("ObjectKey");
    v.field("kind", s.kind, {.required = true});
    v.field("project", s.project);
    v.field("namespace", s.name_space);
    v.field("name", s.name, {.required = true});
}

void describe(auto& v, Of<model::Reason> auto& s) {
    v.named("Reason");
    v.field("code", s.code, {.required = true});
    v.field("params", s.params, {.note = "the numbers behind it, as text"});
}

// Every declarative object, apart from apiVersion and kind.
template <class S>
concept DeclaredObject = requires(S& s) {
    std::remove_const_t<S>::kind;
    s.meta;
    s.spec;
};
void describe(auto& v, DeclaredObject auto& s) {
    v.named(name_of(s.kind));
    v.field("metadata", s.meta, {.required = true});
    v.field("spec", s.spec);
    if constexpr (requires { s.status; }) v.server_set("status", s.status);
}

}  // namespace tandem::codec
