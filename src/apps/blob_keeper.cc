// SPDX-License-Identifier: Apache-2.0
#include "apps/blob_keeper.h"

#include <chrono>
#include <condition_variable>
#include <future>

#include "core/references.h"

namespace tandem::apps {
namespace {

constexpr std::chrono::minutes first_wait{5};  // a start has other things to do
constexpr std::chrono::hours period{1};
constexpr std::chrono::seconds answer_wait{30};

Instant wall_now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace

BlobKeeper::BlobKeeper(server::CoreThread& core, blob::BlobStore& blobs, telemetry::Log log,
                       telemetry::Metrics& metrics)
    : core_(core),
      blobs_(blobs),
      log_(std::move(log)),
      removed_(metrics.counter("tandem_blobs_collected_total",
                               "Blobs that no row referred to, removed.")),
      uploads_(metrics.counter("tandem_blob_uploads_dropped_total",
                               "Uploads that nobody went on with, removed.")),
      bytes_(
          metrics.counter("tandem_blob_bytes_freed_total", "Bytes of removed blobs and uploads.")),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Result<blob::CollectFacts> BlobKeeper::collect(const std::stop_token& stop) {
    const std::lock_guard lock(mutex_);
    // Shared: a query that is never run (the server stops) must not find its promise gone.
    auto told = std::make_shared<std::promise<std::set<std::string>>>();
    auto waiting = told->get_future();
    TANDEM_TRY(core_.query(
        [told](const core::State& state) { told->set_value(core::referenced_blobs(state)); }));
    const auto end = std::chrono::steady_clock::now() + answer_wait;
    while (waiting.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        if (stop.stop_requested() || std::chrono::steady_clock::now() > end)
            return fail(ErrorCode::unavailable,
                        "the server does not say now what is in use; try again");
    TANDEM_LET(facts, blobs_.collect(waiting.get(), wall_now(), stop));
    removed_.add(facts.blobs);
    uploads_.add(facts.uploads);
    bytes_.add(facts.bytes);
    return facts;
}

void BlobKeeper::run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    for (std::chrono::minutes wait = first_wait; !stop.stop_requested(); wait = period) {
        wake.wait_for(lock, stop, wait, [] { return false; });
        if (stop.stop_requested()) return;
        if (const auto done = collect(stop); !done)
            log_.warn("blobs can't be collected", {{"error", done.error().message}});
    }
}

}  // namespace tandem::apps
