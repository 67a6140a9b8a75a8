// SPDX-License-Identifier: Apache-2.0
#include "blob/blob_store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "blob/shelf.h"
#include "blob/uploads.h"

namespace tandem::blob {
namespace {

constexpr std::int64_t copy_bytes = 1 << 20;

struct WaitingFile {
    std::string path{};
    std::function<void(Result<BlobFacts>)> done{};
};

// Hashes `file` up to `end`; copies too when there is a target.
Status hash_file(const File& file, std::int64_t end, crypto::Sha256& hash, File* target = nullptr) {
    for (std::int64_t offset = 0; offset < end;) {
        TANDEM_LET(bytes, file.read_at(offset, std::min(copy_bytes, end - offset)));
        if (bytes.empty())
            return fail(ErrorCode::invalid, "the file became shorter while it was read");
        hash.add(bytes);
        if (target != nullptr) TANDEM_TRY(target->write_at(offset, bytes));
        offset += std::ssize(bytes);
    }
    return {};
}

}  // namespace

struct BlobStore::Parts {
    explicit Parts(BlobOptions given, telemetry::Log given_log)
        : options(std::move(given)),
          log(std::move(given_log)),
          shelf(options.folder + "/sha256"),
          uploads(options.folder + "/uploads", options) {}

    void work(const std::stop_token& stop);
    Result<BlobFacts> copy_in(const std::string& path);
    Status append(Upload& upload, std::int64_t offset, std::string_view bytes);

