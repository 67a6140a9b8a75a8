// SPDX-License-Identifier: Apache-2.0
// Uploads: blobs that are coming in, one file each, named "<id>.<bytes announced>". They outlive a
// restart: the hash is then taken anew over what has arrived. Internal to blob. Thread rule: any
// thread; each upload is used by one call at a time, others get conflict.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "blob/blob_files.h"
#include "blob/blob_store.h"
#include "crypto/sha256.h"

namespace tandem::blob {

struct Upload {
    std::string path{};
    std::int64_t bytes = 0;
    std::int64_t offset = 0;
    File file{};
    crypto::Sha256 hash{};
    bool hashed = true;  // `hash` covers all up to offset; false after a restart
    bool busy = false;
};

class Uploads {
  public:
    Uploads(std::string folder, const BlobOptions& options)
        : folder_(std::move(folder)),
          uploads_max_(options.uploads_max),
          age_max_(options.upload_age_max) {}

    Status load();  // those of before a restart
    Result<UploadFacts> begin(std::int64_t bytes);
    Result<UploadFacts> find(std::string_view id);
    // The caller has it alone until give_back or drop.
    Result<std::shared_ptr<Upload>> take(std::string_view id);
    void give_back(Upload& upload);
    Status drop(std::string_view id);
    CollectFacts expire(Instant now);

  private:
    std::string folder_;
    std::size_t uploads_max_;
    Duration age_max_;
    std::mutex mutex_{};
    std::map<std::string, std::shared_ptr<Upload>, std::less<>> open_{};
};

}  // namespace tandem::blob
