// SPDX-License-Identifier: Apache-2.0
#include "blob/gguf_cursor.h"

namespace tandem::blob {
namespace {

constexpr std::int64_t header_bytes_max = 64LL << 20;
constexpr std::int64_t window_bytes = 64 << 10;

}  // namespace

void GgufCursor::fail_with(std::string message) {
    if (!error_)
        error_ = Error{
            .code = ErrorCode::invalid, .message = "GGUF: " + std::move(message), .field = "file"};
}

bool GgufCursor::require(std::uint64_t bytes, std::string_view what) {
    if (error_) return false;
    if (bytes > static_cast<std::uint64_t>(file_bytes_ - offset_)) {
        fail_with("cut off: " + std::string(what) + " at byte " + std::to_string(offset_) +
                  " needs " + std::to_string(bytes) + " bytes, the file ends at " +
                  std::to_string(file_bytes_));
        return false;
    }
    if (bytes > static_cast<std::uint64_t>(header_bytes_max - offset_)) {
        fail_with("the header is larger than 64 MiB");
        return false;
    }
    return true;
}

char GgufCursor::next() {
    const std::int64_t at = offset_ - window_offset_;
    if (at < 0 || at >= std::ssize(window_)) {
        auto read = (*read_at_)(offset_, window_bytes);
        if (!read || read->empty()) {
            if (!error_)
                error_ = read ? Error{.code = ErrorCode::internal,
                                      .message = "the file became shorter while it was read"}
                              : read.error();
            return 0;
        }
        window_ = *std::move(read);
        window_offset_ = offset_;
    }
    return window_[static_cast<std::size_t>(offset_++ - window_offset_)];
}

std::uint64_t GgufCursor::number(int bytes) {
    if (!require(static_cast<std::uint64_t>(bytes), "a number")) return 0;
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(next())) << (8 * i);
    return error_ ? 0 : value;
}

std::string GgufCursor::text(std::uint64_t length_max, std::string_view what) {
    const std::int64_t at = offset_;
    const std::uint64_t length = number(8);
    if (length > length_max) {
        fail_with(std::string(what) + " at byte " + std::to_string(at) + " claims " +
                  std::to_string(length) + " bytes, at most " + std::to_string(length_max) +
                  " are taken");
        return {};
    }
    if (!require(length, what)) return {};
    std::string value(static_cast<std::size_t>(length), '\0');
    for (char& c : value) c = next();
    return error_ ? std::string() : value;
}

void GgufCursor::skip(std::uint64_t bytes, std::string_view what) {
    if (require(bytes, what)) offset_ += static_cast<std::int64_t>(bytes);
}

}  // namespace tandem::blob
