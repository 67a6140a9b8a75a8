// SPDX-License-Identifier: Apache-2.0
// Inputs: everything that can make core move. Each is logged with the tick of its batch and can be replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "model/command.h"
#include "model/usage.h"
#include "model/work.h"

namespace tandem::model {

// Time and randomness of one batch. now never goes backwards.
struct Tick {
    Instant now{};
    Seed seed{};
};

// --- from executors -------------------------------------------------------------------------------------
struct TaskStarted {
    TaskName task{};
    std::string handle{};
    std::string endpoint{};
    Instant at{};
};
struct TaskExited {
    TaskName task{};
    TaskExit exit{};
    std::string start_error{};   // not empty: the command never ran, and this is why
    // Of a model server that ended badly: its last lines, at most output_tail_max bytes.
    std::string last_output{};
};
// The executor can prove that nothing of the task is left, but not how it ended.
struct TaskGone {
    TaskName task{};
    std::string detail{};
};
// Step and time of the progress file; or output bytes when there is none. Coalesced by the executor.
struct TaskProgress {
    TaskName task{};
    std::int64_t step = -1;          // -1: no progress file
    std::optional<Instant> beat{};   // last change of the progress file
    Instant output{};                // last byte of output, or start
};
struct CheckpointSeen {
    TaskName task{};
    CheckpointRecord checkpoint{};
};
struct OutputStored {
    TaskName task{};
    std::vector<OutputRecord> outputs{};
    std::string error{};             // not empty: what is missing and why
};
inline constexpr std::int64_t output_tail_max = 512;

// All tasks that an executor has, once after it (re)connects; what is open in core but not listed is gone.
struct ListedTask {
    TaskName task{};
    std::string handle{};
    std::string endpoint{};
    std::optional<TaskExit> exit{};
    std::string start_error{};
    std::string last_output{};           // as in TaskExited
    std::string node{};                  // where it lives
    std::vector<DeviceShare> devices{};  // what it has; all of the node's when that can't be read
};
struct TasksListed {
    std::string executor{};
    std::vector<ListedTask> tasks{};
};
struct NodeReported {
    std::string name{};
    NodeStatus status{};
};

// --- from probes and gateways ---------------------------------------------------------------------------
struct ReplicaProbed {
    TaskName task{};
    bool ready = false;
    std::string detail{};
};
struct ServiceLoad {
    Uid service{};
    std::int64_t waiting = 0;
    std::int64_t in_flight = 0;
};
struct GatewayLoad {
    std::string gateway{};
    std::vector<ServiceLoad> services{};
};
struct LeaseRequested {
    std::int64_t ticket = 0;
    std::string gateway{};
    std::vector<LeaseAsk> asks{};
};
struct UsageShipped {
    std::int64_t ticket = 0;
    std::string gateway{};
    std::int64_t epoch = 0;
    std::int64_t first_sequence = 0;
    std::vector<RequestUsage> rows{};
};

// --- from the server itself -----------------------------------------------------------------------------
struct DenialSeen {                   // a read that was refused, or a key that was not known
    Caller caller{};
    std::string action{};
    std::string object{};
    std::int64_t count = 1;
};
struct ErrandDone {                   // on the installation itself, not on a row: a backup, a restore, an export
    Caller caller{};
    std::string action{};
    std::string object{};
    std::string rule{};               // that allowed it
};
struct ClockJumped {                  // the wall clock, against the monotonic one
    Duration by{};
};
struct TimerFired {};                 // nothing but time has passed

using Input = std::variant<Command, TaskStarted, TaskExited, TaskGone, TaskProgress, CheckpointSeen, OutputStored,
                           TasksListed, NodeReported, ReplicaProbed, GatewayLoad, LeaseRequested, UsageShipped,
                           DenialSeen, TimerFired, ClockJumped, ErrandDone>;

template <>
struct EnumNames<Input> {  // in the variant's order: the tag of a logged input
    static constexpr std::string_view values[] = {
        "command", "taskStarted", "taskExited", "taskGone", "taskProgress", "checkpointSeen", "outputStored",
        "tasksListed", "nodeReported", "replicaProbed", "gatewayLoad", "leaseRequested", "usageShipped",
        "denialSeen", "timerFired", "clockJumped", "errandDone"};
};

}  // namespace tandem::model
