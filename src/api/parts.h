// SPDX-License-Identifier: Apache-2.0
// Parts: what the API is built on. All of them outlive it.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/ports.h"
#include "model/work.h"
#include "server/core_thread.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tandem::blob {
class BlobStore;
struct CollectFacts;
}  // namespace tandem::blob

namespace tandem::api {

// Output of tasks, from their executor. Offsets count bytes since the task began; what the ring has
// lost is skipped and told by `from`.
struct LogChunk {
    std::int64_t from = 0;
    std::string text{};
    bool ended = false;  // nothing will follow
};
class TaskLogs {
  public:
    virtual ~TaskLogs() = default;
    virtual Result<LogChunk> read(const model::TaskName& task, std::int64_t offset,
                                  std::int64_t bytes_max) = 0;
};

// Acts on the installation itself.
class Admin {
  public:
    virtual ~Admin() = default;
    virtual Status backup(const std::string& path, const std::stop_token& stop) = 0;
    virtual Status stage_restore(const std::string& path) = 0;
    // Removes what no row has referred to for a day.
    virtual Result<blob::CollectFacts> collect_blobs(const std::stop_token& stop) = 0;
    virtual Status check(const std::stop_token& stop) = 0;  // of every page; takes a while
};

struct Parts {
    server::CoreThread& core;
    core::StoreReader& reader;
    blob::BlobStore& blobs;
    TaskLogs& logs;
    Admin& admin;
    telemetry::Log log;
    telemetry::Metrics& metrics;
    std::string version;
    // Sets the metrics that only the process can measure: files, sockets. Before each scrape.
    std::function<void()> measure_world{};
    std::string gateway_address{};  // shown with ready services: "http://127.0.0.1:8090"
};

}  // namespace tandem::api
