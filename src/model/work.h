// SPDX-License-Identifier: Apache-2.0
// What a replica of any workload needs and where it was put; replicas themselves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rare.h"
#include "model/meta.h"
#include "model/phase.h"
#include "model/placing.h"
#include "model/reason.h"

namespace tandem::model {

// What one replica needs. devices in milli (fractions only below 1000). flavor: "a|b,c" is either of a
// and b, whichever suits better, else c; empty: any one flavor.
// node_selector: labels that its node must have; node_affinity: more of that. tolerations: taints of
// nodes that don't keep it away; "*": none does. device_memory_bytes: of a share's device; 0: its
// part of the device's memory.
struct Resources {
    std::int64_t devices = 0;
    std::string flavor{};
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    Labels node_selector{};
    std::vector<std::string> tolerations{};
    NodeAffinity node_affinity{};
    std::int64_t device_memory_bytes = 0;
    bool operator==(const Resources&) const = default;
};

// One device, or a share of it, given to a replica.
struct DeviceShare {
    std::int64_t index = 0;
    std::int64_t milli = 1000;
    std::int64_t memory_bytes = 0;  // 0: its part of the device's memory
    auto operator<=>(const DeviceShare&) const = default;
};

struct ReplicaSpec {
    Kind owner_kind = Kind::job;
    RowId owner_id{};
    Uid owner_uid{};
    std::string owner_name{};
    std::string role{};
    std::int64_t rank = 0;
    Resources resources{};
    std::string queue{};
    std::string pool{};
    std::int64_t priority = 0;
    std::string model_version{};  // services: name of the ModelVersion it serves
    std::string revision{};       // services: of the spec it was started by
    bool operator==(const ReplicaSpec&) const = default;
};

// How a task ended, as its shim recorded it.
struct TaskExit {
    std::int64_t code = 0;    // exit status; -1 when a signal ended it
    std::int64_t signal = 0;
    bool out_of_memory = false;
    bool timed_out = false;   // the shim's own maximum run time
    Instant at{};
    bool server_absent = false;  // no server lived at that time
    Duration ran{};           // by the monotonic clock; 0: not told
    bool operator==(const TaskExit&) const = default;
};

// How an earlier attempt used its devices: what its row said before the next one took it over.
struct AttemptEnd {
    std::int64_t epoch = 0;
    std::optional<Instant> ran_from{};
    std::optional<Instant> exit_at{};
    bool operator==(const AttemptEnd&) const = default;
};

struct ReplicaStatus {
    Phase phase = Phase::pending;
    Reason reason{};
    std::int64_t epoch = 0;       // grows with each start; a restore lets it jump
    std::int64_t starts = 0;      // how often it was started
    std::int64_t task_generation = 0;  // of the installation, when that start was; 0: not started yet
    std::string node{};
    std::vector<DeviceShare> devices{};
    std::string endpoint{};       // services: "127.0.0.1:41234"
    std::string handle{};         // executor's proof of identity: pid, start time, boot id
    Rare<TaskExit> exit{};
    std::optional<Instant> ran_from{};  // jobs: when its process began, as its shim recorded it
    Rare<AttemptEnd> last_attempt{};
    std::optional<Instant> started{};
    std::optional<Instant> ready_since{};  // services: when it had generated its token
    std::optional<Instant> finished{};
    bool draining = false;        // services: gets nothing new
    std::optional<Instant> stop_at{};  // services: when a draining replica is stopped
    bool operator==(const ReplicaStatus&) const = default;
};

struct Replica {
    static constexpr Kind kind = Kind::replica;
    Meta meta{};
    ReplicaSpec spec{};
    ReplicaStatus status{};
    bool operator==(const Replica&) const = default;
};

// Name of a task in the world: installation generation, owner uid, epoch, rank: "g1-<uid>-e2-r0".
struct TaskName {
    std::int64_t generation = 0;
    Uid uid{};
    std::int64_t epoch = 0;
    std::int64_t rank = 0;
    std::string text() const;
    static std::optional<TaskName> parse(std::string_view text);
    auto operator<=>(const TaskName&) const = default;
};

}  // namespace tandem::model
