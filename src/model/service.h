// SPDX-License-Identifier: Apache-2.0
// Model repository, runtimes and services.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/work.h"

namespace tandem::model {

struct ModelSpec {
    std::string title{};
    std::string data_owner{};
    std::string failure_contact{};
    bool operator==(const ModelSpec&) const = default;
};
struct Model {
    static constexpr Kind kind = Kind::model;
    Meta meta{};
    ModelSpec spec{};
    bool operator==(const Model&) const = default;
};

// What was read from the file's header, under limits.
struct ModelFacts {
    std::string architecture{};
    std::string quantisation{};
    std::int64_t context_length = 0;
    std::int64_t parameters = 0;
    std::int64_t tensors = 0;
    bool operator==(const ModelFacts&) const = default;
};
struct ModelVersionSpec {
    std::string model{};              // name of the Model
    std::int64_t number = 0;          // 1, 2, ...; object name is "<model>.v<number>"
    std::string digest{};             // "sha256:<hex>"
    std::int64_t bytes = 0;
    std::string format = "gguf";
    ModelFacts facts{};
    std::string source_job{};         // uid of the job that made it, when one did
    bool operator==(const ModelVersionSpec&) const = default;
};
struct ModelVersion {
    static constexpr Kind kind = Kind::model_version;
    Meta meta{};
    ModelVersionSpec spec{};
    bool operator==(const ModelVersion&) const = default;
};

// How a model server is started and probed. Placeholders in command and env: {model} path of the weights,
// {port}, {alias}, {contextLength}, {parallel}, {threads}, {runtimes} folder of runtime templates,
// {python} interpreter of the runtimes.
struct RuntimeSpec {
    std::vector<std::string> command{};
    std::map<std::string, std::string> env{};
    std::string format = "gguf";
    Duration ready_timeout = seconds(120);
    bool prompt_progress = false;     // it knows return_progress as llama.cpp does
    bool usage_per_choice = false;    // it tells the usage of one choice, where it makes several
    bool operator==(const RuntimeSpec&) const = default;
};
struct Runtime {
    static constexpr Kind kind = Kind::runtime;
    Meta meta{};
    RuntimeSpec spec{};
    bool operator==(const Runtime&) const = default;
};

struct ServiceScale {
    std::int64_t min = 0;
    std::int64_t max = 1;
    std::int64_t concurrency = 4;     // requests in flight that one replica takes
    Duration idle_timeout = seconds(60);  // without a request: down to min
    bool operator==(const ServiceScale&) const = default;
};
struct ServiceSpec {
    std::string queue = "default";
    std::int64_t priority = 100;
    std::string model{};              // name of the Model
    std::int64_t version = 0;         // 0: its newest version
    std::string runtime = "llama-cpp";
    std::string public_name{};        // what callers write as "model"; empty: the service's name
    Resources resources{};
    ServiceScale replicas{};
    std::int64_t context_length = 2048;
    std::int64_t threads = 1;
    std::map<std::string, std::string> env{};
    Duration ready_timeout{};         // 0: the runtime's
    Duration drain_timeout = seconds(30);
    bool preemptible = false;
    bool operator==(const ServiceSpec&) const = default;
};
// How a replica that nobody had asked to stop ended; kept when its row is gone.
struct ReplicaEnd {
    std::string replica{};            // its name
    std::string task{};               // name of its task, by which its output is found
    bool was_ready = false;
    Instant at{};
    Reason reason{};
    bool operator==(const ReplicaEnd&) const = default;
};

struct ServiceStatus {
    ServicePhase phase = ServicePhase::pending;
    Reason reason{};
    std::int64_t observed_generation = 0;
    std::int64_t desired = 0;
    std::int64_t ready = 0;
    std::string serving_version{};    // ModelVersion that takes traffic
    std::string target_version{};     // differs while updating
    std::string refused_version{};    // gave up on: not tried again until another is wanted
    // Likewise of what its replicas are started by besides the version (core/service_target.h).
    std::string serving_revision{};
    std::string target_revision{};
    std::string refused_revision{};
    std::int64_t starts_failed = 0;   // in a row
    std::optional<ReplicaEnd> last_failure{};  // the newest
    std::optional<Instant> not_before{};
    std::int64_t next_rank = 0;
    bool operator==(const ServiceStatus&) const = default;
};
struct Service {
    static constexpr Kind kind = Kind::service;
    Meta meta{};
    ServiceSpec spec{};
    ServiceStatus status{};
    bool operator==(const Service&) const = default;
};

}  // namespace tandem::model
