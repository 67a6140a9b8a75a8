// SPDX-License-Identifier: Apache-2.0
// What a gateway knows: keys and routes, as one snapshot with a generation, then deltas of the same shape.
// JSON over the feed: encode and decode of codec/record.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/phase.h"
#include "model/reason.h"

namespace tandem::model {

struct FeedKey {
    std::string key_id{};
    std::string digest{};                 // SHA-256 of the key text, hex
    std::string subject{};
    std::vector<std::string> projects{};  // where it may call services; "*" for all
    std::vector<std::string> services{};  // public names; empty: all of those projects
    std::int64_t requests_per_minute = 0;
    std::int64_t concurrency = 0;
    std::optional<Instant> expires{};
};

struct FeedReplica {
    Uid uid{};
    std::string name{};
    std::int64_t epoch = 0;
    std::string endpoint{};               // "127.0.0.1:41234"
    std::string key{};                    // bearer secret for the replica; never logged
    std::string model_version{};
    bool draining = false;
};

struct FeedService {
    Uid uid{};
    std::string public_name{};
    std::string project{};
    std::string name_space{};
    std::string name{};
    ServicePhase phase = ServicePhase::pending;
    std::int64_t concurrency = 4;         // in flight per replica
    Instant created{};
    Reason trouble{};                     // wanted, none ready, its last start failed; else none
    std::optional<Instant> next_try{};    // of such a one: not before
    bool prompt_progress = false;         // its engine tells a stream how long the prompt is, when asked
    bool usage_per_choice = false;        // its engine tells the usage of one choice, where it makes several
    std::vector<FeedReplica> replicas{};  // ready ones only
};

// A full snapshot (full = true) replaces all; a delta replaces the named keys and services and removes others.
struct FeedUpdate {
    std::int64_t generation = 0;          // of the installation
    std::int64_t version = 0;             // resourceVersion it reflects
    Instant at{};
    bool full = true;
    std::vector<FeedKey> keys{};
    std::vector<FeedService> services{};
    std::vector<std::string> keys_gone{};
    std::vector<Uid> services_gone{};
};

}  // namespace tandem::model
