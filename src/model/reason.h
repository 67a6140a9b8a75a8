// SPDX-License-Identifier: Apache-2.0
// Reason: why something is as it is: a stable code and the numbers behind it. Its text comes from the
// catalogue in codec/ (English, Chinese), at the edge only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/enum_names.h"

namespace tandem::model {

enum class ReasonCode : std::uint8_t {
    none,
    // waiting
    submitted,              // not looked at yet
    suspended,              // spec.suspend is true
    backoff,                // until=...
    no_capacity,            // flavor, needed, free, total: fits when free again; as a remedy: flavor, missing
    never_fits,             // flavor, needed, largest: no set of nodes could ever hold it
    quota_exhausted,        // queue, flavor, needed, used, limit; as a remedy: queue, flavor, missing
    pool_unavailable,       // pool: does not exist or is not ready; held, wanted: is still being filled
    queue_unavailable,      // queue: does not exist
    not_allowed_in_pool,    // pool, project
    waiting_for_victims,    // victims, node
    behind,                 // position, queue
    held,                   // by
    waiting_for_job,        // job, when
    dependency_never_met,   // job, when, phase
    // ends and turns
    preempted,              // by; as a remedy: priority that would take the place of running work
    reclaimed,              // by: whose quota it is
    cancelled_by_request,   // by
    exit_code,              // rank, code
    killed_by_signal,       // rank, signal
    out_of_memory,          // rank
    start_failed,           // rank, detail
    max_run_time_exceeded,  // limit
    heartbeat_lost,         // rank, silence
    output_silent,          // rank, silence
    gang_member_failed,     // rank
    shim_lost,              // rank
    retries_exhausted,      // attempts, limit
    output_missing,         // output, detail
    collecting_outputs,
    requeued_by_request,    // by
    released,               // by
    moved_to_front,         // by
    checkpointed,           // step
    completed,
    old_generation,         // task of an installation before a restore
    undecided,              // what is not known
    // services
    asleep_idle,            // idle time
    woken,                  // waiting requests
    not_ready_in_time,      // replica, timeout
    replica_failed,         // replica, detail
    model_missing,          // model, version
    runtime_missing,        // runtime
    scaling,                // from, to
    updating_version,       // from, to
    draining,
    being_deleted,
    // progress, for events
    started,                // a job: all ranks run
    pool_filled,            // a reserved pool has its devices
    // preemption
    gave_fair_share,        // by: whose share of what is borrowed is smaller
    queue_drained,          // queue: is being emptied
    preemption_forbidden,   // queue, policy
    evictions_limited,      // until
};
template <>
struct EnumNames<ReasonCode> {
    static constexpr std::string_view values[] = {
        "none", "submitted", "suspended", "backoff", "noCapacity", "neverFits", "quotaExhausted",
        "poolUnavailable", "queueUnavailable", "notAllowedInPool", "waitingForVictims", "behind",
        "held", "waitingForJob", "dependencyNeverMet", "preempted",
        "reclaimed", "cancelledByRequest", "exitCode", "killedBySignal", "outOfMemory", "startFailed",
        "maxRunTimeExceeded", "heartbeatLost", "outputSilent", "gangMemberFailed", "shimLost",
        "retriesExhausted", "outputMissing", "collectingOutputs", "requeuedByRequest", "released",
        "movedToFront", "checkpointed", "completed", "oldGeneration",
        "undecided", "asleepIdle", "woken", "notReadyInTime", "replicaFailed", "modelMissing", "runtimeMissing",
        "scaling", "updatingVersion", "draining", "beingDeleted", "started", "poolFilled", "gaveFairShare",
        "queueDrained", "preemptionForbidden", "evictionsLimited"};
};

struct ReasonParam {
    std::string name;
    std::string value;  // numbers as decimal text
    bool operator==(const ReasonParam&) const = default;
};

struct Reason {
    ReasonCode code = ReasonCode::none;
    std::vector<ReasonParam> params{};
    bool operator==(const Reason&) const = default;
};

}  // namespace tandem::model
