// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of what server and gateways tell each other: leases, keys and
// routes.
#pragma once

#include "codec/describe.h"
#include "codec/describe_meta.h"
#include "model/feed.h"
#include "model/usage.h"

namespace tandem::codec {

void describe(auto& v, Of<model::LeaseAsk> auto& s) {
    v.field("keyId", s.key_id);
    v.field("rate", s.rate);
    v.field("concurrency", s.concurrency);
    v.field("sequence", s.sequence);
    v.field("answered", s.answered);
    v.field("heldRate", s.held_rate);
    v.field("heldConcurrency", s.held_concurrency);
}
void describe(auto& v, Of<model::LeaseGrant> auto& s) {
    v.field("keyId", s.key_id);
    v.field("rate", s.rate);
    v.field("concurrency", s.concurrency);
    v.field("expires", s.expires);
}
void describe(auto& v, Of<model::FeedKey> auto& s) {
    v.field("keyId", s.key_id);
    v.field("digest", s.digest);
    v.field("subject", s.subject);
    v.field("projects", s.projects);
    v.field("services", s.services);
    v.field("requestsPerMinute", s.requests_per_minute);
    v.field("concurrency", s.concurrency);
    v.field("expires", s.expires);
}
void describe(auto& v, Of<model::FeedReplica> auto& s) {
    v.field("uid", s.uid);
    v.field("name", s.name);
    v.field("epoch", s.epoch);
    v.field("endpoint", s.endpoint);
    v.field("key", s.key);
    v.field("modelVersion", s.model_version);
    v.field("draining", s.draining);
}
void describe(auto& v, Of<model::FeedService> auto& s) {
    v.field("uid", s.uid);
    v.field("publicName", s.public_name);
    v.field("project", s.project);
    v.field("namespace", s.name_space);
    v.field("name", s.name);
    v.field("phase", s.phase);
    v.field("concurrency", s.concurrency);
    v.field("created", s.created);
    v.field("trouble", s.trouble);
    v.field("nextTry", s.next_try);
    v.field("promptProgress", s.prompt_progress);
    v.field("usagePerChoice", s.usage_per_choice);
    v.field("replicas", s.replicas);
}
void describe(auto& v, Of<model::FeedUpdate> auto& s) {
    v.field("generation", s.generation);
    v.field("version", s.version);
    v.field("at", s.at);
    v.field("full", s.full);
    v.field("keys", s.keys);
    v.field("services", s.services);
    v.field("keysGone", s.keys_gone);
    v.field("servicesGone", s.services_gone);
}

}  // namespace tandem::codec
