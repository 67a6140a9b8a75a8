// SPDX-License-Identifier: Apache-2.0
#include "gateway/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/relay/socket.h"

namespace tandem::gateway {

std::unexpected<Error> disk_error(std::string_view doing, const std::string& path) {
    const auto code = errno == ENOENT   ? ErrorCode::not_found
                      : errno == ENOSPC ? ErrorCode::storage_full
                                        : ErrorCode::unavailable;
    return fail(code, std::string(doing) + " " + path + ": " + std::strerror(errno));
}

Result<std::string> read_file(const std::string& path) {
    relay::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return disk_error("opening", path);
    std::string text;
    char buffer[65536];
    while (true) {
        const auto n = ::read(file.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return disk_error("reading", path);
        if (n == 0) return text;
        text.append(buffer, static_cast<std::size_t>(n));
    }
}

Status replace_file(const std::string& path, std::string_view text) {
    const std::string next = path + ".next";
    {
        relay::Fd file(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!file) return disk_error("writing", next);
        while (!text.empty()) {
            const auto n = ::write(file.get(), text.data(), text.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return disk_error("writing", next);
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        if (::fdatasync(file.get()) != 0) return disk_error("writing", next);
    }
    if (::rename(next.c_str(), path.c_str()) != 0) return disk_error("replacing", path);
    return {};
}

Status make_private_folder(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return fail(ErrorCode::unavailable, "making folder " + path + ": " + error.message());
    if (::chmod(path.c_str(), 0700) != 0) return disk_error("protecting", path);
    return {};
}

}  // namespace tandem::gateway
