// SPDX-License-Identifier: Apache-2.0
#include "blob/blob_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tandem::blob {
namespace {

std::unexpected<Error> failed(std::string_view doing, const std::string& path = {}) {
    const int error = errno;
    ErrorCode code = ErrorCode::internal;
    if (error == ENOSPC || error == EDQUOT) code = ErrorCode::storage_full;
    if (error == ENOENT) code = ErrorCode::not_found;
    return fail(
        code, std::string(doing) + (path.empty() ? "" : " " + path) + ": " + std::strerror(error));
}

Status sync_folder(const std::string& path) {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return failed("opening", path);
    const bool synced = ::fsync(folder) == 0;
    const Status status = synced ? Status{} : Status(failed("syncing", path));
    ::close(folder);
    return status;
}

}  // namespace

File::~File() {
    if (number_ >= 0) ::close(number_);
}

Result<File> File::create(const std::string& path) {
    const int number =
        ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (number < 0) return failed("creating", path);
    return File(number);
}

Result<File> File::open_to_write(const std::string& path) {
    const int number = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (number < 0) return failed("opening", path);
    return File(number);
}

Result<File> File::open_to_read(const std::string& path) {
    // O_NONBLOCK: a named pipe in a file's place must not hold the caller.
    const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (number < 0 && errno == ELOOP)
        return fail(ErrorCode::invalid, path + " is a symbolic link; name the file itself");
    if (number < 0) return failed("opening", path);
    File file(number);
    struct stat facts{};
    if (::fstat(number, &facts) != 0) return failed("looking at", path);
    if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::invalid, path + " is not a regular file");
    return file;
}

Result<std::int64_t> File::size() const {
    struct stat facts{};
    if (::fstat(number_, &facts) != 0) return failed("looking at a file");
    return static_cast<std::int64_t>(facts.st_size);
}

Status File::write_at(std::int64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(number_, bytes.data(), bytes.size(), offset);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return failed("writing a blob");
        offset += written;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<std::string> File::read_at(std::int64_t offset, std::int64_t length) const {
    std::string bytes(static_cast<std::size_t>(length), '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t got = ::pread(number_, bytes.data() + filled, bytes.size() - filled,
                                    offset + static_cast<std::int64_t>(filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed("reading a blob");
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    return bytes;
}

Status File::seal() {
    if (::fchmod(number_, 0444) != 0) return failed("making a blob read-only");
    if (::fsync(number_) != 0) return failed("syncing a blob");
    return {};
}

Status make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0) return sync_folder(path.substr(0, path.rfind('/')));
    if (errno != EEXIST) return failed("creating", path);
    return {};
}

Status rename_durably(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) return failed("renaming to", to);
    return sync_folder(to.substr(0, to.rfind('/')));
}

Status remove_if_there(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("removing", path);
    return {};
}

}  // namespace tandem::blob
