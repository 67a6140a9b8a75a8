// SPDX-License-Identifier: Apache-2.0
// BlobKeeper: removes blobs that no row refers to, 24 h after that became so, and uploads that
// nobody goes on with. Once an hour on a thread of its own, and when asked. Counted in
// tandem_blobs_collected_total, tandem_blob_uploads_dropped_total and
// tandem_blob_bytes_freed_total. Thread rule: collect() from any thread; the destructor waits for
// the file that is being removed.
#pragma once

#include <mutex>
#include <stop_token>
#include <thread>

#include "api/parts.h"
#include "blob/blob_store.h"

namespace tandem::apps {

class BlobKeeper {
  public:
    BlobKeeper(server::CoreThread& core, blob::BlobStore& blobs, telemetry::Log log,
               telemetry::Metrics& metrics);

    Result<blob::CollectFacts> collect(const std::stop_token& stop);

  private:
    void run(const std::stop_token& stop);

    server::CoreThread& core_;
    blob::BlobStore& blobs_;
    telemetry::Log log_;
    telemetry::Counter removed_;
    telemetry::Counter uploads_;
    telemetry::Counter bytes_;
    std::mutex mutex_{};  // one collection at a time
    std::jthread thread_{};
};

}  // namespace tandem::apps
