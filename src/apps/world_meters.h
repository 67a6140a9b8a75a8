// SPDX-License-Identifier: Apache-2.0
// WorldMeters: what only the server's process can measure: its files and sockets. Called before
// each scrape; the blobs are walked at most twice a minute. Thread rule: one thread at a time (the
// API's ticker).
#pragma once

#include <chrono>

#include "apps/home.h"
#include "net/http/server.h"
#include "store/sqlite/sqlite_store.h"
#include "telemetry/metrics.h"

namespace tandem::apps {

class WorldMeters {
  public:
    WorldMeters(telemetry::Metrics& metrics, const Home& home) : metrics_(metrics), home_(home) {}
    // `http` may be absent while it starts.
    void measure(const store::sqlite::SqliteStore& store, const http::Server* http);

  private:
    void measure_store(const store::sqlite::SqliteStore& store);
    void measure_http(const http::ServerStats& stats);
    void measure_blobs();

    telemetry::Metrics& metrics_;
    const Home& home_;
    std::chrono::steady_clock::time_point blobs_walked_{};
};

}  // namespace tandem::apps
