// SPDX-License-Identifier: Apache-2.0
// GgufCursor: reads a header forward through a window, so that a file of any size costs 64 KiB.
// Internal to blob. After the first error every read gives zeros; error() then says what and where.
// Thread rule: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "blob/gguf.h"

namespace tandem::blob {

class GgufCursor {
  public:
    GgufCursor(const ReadAt& read_at, std::int64_t file_bytes)
        : read_at_(&read_at), file_bytes_(file_bytes) {}

    std::uint64_t number(int bytes);  // little-endian, 1..8 bytes
    std::string text(std::uint64_t length_max, std::string_view what);
    void skip(std::uint64_t bytes, std::string_view what);

    std::int64_t offset() const { return offset_; }
    void fail_with(std::string message);
    bool failed() const { return error_.has_value(); }
    const Error& error() const { return *error_; }

  private:
    bool require(std::uint64_t bytes, std::string_view what);
    char next();

    const ReadAt* read_at_;
    std::int64_t file_bytes_;
    std::int64_t offset_ = 0;
    std::string window_{};
    std::int64_t window_offset_ = 0;
    std::optional<Error> error_{};
};

}  // namespace tandem::blob
