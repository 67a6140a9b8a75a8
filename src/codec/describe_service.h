// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of models, their versions, runtimes and services.
#pragma once

#include "codec/describe.h"
#include "codec/describe_work.h"
#include "model/limits.h"
#include "model/service.h"

namespace tandem::codec {

void describe(auto& v, Of<model::ModelSpec> auto& s) {
    v.named("ModelSpec");
    v.field("title", s.title);
    v.field("dataOwner", s.data_owner, {.note = "who answers for the model's data"});
    v.field("failureContact", s.failure_contact, {.note = "who handles its failures"});
}

void describe(auto& v, Of<model::ModelFacts> auto& s) {
    v.named("ModelFacts");
    v.field("architecture", s.architecture);
    v.field("quantisation", s.quantisation);
    v.field("contextLength", s.context_length);
    v.field("parameters", s.parameters);
    v.field("tensors", s.tensors);
}

void describe(auto& v, Of<model::ModelVersionSpec> auto& s) {
    v.named("ModelVersionSpec");
    v.field("model", s.model, {.required = true});
    v.field("number", s.number,
            {.note = "1, 2, ...; the object's name is MODEL.vNUMBER", .min = 1});
    v.field("digest", s.digest, {.note = "sha256:HEX", .required = true});
    v.field("bytes", s.bytes, {.min = 0});
    v.field("format", s.format, {.keep = true});
    v.field("facts", s.facts, {.note = "read from the file's header"});
    v.field("sourceJob", s.source_job, {.note = "uid of the job that made it"});
}

void describe(auto& v, Of<model::RuntimeSpec> auto& s) {
    v.named("RuntimeSpec");
    v.field("command", s.command,
            {.note = "may hold {model}, {port}, {alias} and other placeholders", .required = true});
    v.field("env", s.env);
    v.field("format", s.format, {.note = "of the weights it reads", .keep = true});
    v.field("readyTimeout", s.ready_timeout);
    v.field("promptProgress", s.prompt_progress,
            {.note = "streams may be asked for return_progress, as llama.cpp's server knows it"});
    v.field("usagePerChoice", s.usage_per_choice,
            {.note = "of several choices its server tells the usage of one, or of each in a stream"});
}

void describe(auto& v, Of<model::ServiceScale> auto& s) {
    v.named("ServiceScale");
    v.field("min", s.min,
            {.note = "0: sleeps while nobody calls", .min = 0, .max = model::limits::scale_max});
    v.field("max", s.max, {.min = 1, .max = model::limits::scale_max});
    v.field("concurrency", s.concurrency,
            {.note = "requests in flight that one replica takes",
             .min = 1,
             .max = model::limits::concurrency_max});
    v.field("idleTimeout", s.idle_timeout, {.note = "without a request: down to min"});
}

void describe(auto& v, Of<model::ServiceSpec> auto& s) {
    v.named("ServiceSpec");
    v.field("queue", s.queue, {.keep = true});
    v.field("priority", s.priority,
            {.note = "larger first",
             .min = -model::limits::priority_max,
             .max = model::limits::priority_max});
    v.field("model", s.model, {.required = true});
    v.field("version", s.version, {.note = "0: the newest", .min = 0});
    v.field("runtime", s.runtime, {.keep = true});
    v.field("publicName", s.public_name,
            {.note = "what callers write as \"model\"; empty: the service's name"});
    v.field("resources", s.resources);
    v.field("replicas", s.replicas);
    v.field("contextLength", s.context_length,
            {.min = 1, .max = model::limits::context_length_max});
    v.field("threads", s.threads, {.min = 1, .max = model::limits::threads_max});
    v.field("env", s.env);
    v.field("readyTimeout", s.ready_timeout, {.note = "0s: the runtime's"});
    v.field("drainTimeout", s.drain_timeout);
    v.field("preemptible", s.preemptible,
            {.note = "what it has above its floor may be asked to leave"});
}

void describe(auto& v, Of<model::ReplicaEnd> auto& s) {
    v.named("ReplicaEnd");
    v.field("replica", s.replica);
    v.field("task", s.task);
    v.field("wasReady", s.was_ready);
    v.field("at", s.at);
    v.field("reason", s.reason);
}

void describe(auto& v, Of<model::ServiceStatus> auto& s) {
    v.named("ServiceStatus");
    v.field("phase", s.phase);
    v.field("reason", s.reason);
    v.field("observedGeneration", s.observed_generation);
    v.field("desired", s.desired);
    v.field("ready", s.ready);
    v.field("servingVersion", s.serving_version);
    v.field("targetVersion", s.target_version, {.note = "differs while updating"});
    v.field("refusedVersion", s.refused_version,
            {.note = "given up on; not tried again until another is wanted"});
    v.field("servingRevision", s.serving_revision, {.note = "of what replicas are started by"});
    v.field("targetRevision", s.target_revision, {.note = "differs while updating"});
    v.field("refusedRevision", s.refused_revision, {.note = "given up on"});
    v.field("startsFailed", s.starts_failed, {.note = "in a row"});
    v.field("lastFailure", s.last_failure, {.note = "the newest replica that ended unasked"});
    v.field("notBefore", s.not_before);
    v.field("nextRank", s.next_rank);
}

}  // namespace tandem::codec
