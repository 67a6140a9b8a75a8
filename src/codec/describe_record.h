// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of what is logged and counted: ticks, commands, inputs, intents,
// usage, events, audit rows and answers. Tickets find a waiting caller again and are not written.
#pragma once

#include "codec/describe.h"
#include "codec/describe_capacity.h"
#include "codec/describe_feed.h"
#include "codec/describe_meta.h"
#include "codec/describe_preview.h"
#include "codec/describe_work.h"
#include "model/batch.h"
#include "model/input.h"
#include "model/intent.h"
#include "model/usage.h"
#include "model/verdict.h"

namespace tandem::codec {

// --- commands and answers
// ---------------------------------------------------------------------------------
void describe(auto& v, Of<model::ApplyObject> auto& s) {
    v.named("ApplyObject");
    v.field("mode", s.mode);
    v.field("object", s.object);
}
template <class S>
concept KeyedAction =
    Of<S, model::DeleteObject> || Of<S, model::AdoptTask> || Of<S, model::EndTask>;
void describe(auto& v, KeyedAction auto& s) {
    v.field("key", s.key);
}
void describe(auto& v, Of<model::ActOnJob> auto& s) {
    v.field("key", s.key);
    v.field("act", s.act, {.keep = true});
    v.field("priority", s.priority);
}

void describe(auto& v, Of<model::Caller> auto& s) {
    v.named("Caller");
    v.field("subject", s.subject);
    v.field("keyId", s.key_id);
    v.field("requestId", s.request_id);
}
void describe(auto& v, Of<model::Command> auto& s) {
    v.named("Command");
    v.field("caller", s.caller);
    v.field("actions", s.actions);
    v.field("idempotencyKey", s.idempotency_key);
    v.field("bodyDigest", s.body_digest);
    v.field("dryRun", s.dry_run);
}
void describe(auto& v, Of<model::Outcome> auto& s) {
    v.named("Outcome");
    v.field("key", s.key);
    v.field("uid", s.uid);
    v.field("resourceVersion", s.version);
    v.field("generation", s.generation);
    v.field("created", s.created);
    v.field("changed", s.changed);
}
void describe(auto& v, Of<model::IdempotencyRow> auto& s) {
    v.named("IdempotencyRow");
    v.field("subject", s.subject);
    v.field("key", s.key);
    v.field("bodyDigest", s.body_digest);
    v.field("outcomes", s.outcomes);
    v.field("at", s.at);
}

// --- inputs
// -----------------------------------------------------------------------------------------------
void describe(auto& v, Of<model::Tick> auto& s) {
    v.named("Tick");
    v.field("now", s.now);
    v.field("seed", s.seed);
}
void describe(auto& v, Of<model::TaskStarted> auto& s) {
    v.field("task", s.task);
    v.field("handle", s.handle);
    v.field("endpoint", s.endpoint);
    v.field("at", s.at);
}
void describe(auto& v, Of<model::TaskExited> auto& s) {
    v.field("task", s.task);
    v.field("exit", s.exit);
    v.field("startError", s.start_error);
    v.field("lastOutput", s.last_output);
}
void describe(auto& v, Of<model::TaskGone> auto& s) {
    v.field("task", s.task);
    v.field("detail", s.detail);
}
void describe(auto& v, Of<model::TaskProgress> auto& s) {
    v.field("task", s.task);
    v.field("step", s.step);
    v.field("beat", s.beat);
    v.field("output", s.output);
}
void describe(auto& v, Of<model::CheckpointSeen> auto& s) {
    v.field("task", s.task);
    v.field("checkpoint", s.checkpoint);
}
void describe(auto& v, Of<model::OutputStored> auto& s) {
    v.field("task", s.task);
    v.field("outputs", s.outputs);
    v.field("error", s.error);
}
void describe(auto& v, Of<model::ListedTask> auto& s) {
    v.field("task", s.task);
    v.field("handle", s.handle);
    v.field("endpoint", s.endpoint);
    v.field("exit", s.exit);
    v.field("startError", s.start_error);
    v.field("lastOutput", s.last_output);
    v.field("node", s.node);
    v.field("devices", s.devices);
}
void describe(auto& v, Of<model::TasksListed> auto& s) {
    v.field("executor", s.executor);
    v.field("tasks", s.tasks);
}
void describe(auto& v, Of<model::NodeReported> auto& s) {
    v.field("name", s.name);
    v.field("status", s.status);
}
void describe(auto& v, Of<model::ReplicaProbed> auto& s) {
    v.field("task", s.task);
    v.field("ready", s.ready);
    v.field("detail", s.detail);
}
void describe(auto& v, Of<model::ServiceLoad> auto& s) {
    v.field("service", s.service);
    v.field("waiting", s.waiting);
    v.field("inFlight", s.in_flight);
}
void describe(auto& v, Of<model::GatewayLoad> auto& s) {
    v.field("gateway", s.gateway);
    v.field("services", s.services);
}
void describe(auto& v, Of<model::LeaseRequested> auto& s) {
    v.field("gateway", s.gateway);
    v.field("asks", s.asks);
}
void describe(auto& v, Of<model::UsageShipped> auto& s) {
    v.field("gateway", s.gateway);
    v.field("epoch", s.epoch);
    v.field("firstSequence", s.first_sequence);
    v.field("rows", s.rows);
}
void describe(auto& v, Of<model::DenialSeen> auto& s) {
    v.field("caller", s.caller);
    v.field("action", s.action);
    v.field("object", s.object);
    v.field("count", s.count);
}
void describe(auto&, Of<model::TimerFired> auto&) {}
void describe(auto& v, Of<model::ClockJumped> auto& s) { v.field("by", s.by); }
void describe(auto& v, Of<model::ErrandDone> auto& s) {
    v.field("caller", s.caller);
    v.field("action", s.action);
    v.field("object", s.object);
    v.field("rule", s.rule);
}

// --- intents
// ----------------------------------------------------------------------------------------------
void describe(auto& v, Of<model::StartTask> auto& s) {
    v.field("task", s.task);
    v.field("node", s.node);
    v.field("title", s.title);
    v.field("command", s.command);
    v.field("env", s.env);
    v.field("workingDirectory", s.working_directory);
    v.field("devices", s.devices);
    v.milli("cpu", s.cpu_milli);
    v.bytes("memory", s.memory_bytes);
    v.field("grace", s.grace);
    v.field("maxRunTime", s.max_run_time);
    v.field("watchPeriod", s.watch_period);
    v.field("wantsPort", s.wants_port);
    v.field("modelDigest", s.model_digest);
    v.field("wantsRendezvous", s.wants_rendezvous);
    v.field("worldSize", s.world_size);
    v.field("member", s.member);
    v.field("checkpoint", s.checkpoint);
    v.field("checkpointDirectory", s.checkpoint_directory);
    v.field("resumeFrom", s.resume_from);
    v.field("outputs", s.outputs);
}
void describe(auto& v, Of<model::StopTask> auto& s) {
    v.field("task", s.task);
    v.field("node", s.node);
    v.field("grace", s.grace);
}
void describe(auto& v, Of<model::ProbeReplica> auto& s) {
    v.field("task", s.task);
    v.field("endpoint", s.endpoint);
    v.field("model", s.model);
    v.field("timeout", s.timeout);
}
void describe(auto& v, Of<model::CollectOutputs> auto& s) {
    v.field("task", s.task);
    v.field("node", s.node);
    v.field("outputs", s.outputs);
}
void describe(auto& v, Of<model::Intent> auto& s) {
    v.field("id", s.id);
    v.field("opened", s.opened);
    v.field("body", s.body);
}

// --- rows
// -------------------------------------------------------------------------------------------------
void describe(auto& v, Of<model::EventRecord> auto& s) {
    v.named("Event");
    v.field("id", s.id);
    v.field("at", s.at);
    v.field("about", s.about);
    v.field("uid", s.uid);
    v.field("reason", s.reason);
}
void describe(auto& v, Of<model::AuditRecord> auto& s) {
    v.named("AuditRecord");
    v.field("sequence", s.sequence);
    v.field("at", s.at);
    v.field("caller", s.caller);
    v.field("action", s.action);
    v.field("object", s.object);
    v.field("allowed", s.allowed);
    v.field("rule", s.rule, {.note = "binding that allowed it, or what was missing"});
    v.field("count", s.count);
    v.field("hash", s.hash, {.note = "over the row before and this one"});
}
void describe(auto& v, Of<model::CoreMeta> auto& s) {
    v.field("generation", s.generation);
    v.field("segment", s.segment);
    v.field("batch", s.batch);
    v.field("nextId", s.next_id);
    v.field("version", s.version);
    v.field("auditSequence", s.audit_sequence);
    v.field("auditHead", s.audit_head);
    v.field("time", s.time);
    v.field("epochBase", s.epoch_base);
    v.field("restored", s.restored);
}
void describe(auto& v, Of<model::LiveTask> auto& s) {
    v.field("task", s.task);
    v.field("step", s.step, {.keep = true});
    v.field("beat", s.beat);
    v.field("output", s.output);
}
void describe(auto& v, Of<model::LiveStray> auto& s) {
    v.field("task", s.task);
    v.field("handle", s.handle);
    v.field("node", s.node);
    v.field("devices", s.devices);
}
void describe(auto& v, Of<model::LiveLoad> auto& s) {
    v.field("gateway", s.gateway);
    v.field("load", s.load);
}
void describe(auto& v, Of<model::LiveRequest> auto& s) {
    v.field("service", s.service);
    v.field("at", s.at);
}
void describe(auto& v, Of<model::LiveDenial> auto& s) {
    v.field("subject", s.subject);
    v.field("since", s.since);
    v.field("count", s.count);
}
void describe(auto& v, Of<model::LiveScale> auto& s) {
    v.field("service", s.service);
    v.field("lowSince", s.low_since);
    v.field("peak", s.peak);
}
void describe(auto& v, Of<model::LiveWake> auto& s) {
    v.field("workload", s.workload);
    v.field("at", s.at);
}
void describe(auto& v, Of<model::LiveMemory> auto& s) {
    v.field("recovering", s.recovering);
    v.field("tasks", s.tasks);
    v.field("strays", s.strays);
    v.field("loads", s.loads);
    v.field("requests", s.requests);
    v.field("denials", s.denials);
    v.field("scale", s.scale);
    v.field("wakes", s.wakes);
}
void describe(auto& v, Of<model::GatewayCursor> auto& s) {
    v.field("gateway", s.gateway);
    v.field("epoch", s.epoch);
    v.field("sequence", s.sequence);
}
void describe(auto& v, Of<model::Change> auto& s) {
    v.field("version", s.version);
    v.field("type", s.type);
    v.field("object", s.object);
    v.field("oldLabels", s.old_labels);
}
void describe(auto& v, Of<model::Remedy> auto& s) {
    v.named("Remedy");
    v.field("steps", s.steps, {.note = "all of them together"});
}
void describe(auto& v, Of<model::NodeFunnel> auto& s) {
    v.named("NodeFunnel");
    v.field("pool", s.pool);
    v.field("flavor", s.flavor);
    v.field("nodes", s.nodes, {.note = "of the whole installation"});
    v.field("withFlavor", s.with_flavor, {.note = "have devices of it that the pool owns"});
    v.field("usable", s.usable, {.note = "of those: ready and not closed"});
    v.field("admitted", s.admitted,
            {.note = "of those: labels, affinity, taints and other work let a replica go there"});
    v.field("withRoom", s.with_room, {.note = "of those: enough free devices for one replica"});
    v.field("inDomain", s.in_domain,
            {.note = "of those: in the topology domain with the most room"});
    v.field("cut", s.cut, {.note = "first step that leaves too few"});
    v.field("freeMilli", s.free_milli);
    v.field("totalMilli", s.total_milli);
}
void describe(auto& v, Of<model::Holder> auto& s) {
    v.named("Holder");
    v.internal("workload", s.workload);
    v.field("name", s.name, {.note = "empty: not yours"});
    v.field("queue", s.queue);
    v.field("flavor", s.flavor);
    v.field("milli", s.milli);
    v.field("priority", s.priority);
    v.field("preemptible", s.preemptible);
    v.field("leaving", s.leaving);
    v.field("units", s.units, {.note = "of the license or limit that binds"});
}
void describe(auto& v, Of<model::Verdict> auto& s) {
    v.named("Verdict");
    v.internal("workload", s.workload);
    v.field("reason", s.reason, {.note = "the first constraint that binds"});
    v.field("proved", s.proved);
    v.field("position", s.position, {.note = "1: next in its queue"});
    v.field("waiting", s.waiting, {.note = "workloads in its queue"});
    v.field("constraints", s.constraints, {.note = "all that bind"});
    v.field("funnels", s.funnels);
    v.field("protections", s.protections, {.note = "why running work is not asked to leave"});
    v.field("holders", s.holders, {.note = "who has what it asks for; the largest"});
    v.field("holdersMore", s.holders_more);
    v.field("remedies", s.remedies, {.note = "any one of them would let it start in its turn"});
}
void describe(auto& v, Of<model::UsageRecord> auto& s) {
    v.named("UsageRecord");
    v.field("id", s.id);
    v.field("state", s.state);
    v.field("from", s.from);
    v.field("to", s.to);
    v.field("milli", s.milli, {.note = "thousandths of a device"});
    v.field("node", s.node);
    v.field("device", s.device, {.note = "index on its node; -1: none"});
    v.field("flavor", s.flavor);
    v.field("pool", s.pool);
    v.field("queue", s.queue);
    v.field("project", s.project);
    v.field("namespace", s.name_space);
    v.field("ownerKind", s.owner_kind);
    v.field("ownerName", s.owner_name);
    v.field("ownerUid", s.owner_uid);
    v.field("replica", s.replica);
    v.field("epoch", s.epoch);
    v.field("serverAbsent", s.server_absent);
}
void describe(auto& v, Of<model::RequestUsage> auto& s) {
    v.named("RequestUsage");
    v.field("gateway", s.gateway);
    v.field("epoch", s.epoch, {.note = "of the gateway's journal"});
    v.field("sequence", s.sequence);
    v.field("requestId", s.request_id);
    v.field("at", s.at);
    v.field("keyId", s.key_id);
    v.field("subject", s.subject);
    v.field("project", s.project);
    v.field("namespace", s.name_space);
    v.field("service", s.service);
    v.field("serviceUid", s.service_uid);
    v.field("modelVersion", s.model_version);
    v.field("replica", s.replica);
    v.field("promptTokens", s.prompt_tokens);
    v.field("cachedTokens", s.cached_tokens);
    v.field("completionTokens", s.completion_tokens);
    v.field("status", s.status, {.note = "HTTP status that the caller saw"});
    v.field("ttftMs", s.ttft_ms);
    v.field("totalMs", s.total_ms);
    v.field("streamed", s.streamed);
    v.field("aborted", s.aborted);
    v.field("estimated", s.estimated,
            {.note = "completion tokens are pieces that the gateway counted"});
    v.field("promptEstimated", s.prompt_estimated,
            {.note = "prompt tokens are reckoned from the request's bytes"});
    v.field("gatewayLost", s.gateway_lost, {.note = "the gateway died over the call"});
}

}  // namespace tandem::codec
