// SPDX-License-Identifier: Apache-2.0
// Phases of workloads and replicas, of services, and what ledger and people see of them. One table, used by
// core, ledger, CLI and reports.
//
//   pending --> claimed --> starting --> running --> stopping --> succeeded | failed | cancelled
//      ^           |           |                        |
//      '-----------+-----------'<-----------------------'   (claim lost, retried, preempted: epoch + 1)
//   pending, claimed --> cancelled | failed;   unknown <--> any live phase;   unknown --> terminal
//   Every way out of starting and running passes stopping until the process tree is proved gone.
#pragma once

#include <cstdint>

#include "model/enum_names.h"

namespace tandem::model {

enum class Phase : std::uint8_t {
    pending, claimed, starting, running, stopping, succeeded, failed, cancelled, unknown,
};
template <>
struct EnumNames<Phase> {
    static constexpr std::string_view values[] = {"pending",   "claimed", "starting",  "running", "stopping",
                                                  "succeeded", "failed",  "cancelled", "unknown"};
};

enum class ServicePhase : std::uint8_t {
    pending, starting, ready, degraded, asleep, updating, rolling_back, draining, failed,
};
template <>
struct EnumNames<ServicePhase> {
    static constexpr std::string_view values[] = {"pending",  "starting",    "ready",    "degraded", "asleep",
                                                  "updating", "rollingBack", "draining", "failed"};
};

// What an interval of a device is charged as. running covers stopping; held covers claimed, starting, unknown
// and a form's idle capacity; idle belongs to the pool that owns the device. suspended is waiting
// work that its owner keeps from starting; lost_to_request is work after the last checkpoint that
// went with a wished stop.
enum class LedgerState : std::uint8_t {
    queued,
    held,
    running,
    idle_allocated,
    failed_rerun,
    lost_to_preemption,
    idle,
    suspended,
    lost_to_request,
};
template <>
struct EnumNames<LedgerState> {
    static constexpr std::string_view values[] = {
        "queued",           "held", "running",   "idleAllocated", "failedRerun",
        "lostToPreemption", "idle", "suspended", "lostToRequest"};
};
// The work waits: no device is its own, the amount is what it asked for.
constexpr bool is_waiting(LedgerState state) {
    return state == LedgerState::queued || state == LedgerState::suspended;
}

// The five states people are shown (request, waiting, running, failed, released).
enum class TaskState : std::uint8_t { request, waiting, running, failed, released };
template <>
struct EnumNames<TaskState> {
    static constexpr std::string_view values[] = {"request", "waiting", "running", "failed", "released"};
};

constexpr bool is_terminal(Phase phase) {
    return phase == Phase::succeeded || phase == Phase::failed || phase == Phase::cancelled;
}
// Holds devices: from claim to proved release.
constexpr bool holds_capacity(Phase phase) {
    return phase == Phase::claimed || phase == Phase::starting || phase == Phase::running ||
           phase == Phase::stopping || phase == Phase::unknown;
}
// A process may exist.
constexpr bool may_be_alive(Phase phase) {
    return phase == Phase::starting || phase == Phase::running || phase == Phase::stopping || phase == Phase::unknown;
}

bool may_move(Phase from, Phase to);
TaskState task_state_of(Phase phase);

}  // namespace tandem::model
