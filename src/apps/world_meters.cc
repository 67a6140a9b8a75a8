// SPDX-License-Identifier: Apache-2.0
#include "apps/world_meters.h"

#include <filesystem>

#include "telemetry/meters.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds walk_period{30};

}  // namespace

void WorldMeters::measure_store(const store::sqlite::SqliteStore& store) {
    std::error_code error;
    const auto bytes = fs::file_size(home_.database(), error);
    if (!error)
        metrics_.gauge("tandem_store_bytes", "Size of the database file.")
            .set(static_cast<double>(bytes));
    const store::sqlite::StoreStatistics said = store.statistics();
    metrics_.gauge("tandem_store_wal_bytes", "Size of the write-ahead log.")
        .set(static_cast<double>(said.wal_bytes));
    telemetry::raise_to(metrics_.counter("tandem_store_checkpoints_total",
                                         "Times the log was moved into the database."),
                        static_cast<std::int64_t>(said.checkpoints));
    telemetry::raise_to(metrics_.counter("tandem_store_truncations_total",
                                         "Times the log was cut back while readers were held off."),
                        static_cast<std::int64_t>(said.truncations));
    const fs::space_info space = fs::space(home_.root(), error);
    if (!error)
        metrics_.gauge("tandem_store_free_bytes", "Space left on the file system of the home.")
            .set(static_cast<double>(space.available));
}

void WorldMeters::measure_http(const http::ServerStats& stats) {
    metrics_.gauge("tandem_http_connections", "Open connections to the API.")
        .set(static_cast<double>(stats.connections));
    telemetry::raise_to(metrics_.counter("tandem_http_refused_total",
                                         "Requests that the HTTP server answered by itself."),
                        static_cast<std::int64_t>(stats.refused));
    telemetry::raise_to(
        metrics_.counter("tandem_http_streams_dropped_total", "Streams whose reader was too slow."),
        static_cast<std::int64_t>(stats.streams_dropped));
}

void WorldMeters::measure_blobs() {
    const auto now = std::chrono::steady_clock::now();
    if (blobs_walked_.time_since_epoch().count() != 0 && now - blobs_walked_ < walk_period) return;
    blobs_walked_ = now;
    double bytes = 0;
    double files = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(home_.blobs(), error), end; !error && at != end;
         at.increment(error)) {
        std::error_code gone;
        if (!at->is_regular_file(gone)) continue;
        const auto size = at->file_size(gone);
        if (gone) continue;
        bytes += static_cast<double>(size);
        files += 1;
    }
    metrics_.gauge("tandem_blob_bytes", "Bytes of kept files, uploads under way too.").set(bytes);
    metrics_.gauge("tandem_blob_files", "Kept files, uploads under way too.").set(files);
}

void WorldMeters::measure(const store::sqlite::SqliteStore& store, const http::Server* http) {
    measure_store(store);
    measure_blobs();
    if (http) measure_http(http->stats());
}

}  // namespace tandem::apps
