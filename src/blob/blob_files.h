// SPDX-License-Identifier: Apache-2.0
// Files beneath a blob store: descriptors that close themselves, whole writes, durable renames.
// Errors carry errno's words; no space is storage_full. Internal to blob. Thread rule: any thread,
// one owner a descriptor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tandem::blob {

class File {
  public:
    File() = default;
    File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    File& operator=(File&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~File();

    static Result<File> create(const std::string& path);  // mode 0600, must not exist
    static Result<File> open_to_write(const std::string& path);
    // A regular file, not reached through a link as its last part.
    static Result<File> open_to_read(const std::string& path);

    Result<std::int64_t> size() const;
    Status write_at(std::int64_t offset, std::string_view bytes);
    Result<std::string> read_at(std::int64_t offset,
                                std::int64_t length) const;  // shorter at the end
    Status seal();                                           // synced, and read-only from now on

  private:
    explicit File(int number) : number_(number) {}
    int number_ = -1;
};

Status make_folder(const std::string& path);  // mode 0700, durably; fine when it is there
Status rename_durably(const std::string& from, const std::string& to);
Status remove_if_there(const std::string& path);

}  // namespace tandem::blob