    BlobOptions options;
    telemetry::Log log;
    Shelf shelf;
    Uploads uploads;
    std::mutex mutex{};  // waiting
    std::condition_variable_any arrived{};
    std::deque<WaitingFile> waiting{};
    std::int64_t copies = 0;
    std::jthread worker{};
};

void BlobStore::Parts::work(const std::stop_token& stop) {
    while (true) {
        std::unique_lock lock(mutex);
        if (!arrived.wait(lock, stop, [&] { return !waiting.empty(); })) break;
        const WaitingFile next = std::move(waiting.front());
        waiting.pop_front();
        lock.unlock();
        next.done(copy_in(next.path));
        if (stop.stop_requested()) break;
    }
    std::unique_lock lock(mutex);
    for (const WaitingFile& left : std::exchange(waiting, {}))
        left.done(fail(ErrorCode::unavailable, "the server is stopping"));
}

Result<BlobFacts> BlobStore::Parts::copy_in(const std::string& path) {
    TANDEM_LET(source, File::open_to_read(path));
    TANDEM_LET(size, source.size());
    if (size > options.blob_bytes_max)
        return fail(ErrorCode::too_large,
                    path + " has " + std::to_string(size) + " bytes, at most " +
                        std::to_string(options.blob_bytes_max) + " are taken");
    const std::string partial = options.folder + "/uploads/copy-" + std::to_string(++copies);
    TANDEM_LET(target, File::create(partial));
    crypto::Sha256 hash;
    Status copied = hash_file(source, size, hash, &target);
    if (copied) copied = target.seal();
    auto placed =
        copied ? shelf.place(partial, hash.finish()) : Result<BlobFacts>(pass_on(copied.error()));
    if (!placed) (void)remove_if_there(partial);
    return placed;
}

Status BlobStore::Parts::append(Upload& upload, std::int64_t offset, std::string_view bytes) {
    if (offset != upload.offset)
        return fail(ErrorCode::conflict,
                    "the upload goes on at byte " + std::to_string(upload.offset) + ", not at " +
                        std::to_string(offset),
                    "offset");
    if (std::ssize(bytes) > upload.bytes - offset)
        return fail(ErrorCode::too_large,
                    "the upload was announced with " + std::to_string(upload.bytes) +
                        " bytes, this would make " + std::to_string(offset + std::ssize(bytes)),
                    "offset");
    if (!upload.hashed) {
        crypto::Sha256 anew;
        TANDEM_TRY(hash_file(upload.file, upload.offset, anew));
        upload.hash = std::move(anew);
        upload.hashed = true;
    }
    // Bytes that a failed write has left lie beyond the offset, where the next attempt writes over
    // them.
    TANDEM_TRY(upload.file.write_at(offset, bytes));
    upload.hash.add(bytes);
    upload.offset += std::ssize(bytes);
    return {};
}

BlobStore::BlobStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<BlobStore>> BlobStore::open(BlobOptions options, telemetry::Log log) {
    auto parts = std::make_unique<Parts>(std::move(options), std::move(log));
    TANDEM_TRY(make_folder(parts->options.folder));
    TANDEM_TRY(parts->shelf.prepare());
    TANDEM_TRY(parts->uploads.load());
    parts->worker = std::jthread([p = parts.get()](const std::stop_token& stop) { p->work(stop); });
    return std::unique_ptr<BlobStore>(new BlobStore(std::move(parts)));
}

BlobStore::~BlobStore() = default;

Result<UploadFacts> BlobStore::begin_upload(std::int64_t bytes) {
    if (bytes < 1) return invalid_field("bytes", "must be 1 or more, is " + std::to_string(bytes));
    if (bytes > parts_->options.blob_bytes_max)
        return fail(ErrorCode::too_large,
                    "must be at most " + std::to_string(parts_->options.blob_bytes_max) + ", is " +
                        std::to_string(bytes),
                    "bytes");
    return parts_->uploads.begin(bytes);
}

Result<UploadFacts> BlobStore::find_upload(std::string_view id) {
    return parts_->uploads.find(id);
}

Result<UploadFacts> BlobStore::append(std::string_view id, std::int64_t offset,
                                      std::string_view bytes) {
    if (std::ssize(bytes) > parts_->options.chunk_bytes_max)
        return fail(ErrorCode::too_large, "one part has at most " +
                                              std::to_string(parts_->options.chunk_bytes_max) +
                                              " bytes, this has " + std::to_string(bytes.size()));
    TANDEM_LET(upload, parts_->uploads.take(id));
    const Status appended = parts_->append(*upload, offset, bytes);
    const UploadFacts facts{
        .id = std::string(id), .bytes = upload->bytes, .offset = upload->offset};
    parts_->uploads.give_back(*upload);
    if (!appended) return pass_on(appended.error());
    return facts;
}

Result<BlobFacts> BlobStore::finish_upload(std::string_view id, std::string_view digest) {
    TANDEM_LET(want, crypto::parse_digest(digest, "digest"));
    TANDEM_LET(upload, parts_->uploads.take(id));
    if (upload->offset != upload->bytes) {
        parts_->uploads.give_back(*upload);
        return fail(ErrorCode::conflict,
                    "the upload has " + std::to_string(upload->offset) + " of " +
                        std::to_string(upload->bytes) + " bytes; go on there",
                    "offset");
    }
    // A hash is taken over the file when it did not grow in one life of the process; what was
    // written must be what is read.
    const auto finish = [&]() -> Result<BlobFacts> {
        if (!upload->hashed) {
            crypto::Sha256 anew;
            TANDEM_TRY(hash_file(upload->file, upload->bytes, anew));
            upload->hash = std::move(anew);
        }
        const crypto::Sha256Bytes have = upload->hash.finish();
        if (have != want)
            return fail(ErrorCode::mismatch,
                        "the bytes that came have digest " + crypto::render_digest(have) +
                            ", not " + std::string(digest) + "; begin anew",
                        "digest");
        TANDEM_TRY(upload->file.seal());
        return parts_->shelf.place(upload->path, have);
    };
    auto placed = finish();
    if (!placed && placed.error().code == ErrorCode::storage_full) {
        upload->hashed = false;
        parts_->uploads.give_back(*upload);
        return placed;
    }
    (void)parts_->uploads.drop(id);
    return placed;
}

Status BlobStore::cancel_upload(std::string_view id) {
    TANDEM_TRY(parts_->uploads.take(id));
    return parts_->uploads.drop(id);
}

Status BlobStore::put_file(const std::string& path, std::function<void(Result<BlobFacts>)> done) {
    const std::scoped_lock lock(parts_->mutex);
    if (parts_->waiting.size() >= parts_->options.waiting_files_max)
        return fail(ErrorCode::exhausted, std::to_string(parts_->options.waiting_files_max) +
                                              " files wait to be stored; try again later");
    parts_->waiting.push_back({.path = path, .done = std::move(done)});
    parts_->arrived.notify_one();
    return {};
}

Result<BlobFacts> BlobStore::find(std::string_view digest) const {
    TANDEM_LET(path, parts_->shelf.path_of(digest));
    TANDEM_LET(file, File::open_to_read(path));
    TANDEM_LET(bytes, file.size());
    return BlobFacts{.digest = std::string(digest), .bytes = bytes};
}

Result<std::string> BlobStore::path_of(std::string_view digest) const {
    return parts_->shelf.path_of(digest);
}

Result<std::string> BlobStore::read(std::string_view digest, std::int64_t offset,
                                    std::int64_t length) const {
    if (offset < 0)
        return invalid_field("offset", "must be 0 or more, is " + std::to_string(offset));
    if (length < 0 || length > parts_->options.chunk_bytes_max)
        return invalid_field("length", "must be 0.." +
                                           std::to_string(parts_->options.chunk_bytes_max) +
                                           ", is " + std::to_string(length));
    TANDEM_LET(path, parts_->shelf.path_of(digest));
    TANDEM_LET(file, File::open_to_read(path));
    return file.read_at(offset, length);
}

Status BlobStore::verify(std::string_view digest) const {
    TANDEM_LET(want, crypto::parse_digest(digest, "digest"));
    TANDEM_LET(path, parts_->shelf.path_of(digest));
    TANDEM_LET(file, File::open_to_read(path));
    TANDEM_LET(bytes, file.size());
    crypto::Sha256 hash;
    TANDEM_TRY(hash_file(file, bytes, hash));
    if (hash.finish() == want) return {};
    return fail(ErrorCode::mismatch,
                "blob " + std::string(digest) + " is damaged on the disk; store it again",
                "digest");
}

Result<BlobFacts> BlobStore::hold(std::string_view digest) {
    return parts_->shelf.hold(digest);
}

Result<CollectFacts> BlobStore::collect(const std::set<std::string>& referenced, Instant now,
                                        const std::stop_token& stop) {
    const CollectFacts expired = parts_->uploads.expire(now);
    TANDEM_LET(collected, parts_->shelf.collect(
                              referenced, now - parts_->options.unreferenced_age_max, now, stop));
    collected.uploads = expired.uploads;
    collected.bytes += expired.bytes;
    if (collected.blobs + collected.uploads > 0)
        parts_->log.info("blobs collected", {{"blobs", collected.blobs},
                                             {"uploads", collected.uploads},
                                             {"bytes", collected.bytes}});
    return collected;
}

}  // namespace tandem::blob
