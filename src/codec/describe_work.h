// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of replicas and jobs.
#pragma once

#include "codec/describe.h"
#include "codec/describe_meta.h"
#include "model/job.h"
#include "model/limits.h"
#include "model/work.h"

namespace tandem::codec {

void describe(auto& v, Of<model::NodeExpression> auto& s) {
    v.named("NodeExpression");
    v.field("label", s.label, {.note = "of the node", .required = true});
    v.field("op", s.op,
            {.note = "Exists and DoesNotExist take no values, Gt and Lt one whole number"});
    v.field("values", s.values);
}
void describe(auto& v, Of<model::NodePreference> auto& s) {
    v.named("NodePreference");
    v.field("weight", s.weight,
            {.note = "of the nodes with room, those with the largest sum come first",
             .min = 1,
             .max = 100});
    v.field("match", s.match, {.note = "all of them", .required = true});
}
void describe(auto& v, Of<model::NodeAffinity> auto& s) {
    v.named("NodeAffinity");
    v.field("required", s.required, {.note = "all of them"});
    v.field("preferred", s.preferred);
}
void describe(auto& v, Of<model::TopologySlice> auto& s) {
    v.named("TopologySlice");
    v.field(
        "size", s.size,
        {.note = "replicas of consecutive ranks", .min = 0, .max = model::limits::replicas_max});
    v.field("required", s.required, {.note = "level in one domain of which a slice must be"});
}
void describe(auto& v, Of<model::JobTopology> auto& s) {
    v.named("JobTopology");
    v.field("required", s.required, {.note = "level: all replicas in one domain of it"});
    v.field(
        "preferred", s.preferred,
        {.note = "level: likewise if one has room, else in the next wider one, at last anywhere"});
    v.field("balanced", s.balanced,
            {.note = "preferred: evenly over the fewest domains that will do"});
    v.field("slice", s.slice);
}
void describe(auto& v, Of<model::JobSpread> auto& s) {
    v.named("JobSpread");
    v.field("level", s.level, {.note = "empty: no spread"});
    v.field("maxSkew", s.max_skew,
            {.note = "by which replicas in any two domains of the level may differ",
             .min = 1,
             .max = model::limits::replicas_max});
}
void describe(auto& v, Of<model::WorkSelector> auto& s) {
    v.named("WorkSelector");
    v.field("level", s.level, {.keep = true});
    v.field("labels", s.labels,
            {.note = "that the other work's placing.labels must have", .required = true});
}
void describe(auto& v, Of<model::JobPlacing> auto& s) {
    v.named("JobPlacing");
    v.field("topology", s.topology);
    v.field("spread", s.spread);
    v.field("labels", s.labels,
            {.note = "by which near and apart of other jobs of the project select it"});
    v.field("near", s.near, {.note = "only into domains where such work is"});
    v.field("apart", s.apart,
            {.note = "never into domains where such work is, nor such work beside this"});
    v.field("sharing", s.sharing, {.note = "may replicas of this gang have shares of one device"});
}

void describe(auto& v, Of<model::Resources> auto& s) {
    v.named("Resources");
    v.milli("devices", s.devices,
            {.note = "of each replica; a fraction only below one",
             .min = 0,
             .max = model::limits::devices_milli_max});
    v.field("flavor", s.flavor,
            {.note = "kind of device; \"a|b,c\": either of a and b, else c; empty: any one"});
    v.milli("cpu", s.cpu_milli, {.min = 0, .max = model::limits::cpu_milli_max});
    v.bytes("memory", s.memory_bytes, {.min = 0, .max = model::limits::memory_bytes_max});
    v.field("nodeSelector", s.node_selector, {.note = "labels that its node must have"});
    v.field("tolerations", s.tolerations,
            {.note = "taints of nodes that don't keep it away; \"*\": none does"});
    v.field("nodeAffinity", s.node_affinity,
            {.note = "nodes that it must or should go to, by their labels"});
    v.bytes("deviceMemory", s.device_memory_bytes,
            {.note = "of a share's device; 0: its part of the device's memory",
             .min = 0,
             .max = model::limits::memory_bytes_max});
}

void describe(auto& v, Of<model::DeviceShare> auto& s) {
    v.named("DeviceShare");
    v.field("index", s.index);
    v.milli("amount", s.milli);
    v.bytes("memory", s.memory_bytes, {.note = "0: its part of the device's memory"});
}

void describe(auto& v, Of<model::ReplicaSpec> auto& s) {
    v.named("ReplicaSpec");
    v.field("ownerKind", s.owner_kind);
    v.internal("ownerId", s.owner_id);
    v.field("ownerUid", s.owner_uid);
    v.field("ownerName", s.owner_name);
    v.field("role", s.role);
    v.field("rank", s.rank);
    v.field("resources", s.resources);
    v.field("queue", s.queue);
    v.field("pool", s.pool);
    v.field("priority", s.priority);
    v.field("modelVersion", s.model_version, {.note = "services: what it serves"});
    v.field("revision", s.revision, {.note = "services: of the spec it was started by"});
}

void describe(auto& v, Of<model::TaskExit> auto& s) {
    v.named("TaskExit");
    v.field("code", s.code, {.note = "-1 when a signal ended it"});
    v.field("signal", s.signal);
    v.field("outOfMemory", s.out_of_memory);
    v.field("timedOut", s.timed_out, {.note = "ended by its maximum run time"});
    v.field("at", s.at);
    v.field("serverAbsent", s.server_absent, {.note = "no server lived at that time"});
    v.field("ran", s.ran, {.note = "by the monotonic clock"});
}

void describe(auto& v, Of<model::AttemptEnd> auto& s) {
    v.named("AttemptEnd");
    v.field("epoch", s.epoch);
    v.field("ranFrom", s.ran_from);
    v.field("exitAt", s.exit_at);
}
void describe(auto& v, Of<model::ReplicaStatus> auto& s) {
    v.named("ReplicaStatus");
    v.field("phase", s.phase);
    v.field("reason", s.reason);
    v.field("epoch", s.epoch, {.note = "grows with each start; a restore lets it jump"});
    v.field("starts", s.starts, {.note = "how often it was started"});
    v.field("taskGeneration", s.task_generation, {.note = "of the installation, at that start"});
    v.field("node", s.node);
    v.field("devices", s.devices);
    v.field("endpoint", s.endpoint);
    v.field("handle", s.handle);
    v.field("exit", s.exit);
    v.field("ranFrom", s.ran_from, {.note = "when its process began, as its shim recorded it"});
    v.field("lastAttempt", s.last_attempt,
            {.note = "the epoch before, when the row was taken over at once"});
    v.field("started", s.started);
    v.field("readySince", s.ready_since, {.note = "services: when it had generated its token"});
    v.field("finished", s.finished);
    v.field("draining", s.draining, {.note = "gets nothing new"});
    v.field("stopAt", s.stop_at, {.note = "when a draining replica is stopped"});
    v.field("surplus", s.surplus, {.note = "beyond what is needed: first to give way"});
}

void describe(auto& v, Of<model::JobRole> auto& s) {
    v.named("JobRole");
    v.field("name", s.name, {.keep = true});
    v.field("replicas", s.replicas,
            {.note = "ranks, all started together", .min = 1, .max = model::limits::replicas_max});
    v.field("minReplicas", s.min_replicas,
            {.note = "elastic: it starts with so many; 0: replicas",
             .min = 0,
             .max = model::limits::replicas_max});
    v.field("maxReplicas", s.max_replicas,
            {.note = "elastic: it has up to so many while nobody else wants the devices",
             .min = 0,
             .max = model::limits::replicas_max});
    v.field("resources", s.resources);
}

void describe(auto& v, Of<model::JobElastic> auto& s) {
    v.named("JobElastic");
    v.field("resize", s.resize,
            {.note = "live: members come and go; restart: all ranks start again; auto: restart "
                     "for torchrun"});
    v.field("growAfter", s.grow_after,
            {.note = "after it last changed; doubles while it shrinks again"});
}

void describe(auto& v, Of<model::JobRetries> auto& s) {
    v.named("JobRetries");
    v.field("limit", s.limit,
            {.note = "failed attempts that are tried again",
             .min = 0,
             .max = model::limits::retries_max});
    v.field("backoff", s.backoff, {.note = "doubles with each, at most 5m"});
}

void describe(auto& v, Of<model::JobCheckpoint> auto& s) {
    v.named("JobCheckpoint");
    v.field("enabled", s.enabled, {.note = "the program keeps to the checkpoint contract"});
    v.field("directory", s.directory, {.note = "empty: kept under the installation's home"});
    v.field("restartTime", s.restart_time,
            {.note = "from a start to the first new step; counts in the choice of who gives way"});
}

void describe(auto& v, Of<model::JobOutput> auto& s) {
    v.named("JobOutput");
    v.field("name", s.name, {.required = true});
    v.field("path", s.path, {.note = "relative to TANDEM_OUTPUT_DIR", .required = true});
}

void describe(auto& v, Of<model::JobDependency> auto& s) {
    v.named("JobDependency");
    v.field("job", s.job, {.note = "of the same project and namespace", .required = true});
    v.field("when", s.when, {.note = "what of it is waited for"});
}

void describe(auto& v, Of<model::JobArray> auto& s) {
    v.named("JobArray");
    v.field("count", s.count,
            {.note = "elements 0 to count-1; or give indices",
             .min = 0,
             .max = model::limits::array_elements_max});
    v.field("indices", s.indices, {.note = "which elements: \"0-9,20-40:5\""});
    v.field("maxRunning", s.max_running,
            {.note = "elements that hold capacity at once; 0: no cap",
             .min = 0,
             .max = model::limits::array_elements_max});
}

void describe(auto& v, Of<model::ArrayElement> auto& s) {
    v.named("ArrayElement");
    v.field("array", s.array);
    v.field("index", s.index);
    v.field("counted", s.counted, {.note = "as what its array counts it"});
}

void describe(auto& v, Of<model::ElementCounts> auto& s) {
    v.named("ElementCounts");
    v.field("total", s.total);
    v.field("made", s.made, {.note = "elements that exist as jobs by now"});
    v.field("pending", s.pending);
    v.field("running", s.running, {.note = "hold capacity, or may"});
    v.field("succeeded", s.succeeded);
    v.field("failed", s.failed);
    v.field("cancelled", s.cancelled);
}

void describe(auto& v, Of<model::PriorityOverride> auto& s) {
    v.named("PriorityOverride");
    v.field("priority", s.priority);
    v.field("by", s.by);
}

void describe(auto& v, Of<model::JobSpec> auto& s) {
    v.named("JobSpec");
    v.field("queue", s.queue, {.keep = true});
    v.field("priority", s.priority,
            {.note = "larger first",
             .min = -model::limits::priority_max,
             .max = model::limits::priority_max});
    v.field("template", s.form, {.note = "torchrun: every rank gets its environment contract"});
    v.field("command", s.command, {.note = "program and arguments", .required = true});
    v.field("env", s.env);
    v.field("workingDirectory", s.working_directory);
    v.field("roles", s.roles, {.note = "groups of ranks", .required = true});
    v.field("preemptible", s.preemptible, {.note = "more urgent work may take its devices"});
    v.field("grace", s.grace, {.note = "between TERM and KILL"});
    v.field("checkpoint", s.checkpoint);
    v.field("retries", s.retries);
    v.field("maxRunTime", s.max_run_time, {.note = "of one attempt"});
    v.field("heartbeatTimeout", s.heartbeat_timeout,
            {.note = "longest time without a change of TANDEM_PROGRESS_FILE"});
    v.field("silenceTimeout", s.silence_timeout, {.note = "longest time without output"});
    v.field("outputs", s.outputs, {.note = "files that are kept when it succeeds"});
    v.field("after", s.after, {.note = "other jobs to wait for, all of them; fixed once made"});
    v.field("array", s.array,
            {.note = "many alike: jobs NAME-INDEX, each with TANDEM_ARRAY_INDEX"});
    v.field("licenses", s.licenses, {.note = "by name of a License: so many, held while it runs"});
    v.field("suspend", s.suspend,
            {.note = "waits until this is false; a running job saves and stops"});
    v.field("whenBorrow", s.when_borrow,
            {.note = "next: the other flavors are tried before borrowing in this one"});
    v.field("whenPreempt", s.when_preempt, {.note = "preempt: before the other flavors are tried"});
    v.field("placing", s.placing,
            {.note = "where its replicas may be, together and beside others"});
    v.field("elastic", s.elastic, {.note = "of roles with maxReplicas"});
    v.field("reservation", s.reservation,
            {.note = "of a Reservation: runs on its devices while its window is open, waits for "
                     "the window else"});
}

void describe(auto& v, Of<model::CheckpointRecord> auto& s) {
    v.named("CheckpointRecord");
    v.field("step", s.step);
    v.field("path", s.path);
    v.field("digest", s.digest);
    v.field("at", s.at);
}

void describe(auto& v, Of<model::OutputRecord> auto& s) {
    v.named("OutputRecord");
    v.field("name", s.name);
    v.field("digest", s.digest);
    v.field("bytes", s.bytes);
}

void describe(auto& v, Of<model::JobStatus> auto& s) {
    v.named("JobStatus");
    v.field("phase", s.phase);
    v.field("reason", s.reason);
    v.field("ending", s.ending, {.note = "why the current attempt is being ended"});
    v.field("observedGeneration", s.observed_generation);
    v.field("epoch", s.epoch, {.note = "of the current or last start; a restore lets it jump"});
    v.field("starts", s.starts, {.note = "how often it was started"});
    v.field("failures", s.failures);
    v.field("preemptions", s.preemptions);
    v.field("stepsLost", s.steps_lost, {.note = "beyond the checkpoints resumed from"});
    v.field("checkpoint", s.checkpoint);
    v.field("outputs", s.outputs);
    v.field("notBefore", s.not_before);
    v.field("started", s.started);
    v.field("finished", s.finished);
    v.field("cancelRequested", s.cancel_requested);
    v.field("submittedBy", s.submitted_by);
    v.field("heldBy", s.held_by);
    v.field("order", s.order, {.note = "its place in the queue, when not by its creation"});
    v.field("afterMet", s.after_met, {.note = "jobs of spec.after it waits for no more"});
    v.field("priorityOverride", s.priority_override,
            {.note = "an operator's priority, in place of spec.priority"});
    v.field("forcedBy", s.forced_by, {.note = "starts whatever quotas and limits say"});
    v.field("element", s.element, {.note = "of an array"});
    v.field("elements", s.elements, {.note = "an array's, by phase"});
    v.field("replicas", s.replicas, {.note = "elastic: members that it has"});
    v.field("nextRank", s.next_rank, {.note = "elastic: of a member that joins this attempt"});
    v.field("shrinks", s.shrinks, {.note = "times it gave members, less than an hour apart"});
    v.field("resized", s.resized, {.note = "when it last gained or gave members"});
}

}  // namespace tandem::codec
