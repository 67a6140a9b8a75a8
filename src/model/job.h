// SPDX-License-Identifier: Apache-2.0
// Job: a gang of ranks that runs to an end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rare.h"
#include "model/array.h"
#include "model/work.h"

namespace tandem::model {

enum class JobTemplate : std::uint8_t { script, torchrun };
template <>
struct EnumNames<JobTemplate> {
    static constexpr std::string_view values[] = {"script", "torchrun"};
};

struct JobRole {
    std::string name = "worker";
    std::int64_t replicas = 1;  // 1..10000
    Resources resources{};
    bool operator==(const JobRole&) const = default;
};

struct JobRetries {
    std::int64_t limit = 0;           // failed attempts that are tried again
    Duration backoff = seconds(2);    // doubles with each, at most 5 min
    bool operator==(const JobRetries&) const = default;
};

struct JobCheckpoint {
    bool enabled = false;
    std::string directory{};          // empty: kept under the installation's home, by job uid
    Duration restart_time = seconds(60);  // from a start to the first new step: part of what an eviction costs
    bool operator==(const JobCheckpoint&) const = default;
};

struct JobOutput {
    std::string name{};
    std::string path{};               // relative to TANDEM_OUTPUT_DIR, no ".."
    bool operator==(const JobOutput&) const = default;
};

// What is tried first where a flavor's nominal quota is used up, and where only an eviction would help.
enum class WhenBorrow : std::uint8_t { borrow, next };
template <>
struct EnumNames<WhenBorrow> {
    static constexpr std::string_view values[] = {"borrow", "next"};
};
enum class WhenPreempt : std::uint8_t { next, preempt };
template <>
struct EnumNames<WhenPreempt> {
    static constexpr std::string_view values[] = {"next", "preempt"};
};

// What a job waits for of another one.
//   started  it runs or has run
//   ok       it succeeded
//   failed   it failed
//   ended    it is over, however
enum class DependencyWhen : std::uint8_t { ok, failed, ended, started };
template <>
struct EnumNames<DependencyWhen> {
    static constexpr std::string_view values[] = {"ok", "failed", "ended", "started"};
};
struct JobDependency {
    std::string job{};                // of the same project and namespace; exists already
    DependencyWhen when = DependencyWhen::ok;
    bool operator==(const JobDependency&) const = default;
};

struct JobSpec {
    std::string queue = "default";
    std::int64_t priority = 0;        // -1000..1000, larger first
    JobTemplate form = JobTemplate::script;
    std::vector<std::string> command{};
    std::map<std::string, std::string> env{};
    std::string working_directory{};
    std::vector<JobRole> roles{};
    bool preemptible = true;
    Duration grace = seconds(30);     // between TERM and KILL
    JobCheckpoint checkpoint{};
    JobRetries retries{};
    std::optional<Duration> max_run_time{};       // of one attempt
    std::optional<Duration> heartbeat_timeout{};  // no change of TANDEM_PROGRESS_FILE
    std::optional<Duration> silence_timeout{};    // no output
    std::vector<JobOutput> outputs{};
    std::vector<JobDependency> after{};           // all of them; fixed once made
    Rare<JobArray> array{};                       // absent: one job
    std::map<std::string, std::int64_t> licenses{};  // of each License so many, held while it runs
    bool suspend = false;
    WhenBorrow when_borrow = WhenBorrow::borrow;
    WhenPreempt when_preempt = WhenPreempt::next;
    Rare<JobPlacing> placing{};
    bool operator==(const JobSpec&) const = default;
};

struct CheckpointRecord {
    std::int64_t step = 0;
    std::string path{};
    std::string digest{};             // of its manifest
    Instant at{};
    bool operator==(const CheckpointRecord&) const = default;
};
struct OutputRecord {
    std::string name{};
    std::string digest{};             // "sha256:<hex>"
    std::int64_t bytes = 0;
    bool operator==(const OutputRecord&) const = default;
};

// Why the current attempt is being ended; decides what comes after its last process is gone.
enum class Ending : std::uint8_t { none, completed, failed, preempted, cancelled, requeued };
template <>
struct EnumNames<Ending> {
    static constexpr std::string_view values[] = {"none",      "completed", "failed",
                                                  "preempted", "cancelled", "requeued"};
};

// An operator's word on its priority, which stands for spec.priority.
struct PriorityOverride {
    std::int64_t priority = 0;
    std::string by{};  // subject
    bool operator==(const PriorityOverride&) const = default;
};

struct JobStatus {
    Phase phase = Phase::pending;
    Reason reason{};
    Ending ending = Ending::none;
    std::int64_t observed_generation = 0;
    std::int64_t epoch = 0;           // of the current or last start; a restore lets it jump
    std::int64_t starts = 0;          // how often it was started
    std::int64_t failures = 0;        // attempts that failed
    std::int64_t preemptions = 0;
    std::int64_t steps_lost = 0;      // by preemption and failure, beyond the checkpoint resumed from
    Rare<CheckpointRecord> checkpoint{};
    std::vector<OutputRecord> outputs{};
    std::optional<Instant> not_before{};   // backoff
    std::optional<Instant> started{};      // of the current or last attempt
    std::optional<Instant> finished{};
    bool cancel_requested = false;
    std::string submitted_by{};            // subject
    std::string held_by{};                 // subject; empty: not held
    std::optional<Instant> order{};        // its place in the queue when that is not when it was made
    std::vector<std::string> after_met{};  // jobs of spec.after that it need not wait for any more
    Rare<PriorityOverride> priority_override{};
    std::string forced_by{};  // subject; starts whatever quotas and limits say
    Rare<ArrayElement> element{};
    Rare<ElementCounts> elements{};
    bool operator==(const JobStatus&) const = default;
};

struct Job {
    static constexpr Kind kind = Kind::job;
    Meta meta{};
    JobSpec spec{};
    JobStatus status{};
    bool operator==(const Job&) const = default;
};

}  // namespace tandem::model
