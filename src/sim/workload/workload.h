// SPDX-License-Identifier: Apache-2.0
// Workload: a story for the scheduler, written in YAML: nodes, queues, work, what happens, and what
// must be true then. docs/scheduling.md describes the language. Sources: scheduler_perf's
// operations (createNodes, createPods, barrier, churn) and Kueue's generator, as far as they fit a
// job of ranks. Errors: invalid, with the field from the file's root ("ops[3].job.replicas").
// Thread rule: values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/document.h"
#include "model/command.h"
#include "model/object.h"

namespace tandem::sim {

struct AddNodes {
    std::string name{};  // NAME, or NAME-0.. of many
    std::int64_t count = 1;
    std::int64_t devices = 0;
    std::string flavor = "gpu";
    std::int64_t cpu_milli = 64'000;
    std::int64_t memory_bytes = std::int64_t{1} << 40;
    std::int64_t device_memory_bytes = 0;
    std::map<std::string, std::string> labels{};
};
// How the tasks of a job behave.
struct Behaviour {
    Duration run_time{};          // 0: until it is finished or stopped
    Duration leave{};             // from TERM to its end
    Duration checkpoint_every{};  // 0: never
};
struct Submit {
    std::vector<model::Object> objects{};
    Behaviour behaviour{};
    std::optional<std::string>
        refused{};  // the field that must be named, or the code where none is
};
struct Remove {
    model::Kind kind = model::Kind::queue;
    std::string name{};
};
struct Pass {
    Duration time{};
};
struct End {
    std::string job{};
    std::int64_t code = 0;
};
struct Act {
    std::string job{};
    model::JobAct act = model::JobAct::cancel;
    std::optional<std::int64_t> priority{};
};
struct ChangeNode {
    std::string name{};
    std::optional<bool> ready{};
    std::optional<bool> cordoned{};
};
// A code, and parameters that must be as stated; of the reason itself, of what else binds, of what keeps running
// work, or of what would help.
struct ExpectedReason {
    std::string code{};
    std::map<std::string, std::string> params{};
};
struct Expect {
    std::optional<std::vector<std::string>> running{};  // all that run, whole
    std::optional<std::vector<std::string>> pending{};  // all that wait
    std::optional<std::int64_t> running_count{};
    std::optional<std::int64_t> evictions{};        // so far
    std::map<std::string, std::int64_t> evicted{};  // how often each
    std::map<std::string, ExpectedReason> why{};
    std::map<std::string, std::map<std::string, std::int64_t>>
        used{};                                      // milli, by queue and flavor
    std::map<std::string, std::string> on{};         // job: flavor of all its devices
    std::map<std::string, std::int64_t> members{};   // of elastic jobs
    std::optional<std::int64_t> tasks_per_device{};  // on each device in use
};
using Deed = std::variant<AddNodes, Submit, Remove, Pass, End, Act, ChangeNode, Expect>;
struct Op {
    std::string field{};  // "ops[3]"
    Deed deed{};
};
struct Workload {
    std::string name{};
    std::string about{};
    std::vector<Op> ops{};
};

Result<Workload> parse_workload(std::string_view yaml);

}  // namespace tandem::sim
