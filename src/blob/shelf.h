// SPDX-License-Identifier: Apache-2.0
// Shelf: the finished blobs on disk. Internal to blob. The time of a file's last change says since
// when it may be unreferenced: it is set anew whenever the blob comes in again or is found to be
// referenced. Thread rule: any thread; placing and collecting exclude each other.
#pragma once

#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "blob/blob_store.h"
#include "crypto/sha256.h"

namespace tandem::blob {

class Shelf {
  public:
    explicit Shelf(std::string folder) : folder_(std::move(folder)) {}

    Status prepare();
    // Moves a sealed file in; when the blob is there already, the file goes.
    Result<BlobFacts> place(const std::string& file, const crypto::Sha256Bytes& digest);
    Result<std::string> path_of(std::string_view digest) const;
    // Unreferenced since the present moment, whatever it was before.
    Result<BlobFacts> hold(std::string_view digest);
    // Asked to stop, it leaves the rest for the next time.
    Result<CollectFacts> collect(const std::set<std::string>& referenced, Instant before,
                                 Instant now, const std::stop_token& stop);

  private:
    std::string folder_;  // .../sha256
    std::mutex mutex_{};
};

}  // namespace tandem::blob
