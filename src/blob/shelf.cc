// SPDX-License-Identifier: Apache-2.0
#include "blob/shelf.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "blob/blob_files.h"

namespace tandem::blob {
namespace {

Result<std::int64_t> size_of(const std::string& path) {
    TANDEM_LET(file, File::open_to_read(path));
    return file.size();
}

void touch(const std::string& path, Instant at) {
    const timespec time{.tv_sec = at.ms / 1000, .tv_nsec = at.ms % 1000 * 1'000'000};
    const timespec both[2] = {time, time};
    ::utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW);
}

void touch_now(const std::string& path) {
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Instant changed_at(const struct stat& facts) {
    return {facts.st_mtim.tv_sec * 1000 + facts.st_mtim.tv_nsec / 1'000'000};
}

}  // namespace

Status Shelf::prepare() {
    return make_folder(folder_);
}

Result<BlobFacts> Shelf::place(const std::string& file, const crypto::Sha256Bytes& digest) {
    TANDEM_LET(bytes, size_of(file));
    const std::string hex = crypto::render_hex(digest);
    const std::string shelf = folder_ + "/" + hex.substr(0, 2);
    const std::string target = shelf + "/" + hex;
    const std::scoped_lock lock(mutex_);
    TANDEM_TRY(make_folder(shelf));
    if (const auto present = size_of(target); present && *present == bytes) {
        touch_now(target);
        TANDEM_TRY(remove_if_there(file));
    } else {
        touch_now(file);  // its bytes may have come long ago
        TANDEM_TRY(rename_durably(file, target));
    }
    return BlobFacts{.digest = crypto::render_digest(digest), .bytes = bytes};
}

Result<std::string> Shelf::path_of(std::string_view digest) const {
    TANDEM_LET(bytes, crypto::parse_digest(digest, "digest"));
    const std::string hex = crypto::render_hex(bytes);
    std::string path = folder_ + "/" + hex.substr(0, 2) + "/" + hex;
    if (!std::filesystem::exists(path))
        return fail(ErrorCode::not_found, "there is no blob " + std::string(digest), "digest");
    return path;
}

Result<BlobFacts> Shelf::hold(std::string_view digest) {
    const std::scoped_lock lock(mutex_);
    TANDEM_LET(path, path_of(digest));
    TANDEM_LET(bytes, size_of(path));
    touch_now(path);
    return BlobFacts{.digest = std::string(digest), .bytes = bytes};
}

Result<CollectFacts> Shelf::collect(const std::set<std::string>& referenced, Instant before,
                                    Instant now, const std::stop_token& stop) {
    CollectFacts collected;
    std::error_code error;
    for (auto entry = std::filesystem::recursive_directory_iterator(folder_, error);
         !error && entry != std::filesystem::end(entry) && !stop.stop_requested();
         entry.increment(error)) {
        const std::string path = entry->path().string();
        const std::string digest = "sha256:" + entry->path().filename().string();
        if (!crypto::parse_digest(digest, "digest")) continue;  // a folder, or nothing of ours
        const std::scoped_lock lock(mutex_);
        struct stat facts{};
        if (::stat(path.c_str(), &facts) != 0) continue;
        if (referenced.contains(digest)) {
            touch(path, now);
        } else if (changed_at(facts) < before) {
            TANDEM_TRY(remove_if_there(path));
            ++collected.blobs;
            collected.bytes += facts.st_size;
        }
    }
    if (error)
        return fail(ErrorCode::internal, "looking through " + folder_ + ": " + error.message());
    return collected;
}

}  // namespace tandem::blob
