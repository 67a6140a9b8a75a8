// SPDX-License-Identifier: Apache-2.0
#include "blob/uploads.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/ids.h"
#include "base/quantity.h"
#include "crypto/random_bytes.h"

namespace tandem::blob {
namespace {

std::string draw_id() {
    Uid id;
    crypto::fill_random(id.bytes);
    return id.text();
}

std::unexpected<Error> unknown(std::string_view id) {
    // Only a well-formed id is shown again.
    return fail(ErrorCode::not_found,
                Uid::parse(id) ? "there is no upload " + std::string(id) + "; begin anew"
                               : "there is no such upload",
                "upload");
}

}  // namespace

Status Uploads::load() {
    TANDEM_TRY(make_folder(folder_));
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
        const std::string name = entry.path().filename().string();
        const auto bytes = name.size() > 25 && name[24] == '.' ? parse_integer(name.substr(25))
                                                               : fail(ErrorCode::invalid, "");
        if (!bytes || !Uid::parse(name.substr(0, 24))) {
            TANDEM_TRY(remove_if_there(entry.path().string()));  // what an interrupted copy left
            continue;
        }
        auto upload = std::make_shared<Upload>();
        TANDEM_LET(file, File::open_to_write(entry.path().string()));
        TANDEM_LET(size, file.size());
        upload->path = entry.path().string();
        upload->bytes = *bytes;
        upload->offset = size;
        upload->file = std::move(file);
        upload->hashed = false;
        open_.emplace(name.substr(0, 24), std::move(upload));
    }
    if (error)
        return fail(ErrorCode::internal, "looking through " + folder_ + ": " + error.message());
    return {};
}

Result<UploadFacts> Uploads::begin(std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (open_.size() >= uploads_max_)
        return fail(ErrorCode::exhausted,
                    std::to_string(uploads_max_) +
                        " uploads are open; finish or cancel one, or try again later");
    const std::string id = draw_id();
    auto upload = std::make_shared<Upload>();
    upload->path = folder_ + "/" + id + "." + std::to_string(bytes);
    upload->bytes = bytes;
    TANDEM_LET(file, File::create(upload->path));
    upload->file = std::move(file);
    open_.emplace(id, std::move(upload));
    return UploadFacts{.id = id, .bytes = bytes};
}

Result<UploadFacts> Uploads::find(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return unknown(id);
    if (found->second->busy)
        return fail(ErrorCode::conflict, "another request is at work on this upload", "upload");
    return UploadFacts{
        .id = std::string(id), .bytes = found->second->bytes, .offset = found->second->offset};
}

Result<std::shared_ptr<Upload>> Uploads::take(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return unknown(id);
    if (found->second->busy)
        return fail(ErrorCode::conflict, "another request is at work on this upload", "upload");
    found->second->busy = true;
    return found->second;
}

void Uploads::give_back(Upload& upload) {
    const std::scoped_lock lock(mutex_);
    upload.busy = false;
}

Status Uploads::drop(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return unknown(id);
    const Status removed = remove_if_there(found->second->path);
    open_.erase(found);
    return removed;
}

CollectFacts Uploads::expire(Instant now) {
    const std::scoped_lock lock(mutex_);
    CollectFacts expired;
    std::erase_if(open_, [&](const auto& entry) {
        const Upload& upload = *entry.second;
        struct stat facts{};
        const bool there = ::stat(upload.path.c_str(), &facts) == 0;
        if (upload.busy || (there && Instant{facts.st_mtim.tv_sec * 1000} >= now - age_max_))
            return false;
        expired.bytes += upload.offset;
        ++expired.uploads;
        return remove_if_there(upload.path).has_value();
    });
    return expired;
}

}  // namespace tandem::blob
