// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of questions about a change that nobody makes, and of their
// answers.
#pragma once

#include "codec/describe.h"
#include "codec/describe_meta.h"
#include "model/what_if.h"

namespace tandem::codec {

void describe(auto& v, Of<model::NodesAdded> auto& s) {
    v.named("NodesAdded");
    v.field("name", s.name, {.note = "of several: NAME-1, NAME-2, ...", .required = true});
    v.field("count", s.count, {.min = 1, .max = model::what_if_nodes_max});
    v.field("like", s.like,
            {.note = "a node that is there and that they are like; nothing else is given then"});
    v.field("devices", s.devices, {.note = "of each", .min = 0, .max = 1024});
    v.field("flavor", s.flavor, {.note = "of its devices"});
    v.milli("cpu", s.cpu_milli);
    v.bytes("memory", s.memory_bytes);
    v.field("labels", s.labels);
    v.field("taints", s.taints);
}
void describe(auto& v, Of<model::PriorityAsked> auto& s) {
    v.named("PriorityAsked");
    v.field("kind", s.kind, {.note = "Job or Service"});
    v.field("project", s.project);
    v.field("namespace", s.name_space);
    v.field("name", s.name, {.required = true});
    v.field("priority", s.priority, {.min = -1000, .max = 1000});
}
// Beside `actions`, which are those of the batch route.
void describe(auto& v, Of<model::WhatIf> auto& s) {
    v.named("WhatIf");
    v.field("horizon", s.horizon, {.note = "how far to look, at most 31 days"});
    v.field("addNodes", s.add_nodes);
    v.field("drain", s.drain, {.note = "nodes that take nothing new, and that all leave"});
    v.field("priorities", s.priorities);
}

void describe(auto& v, Of<model::ForeseenStart> auto& s) {
    v.named("ForeseenStart");
    v.field("at", s.at);
    v.field("basis", s.basis, {.keep = true});
}
void describe(auto& v, Of<model::ForeseenEviction> auto& s) {
    v.named("ForeseenEviction");
    v.field("at", s.at);
    v.field("reason", s.reason, {.note = "with who takes the place, and the device-time lost"});
}
void describe(auto& v, Of<model::ForeseenWork> auto& s) {
    v.named("ForeseenWork");
    v.field("object", s.object);
    v.field("queue", s.queue);
    v.field("added", s.added, {.note = "by the change"});
    v.field("start", s.start);
    v.field("noStart", s.no_start, {.note = "why none can be said"});
    v.field("waits", s.waits, {.note = "why it would still wait then"});
    v.field("startBefore", s.start_before, {.note = "without the change"});
    v.field("noStartBefore", s.no_start_before);
    v.field("evictions", s.evictions);
    v.field("evictionsBefore", s.evictions_before, {.note = "without the change"});
}
void describe(auto& v, Of<model::ForeseenSum> auto& s) {
    v.named("ForeseenSum");
    v.field("startsNow", s.starts_now);
    v.field("startsLater", s.starts_later);
    v.field("waits", s.waits);
    v.field("evictions", s.evictions);
    v.field("until", s.until, {.note = "how far was looked"});
    v.field("complete", s.complete,
            {.note = "the whole horizon; false: looking further would have taken too long"});
}
void describe(auto& v, Of<model::Foresight> auto& s) {
    v.named("Foresight");
    v.field("resourceVersion", s.version, {.note = "of the commit that it starts from"});
    v.field("at", s.at);
    v.field("after", s.after);
    v.field("before", s.before, {.note = "without the change; absent when none was asked for"});
    v.field("work", s.work, {.note = "whom the change touches; without one, all that wait"});
    v.field("more", s.more, {.note = "beyond those shown"});
    v.field("ofOthers", s.of_others, {.note = "that you may not see"});
}

}  // namespace tandem::codec
