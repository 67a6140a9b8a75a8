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
    submitted,          // not looked at yet
    suspended,          // spec.suspend is true
    backoff,            // until=...
    no_capacity,        // flavor, needed, free, total, places, places_free: fits when free again
    never_fits,         // flavor, needed, largest, members, membersThatFit: not on today's machines
    quota_exhausted,    // queue, flavor, needed, used, limit, bound: nominal, borrowLimit or max;
                        //   as a remedy: queue, flavor, missing, bound
    pool_unavailable,   // pool: does not exist or is not ready; held, wanted: is still being filled
    queue_unavailable,  // queue: does not exist
    not_allowed_in_pool,   // pool, project
    waiting_for_victims,   // victims, node
    behind,                // position, queue
    held,                  // by
    waiting_for_job,       // job, when
    dependency_never_met,  // job, when, phase
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
    shim_lost,              // rank of a job, replica of a service; detail
    retries_exhausted,      // attempts, limit
    output_missing,         // output, detail
    collecting_outputs,
    requeued_by_request,  // by
    released,             // by
    moved_to_front,       // by
    checkpointed,         // step
    completed,
    old_generation,  // task of an installation before a restore
    undecided,       // what is not known
    // services
    asleep_idle,        // idle time
    woken,              // waiting requests
    not_ready_in_time,  // replica, timeout
    replica_failed,     // replica, detail
    model_missing,      // model, version
    runtime_missing,    // runtime
    scaling,            // from, to
    updating_version,   // from, to
    draining,
    being_deleted,
    // progress, for events
    started,      // a job: all ranks run
    pool_filled,  // a reserved pool has its devices
    // preemption
    gave_fair_share,       // by: whose share of what is borrowed is smaller
    queue_drained,         // queue: is being emptied
    preemption_forbidden,  // queue, policy
    evictions_limited,     // until
    // waiting, more exactly
    queue_stopped,    // queue: it, or one above it, admits nothing
    quota_too_small,  // queue, flavor, needed, limit: more than the queue may ever have
    places,           // remedy: places, each, flavor; cpu, memory, nodes (labels): room for so many
                      //   more replicas
    // why running work is not asked to leave
    no_lower_priority,    // queue, priority, lowest
    never_preempt,        // queue, count
    no_right_to_reclaim,  // queue, flavor, used, needed, nominal
    victims_not_enough,   // queue, count
    ran_too_short,        // queue, count, until: the queue's minimum run time
    // good states
    running,         // nodes, devices, since
    ready,           // replicas
    attempt_failed,  // attempt, limit, until: tried again
    // what people and the world did to work
    suspended_by_request,  // by
    resumed,               // by
    task_adopted,          // by, task: of before a restore
    task_ended,            // by, task: likewise
    replica_ended,         // replica; code or signal; ran, output: its last lines
    leftover_tasks,        // tasks, devices, node: of before a restore, belong to nothing
    // waiting for places that belong together
    no_topology_domain,  // level, needed, largest, domain, domains, slice: of replicas; as a
                         //   remedy: level, domain, places, each, flavor
    no_even_spread,      // level, maxSkew, needed, largest, domain
    no_allowed_company,  // rule: near or apart; level, labels, needed, largest
    // counted work and resources; what: jobs or devices
    user_limit,     // user, what, needed, used, limit, at: of the user, or of users of project/P or
                    // queue/Q
    project_limit,  // project, what, needed, used, limit
    queue_limit,    // queue, what, needed, used, limit
    array_limit,    // array, used, limit
    license_short,  // license, needed, used, limit
    license_too_few,  // license, needed, limit: more than there are
    raise_limit,      // remedy: of, name, missing
    // operators
    force_started,        // by
    priority_overridden,  // by, priority
    priority_restored,    // by, priority
    // arrays
    elements_running,    // running, pending, over, total
    elements_failed,     // failed, total
    elements_cancelled,  // cancelled, total
    // what became of what was begun
    rolled_out,    // from, to: versions; without them: its changed spec
    work_stopped,  // kept: step, nothing lost; else lost and, with a checkpoint, step, steps
    clock_jumped,  // by: of the wall clock
    // elastic work
    gave_surplus,  // by, atRisk; replica, left, min: of a job's members
    grew,          // from, to, max: members
    resizing,      // from, to: its ranks start again
    // windows of time
    waits_for_window,   // reservation, start
    reserved_ahead,     // reservation, start: would still hold then what is promised
    node_closes,        // maintenance, start: likewise of a node that is to be empty
    made_way,           // reservation or maintenance, start, atRisk
    window_opened,      // reservation, devices, end
    window_ended,       // reservation
    window_short,       // needed, have
    maintenance_began,  // maintenance, reason, until
    maintenance_ended,  // maintenance
    stays_through,      // maintenance, node, start: is never asked to leave
};
template <>
struct EnumNames<ReasonCode> {
    static constexpr std::string_view values[] = {"none",
                                                  "submitted",
                                                  "suspended",
                                                  "backoff",
                                                  "noCapacity",
                                                  "neverFits",
                                                  "quotaExhausted",
                                                  "poolUnavailable",
                                                  "queueUnavailable",
                                                  "notAllowedInPool",
                                                  "waitingForVictims",
                                                  "behind",
                                                  "held",
                                                  "waitingForJob",
                                                  "dependencyNeverMet",
                                                  "preempted",
                                                  "reclaimed",
                                                  "cancelledByRequest",
                                                  "exitCode",
                                                  "killedBySignal",
                                                  "outOfMemory",
                                                  "startFailed",
                                                  "maxRunTimeExceeded",
                                                  "heartbeatLost",
                                                  "outputSilent",
                                                  "gangMemberFailed",
                                                  "shimLost",
                                                  "retriesExhausted",
                                                  "outputMissing",
                                                  "collectingOutputs",
                                                  "requeuedByRequest",
                                                  "released",
                                                  "movedToFront",
                                                  "checkpointed",
                                                  "completed",
                                                  "oldGeneration",
                                                  "undecided",
                                                  "asleepIdle",
                                                  "woken",
                                                  "notReadyInTime",
                                                  "replicaFailed",
                                                  "modelMissing",
                                                  "runtimeMissing",
                                                  "scaling",
                                                  "updatingVersion",
                                                  "draining",
                                                  "beingDeleted",
                                                  "started",
                                                  "poolFilled",
                                                  "gaveFairShare",
                                                  "queueDrained",
                                                  "preemptionForbidden",
                                                  "evictionsLimited",
                                                  "queueStopped",
                                                  "quotaTooSmall",
                                                  "places",
                                                  "noLowerPriority",
                                                  "neverPreempt",
                                                  "noRightToReclaim",
                                                  "victimsNotEnough",
                                                  "ranTooShort",
                                                  "running",
                                                  "ready",
                                                  "attemptFailed",
                                                  "suspendedByRequest",
                                                  "resumed",
                                                  "taskAdopted",
                                                  "taskEnded",
                                                  "replicaEnded",
                                                  "leftoverTasks",
                                                  "noTopologyDomain",
                                                  "noEvenSpread",
                                                  "noAllowedCompany",
                                                  "userLimit",
                                                  "projectLimit",
                                                  "queueLimit",
                                                  "arrayLimit",
                                                  "licenseShort",
                                                  "licenseTooFew",
                                                  "raiseLimit",
                                                  "forceStarted",
                                                  "priorityOverridden",
                                                  "priorityRestored",
                                                  "elementsRunning",
                                                  "elementsFailed",
                                                  "elementsCancelled",
                                                  "rolledOut",
                                                  "workStopped",
                                                  "clockJumped",
                                                  "gaveSurplus",
                                                  "grew",
                                                  "resizing",
                                                  "waitsForWindow",
                                                  "reservedAhead",
                                                  "nodeCloses",
                                                  "madeWay",
                                                  "windowOpened",
                                                  "windowEnded",
                                                  "windowShort",
                                                  "maintenanceBegan",
                                                  "maintenanceEnded",
                                                  "staysThrough"};
};

// Causes that the planner finds for work that waits.
constexpr bool is_cause_of_waiting(ReasonCode code) {
    switch (code) {
        case ReasonCode::no_capacity:
        case ReasonCode::never_fits:
        case ReasonCode::quota_exhausted:
        case ReasonCode::quota_too_small:
        case ReasonCode::pool_unavailable:
        case ReasonCode::queue_unavailable:
        case ReasonCode::queue_stopped:
        case ReasonCode::no_topology_domain:
        case ReasonCode::no_even_spread:
        case ReasonCode::no_allowed_company:
        case ReasonCode::user_limit:
        case ReasonCode::project_limit:
        case ReasonCode::queue_limit:
        case ReasonCode::array_limit:
        case ReasonCode::license_short:
        case ReasonCode::license_too_few:
        case ReasonCode::reserved_ahead:
        case ReasonCode::node_closes:
        case ReasonCode::not_allowed_in_pool: return true;
        default: return false;
    }
}

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
