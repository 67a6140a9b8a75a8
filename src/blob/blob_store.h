// SPDX-License-Identifier: Apache-2.0
// BlobStore: files by the SHA-256 of their content, in <folder>/sha256/<aa>/<hex>, mode 0444,
// written once. A digest is text "sha256:<64 hex>"; nothing else that callers send becomes part of
// a path.
//
// A blob comes in by an upload that can be resumed (begin, append at an offset, finish with the
// digest), or from a file of this machine (hashed and copied on a thread of the store's own). Blobs
// that no row refers to are kept 24 h, then collected. Appending hashes on the caller's thread:
// call from HTTP workers, not from core.
//
// Errors: invalid, not_found, conflict (offset: the message says where to go on), mismatch
// (digest), too_large, exhausted (too many uploads or files waiting), storage_full. Thread rule:
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "telemetry/log.h"

namespace tandem::blob {

struct BlobOptions {
    std::string folder{};  // made when it is not there; its parent must be
    std::int64_t blob_bytes_max = 1LL << 40;
    std::int64_t chunk_bytes_max = 16LL << 20;  // of one append and one read
    std::size_t uploads_max = 64;               // begun and not finished
    Duration upload_age_max = hours(24);        // since the last append
    std::size_t waiting_files_max = 64;
    Duration unreferenced_age_max = hours(24);
};

struct BlobFacts {
    std::string digest{};
    std::int64_t bytes = 0;
    bool operator==(const BlobFacts&) const = default;
};
struct UploadFacts {
    std::string id{};
    std::int64_t bytes = 0;   // of the whole, as it was announced
    std::int64_t offset = 0;  // where the next append goes
};
struct CollectFacts {
    std::int64_t blobs = 0;  // removed
    std::int64_t uploads = 0;
    std::int64_t bytes = 0;  // freed
};

class BlobStore {
  public:
    // Lets go of what an interrupted copy has left; uploads can go on.
    static Result<std::unique_ptr<BlobStore>> open(BlobOptions options, telemetry::Log log = {});
    ~BlobStore();  // waits for the file that is being copied; those that wait get unavailable

    Result<UploadFacts> begin_upload(std::int64_t bytes);
    Result<UploadFacts> find_upload(std::string_view id);
    // All of `bytes`, or nothing of it. offset must be the upload's.
    Result<UploadFacts> append(std::string_view id, std::int64_t offset, std::string_view bytes);
    // Every byte must be there, and have this digest; else the upload is gone.
    Result<BlobFacts> finish_upload(std::string_view id, std::string_view digest);
    Status cancel_upload(std::string_view id);

    // Copies a regular file; `done` is called once, on the store's thread or, at its end, on the
    // closing one.
    Status put_file(const std::string& path, std::function<void(Result<BlobFacts>)> done);

    Result<BlobFacts> find(std::string_view digest) const;
    Result<std::string> path_of(std::string_view digest) const;  // to be opened read-only
    Result<std::string> read(std::string_view digest, std::int64_t offset,
                             std::int64_t length) const;
    Status verify(std::string_view digest) const;  // reads and hashes all of it

    // As find, for whoever is about to write a row that refers to it: it stays for
    // unreferenced_age_max from now, so that a collection whose `referenced` was read before that
    // row can't take it away.
    Result<BlobFacts> hold(std::string_view digest);
    // `referenced` are the digests that rows refer to at `now`, wall time. Call it now and then.
    Result<CollectFacts> collect(const std::set<std::string>& referenced, Instant now,
                                 const std::stop_token& stop = {});

  private:
    struct Parts;
    explicit BlobStore(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace tandem::blob
