// SPDX-License-Identifier: Apache-2.0
// Intents: side effects that core has decided and committed. They stay open (rows) until the world has
// answered, are executed at least once, and name their target so that doing one twice is harmless.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/job.h"
#include "model/work.h"

namespace tandem::model {

struct StartTask {
    TaskName task{};
    std::string node{};
    std::string title{};               // "default/default/train-worker-0", for people
    std::vector<std::string> command{};  // executor expands {port}, {model}, {runtimes}, {python}
    std::map<std::string, std::string> env{};
    std::string working_directory{};
    std::vector<DeviceShare> devices{};
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    Duration grace{};
    Duration max_run_time{};           // 0: none
    Duration watch_period{};           // its progress and output are told that soon; 0: at leisure
    bool wants_port = false;           // a service replica: a loopback port and a replica key
    std::string model_digest{};        // weights to hand in, read-only
    bool wants_rendezvous = false;     // torchrun: MASTER_PORT, the same for all ranks of an epoch
    std::int64_t world_size = 1;
    std::optional<std::int64_t> member{};  // which of them; absent: as its rank
    bool checkpoint = false;
    std::string checkpoint_directory{};
    std::string resume_from{};
    std::vector<std::string> outputs{};  // relative paths that are kept when it succeeds
};
struct StopTask {
    TaskName task{};
    std::string node{};
    Duration grace{};                  // 0: at once
};
// Ask the replica for one token until it answers or is stopped.
struct ProbeReplica {
    TaskName task{};
    std::string endpoint{};
    std::string model{};
    Duration timeout{};
};
// Hash and keep the outputs of rank 0 of a finished attempt.
struct CollectOutputs {
    TaskName task{};
    std::string node{};
    std::vector<JobOutput> outputs{};
};

using IntentBody = std::variant<StartTask, StopTask, ProbeReplica, CollectOutputs>;
template <>
struct EnumNames<IntentBody> {
    static constexpr std::string_view values[] = {"startTask", "stopTask", "probeReplica", "collectOutputs"};
};

struct Intent {
    RowId id{};
    IntentBody body{};
    Instant opened{};
};

inline const TaskName& task_of(const Intent& intent) {
    return std::visit([](const auto& body) -> const TaskName& { return body.task; }, intent.body);
}

}  // namespace tandem::model
