// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of machines, devices, pools and queues.
#pragma once

#include "codec/describe.h"
#include "codec/describe_identity.h"
#include "codec/describe_meta.h"
#include "model/capacity.h"
#include "model/limits.h"
#include "model/queue.h"

namespace tandem::codec {

void describe(auto& v, Of<model::Fact> auto& s) {
    v.named("Fact");
    v.field("name", s.name);
    v.field("value", s.value);
    v.field("source", s.source, {.note = "where it was read"});
}

void describe(auto& v, Of<model::Device> auto& s) {
    v.named("Device");
    v.field("index", s.index);
    v.field("uuid", s.uuid);
    v.field("flavor", s.flavor);
    v.field("model", s.model);
    v.bytes("memory", s.memory_bytes);
    v.field("cores", s.cores, {.note = "a slice is pinned to these"});
    v.field("overCommitted", s.over_committed, {.note = "shares its cores with other slices"});
    v.field("healthy", s.healthy);
    v.field("takenBy", s.taken_by,
            {.note = "task of before a restore that sits on it: not given out until it is gone"});
}

void describe(auto& v, Of<model::NodeSpec> auto& s) {
    v.named("NodeSpec");
    v.field("unschedulable", s.unschedulable, {.note = "nothing new is placed there"});
    v.field("taints", s.taints, {.note = "keep away all work that doesn't tolerate each of them"});
}

void describe(auto& v, Of<model::NodeClosing> auto& s) {
    v.named("NodeClosing");
    v.field("maintenance", s.maintenance);
    v.field("reason", s.reason);
    v.field("from", s.from);
    v.field("until", s.until);
}

void describe(auto& v, Of<model::NodeStatus> auto& s) {
    v.named("NodeStatus");
    v.field("ready", s.ready);
    v.field("executor", s.executor);
    v.milli("cpu", s.cpu_milli);
    v.bytes("memory", s.memory_bytes);
    v.field("devices", s.devices);
    v.field("facts", s.facts);
    v.field("closing", s.closing, {.note = "the maintenance that is next, or at hand"});
}

void describe(auto& v, Of<model::PoolSpec> auto& s) {
    v.named("PoolSpec");
    v.field("form", s.form, {.note = "this release delivers shared and reserved"});
    v.field("projects", s.projects, {.note = "who may use it; empty: everybody"});
    v.field("from", s.from, {.note = "reserved: the shared pool it draws from"});
    v.field("flavor", s.flavor, {.note = "reserved: of which devices"});
    v.field("devices", s.devices,
            {.note = "reserved: whole devices", .min = 0, .max = model::limits::pool_devices_max});
    v.field("placement", s.placement, {.note = "how its nodes are filled"});
    v.field("topology", s.topology,
            {.note = "labels of nodes that make levels, widest first; a level is named by what "
                     "follows the last \"/\""});
}

void describe(auto& v, Of<model::HeldDevice> auto& s) {
    v.named("HeldDevice");
    v.field("node", s.node);
    v.field("index", s.index);
}

void describe(auto& v, Of<model::PoolStatus> auto& s) {
    v.named("PoolStatus");
    v.field("ready", s.ready);
    v.field("reason", s.reason);
    v.field("held", s.held);
}

void describe(auto& v, Of<model::FlavorQuota> auto& s) {
    v.named("FlavorQuota");
    v.field("flavor", s.flavor,
            {.note = "\"*\" covers every flavor without an entry", .required = true});
    v.quota("nominal", s.nominal, {.note = "the queue's own share"});
    v.quota("borrowLimit", s.borrow_limit,
            {.note = "how much it may borrow of others' idle share"});
    v.quota("lendLimit", s.lend_limit, {.note = "how much of its idle share others may borrow"});
    v.quota("max", s.max, {.note = "own and borrowed together"});
    v.field("weight", s.weight,
            {.note = "share of what is borrowed; 0: only what nobody weighted wants",
             .min = 0,
             .max = model::limits::weight_max});
}

void describe(auto& v, Of<model::QueuePreemption> auto& s) {
    v.named("QueuePreemption");
    v.field("withinQueue", s.within_queue, {.note = "from work of its own queue"});
    v.field("reclaim", s.reclaim, {.note = "for its nominal quota, from those who borrow"});
    v.field("fairShare", s.fair_share,
            {.note = "for its share of what is borrowed, from those with a larger share"});
    v.field("perMinute", s.per_minute,
            {.note = "evictions that work at and below it may cause; 0: no limit",
             .min = 0,
             .max = model::limits::evictions_max});
    v.field("burst", s.burst,
            {.note = "that many at once", .min = 1, .max = model::limits::evictions_max});
}

void describe(auto& v, Of<model::QueueSpec> auto& s) {
    v.named("QueueSpec");
    v.field("parent", s.parent, {.note = "empty: a root"});
    v.field("pool", s.pool, {.note = "leaves only", .keep = true});
    v.field("projects", s.projects, {.note = "who may submit; empty: everybody"});
    v.field("quotas", s.quotas);
    v.field("stop", s.stop,
            {.note = "hold: nothing new starts; holdAndDrain: its work leaves too"});
    v.field("preemption", s.preemption, {.note = "whom its work may ask to leave"});
    v.field("minRunTime", s.min_run_time, {.note = "its work is not asked to leave before"});
    v.field("usageHalfLife", s.usage_half_life,
            {.note = "past use counts in the order of borrowing; absent: as its parent"});
    v.field("limits", s.limits, {.note = "of all work at and below it"});
    v.field("perUser", s.per_user, {.note = "of each submitter's work at and below it"});
}

void describe(auto& v, Of<model::FlavorUse> auto& s) {
    v.named("FlavorUse");
    v.field("flavor", s.flavor);
    v.field("amount", s.amount, {.note = "milli-device-milliseconds x 2^32"});
    v.field("at", s.at);
}

void describe(auto& v, Of<model::QueueStatus> auto& s) {
    v.named("QueueStatus");
    v.field("used", s.used, {.note = "decayed use of its own work"});
    v.field("evictionsLeft", s.evictions_left, {.note = "in thousandths"});
    v.field("evictionsAt", s.evictions_at);
}

}  // namespace tandem::codec
