// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "shim/protocol.h"

namespace tandem::shim {

std::optional<std::string> read_file(int folder_fd, const char* name, std::size_t max) {
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    std::string content;
    char part[4096];
    ssize_t got = 0;
    while ((got = read(fd, part, sizeof part)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 || content.size() + static_cast<std::size_t>(got) > max) break;
        content.append(part, static_cast<std::size_t>(got));
    }
    close(fd);
    if (got != 0) return std::nullopt;
    return content;
}

namespace {

bool write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        ssize_t put = write(fd, content.data(), content.size());
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        content.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

}  // namespace

bool write_durably(int folder_fd, const char* name, std::string_view content) {
    std::string temporary = std::string(name) + ".new";
    int fd = openat(folder_fd, temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool written = write_all(fd, content) && fsync(fd) == 0;
    close(fd);
    return written && renameat(folder_fd, temporary.c_str(), folder_fd, name) == 0 &&
           fsync(folder_fd) == 0;
}

}  // namespace tandem::shim
