// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/store_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tandem::store::sqlite {
namespace {

std::unexpected<Error> failed(const std::string& doing, const std::string& path) {
    const int error = errno;
    const bool full = error == ENOSPC || error == EDQUOT;
    return fail(full ? ErrorCode::storage_full : ErrorCode::internal,
                doing + " " + path + ": " + std::strerror(error));
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

  private:
    int number_;
};

Status write_all(int descriptor, const char* bytes, std::size_t size, const std::string& path) {
    while (size > 0) {
        const ssize_t written = ::write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return failed("writing", path);
        bytes += written;
        size -= static_cast<std::size_t>(written);
    }
    return {};
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string mark_path(const std::string& database) {
    return database + ".mark";
}

}  // namespace

bool exists(const std::string& path) {
    return identify(path).has_value();
}

Status create_private(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
    if (!file) return failed("creating", path);
    return sync_folder_of(path);
}

Status sync_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || ::fsync(file.number()) != 0) return failed("syncing", path);
    return {};
}

Status sync_folder_of(const std::string& path) {
    return sync_file(folder_of(path));
}

Status rename_durably(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) return failed("renaming " + from + " to", to);
    return sync_folder_of(to);
}

Status copy_durably(const std::string& from, const std::string& to) {
    const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) return failed("opening", from);
    const std::string partial = to + ".partial";
    const Descriptor target(
        ::open(partial.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    if (!target) return failed("creating", partial);
    std::string buffer(1 << 20, '\0');
    while (true) {
        const ssize_t got = ::read(source.number(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed("reading", from);
        if (got == 0) break;
        TANDEM_TRY(
            write_all(target.number(), buffer.data(), static_cast<std::size_t>(got), partial));
    }
    if (::fsync(target.number()) != 0) return failed("syncing", partial);
    return rename_durably(partial, to);
}

Status remove_if_there(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("removing", path);
    return {};
}

Result<std::int64_t> size_of(const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) return failed("looking at", path);
    return static_cast<std::int64_t>(facts.st_size);
}

Result<std::string> read_header(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return failed("opening", path);
    std::string header(100, '\0');
    const ssize_t got = ::pread(file.number(), header.data(), header.size(), 0);
    if (got < 0) return failed("reading", path);
    header.resize(static_cast<std::size_t>(got));
    return header;
}

bool is_sqlite_header(const std::string& header) {
    return header.size() == 100 && header.starts_with(std::string("SQLite format 3\0", 16));
}

bool is_log_mode_header(const std::string& header) {
    return header.size() == 100 && (header[18] == 2 || header[19] == 2);
}

std::optional<FileIdentity> identify(const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
    return FileIdentity{.device = facts.st_dev, .inode = facts.st_ino};
}

Result<std::optional<StoreMark>> read_mark(const std::string& database) {
    std::ifstream file(mark_path(database));
    if (!file) return std::nullopt;
    std::string word;
    int form = 0;
    StoreMark mark;
    file >> word >> form >> mark.installation >> mark.generation >> mark.batch;
    if (!file || word != "tandem-store" || form != 1)
        return fail(ErrorCode::invalid, mark_path(database) + " can't be read; remove it if " +
                                            database + " is the right store");
    return mark;
}

Status write_mark(const std::string& database, const StoreMark& mark) {
    std::ostringstream text;
    text << "tandem-store 1 " << mark.installation << ' ' << mark.generation << ' ' << mark.batch
         << '\n';
    const std::string partial = mark_path(database) + ".partial";
    const Descriptor file(::open(partial.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    if (!file) return failed("creating", partial);
    const std::string bytes = text.str();
    TANDEM_TRY(write_all(file.number(), bytes.data(), bytes.size(), partial));
    if (::fsync(file.number()) != 0) return failed("syncing", partial);
    return rename_durably(partial, mark_path(database));
}

Status check_mark(const StoreMark& mark, const StoreMark& found, const std::string& database) {
    const auto refuse = [&](const std::string& what) {
        return fail(ErrorCode::conflict,
                    database + " " + what +
                        "; bring the right file back or restore a backup (if this file is "
                        "the right one, remove " +
                        mark_path(database) + ")");
    };
    if (mark.installation != found.installation) return refuse("belongs to another installation");
    if (found.generation < mark.generation) return refuse("is of before the last restore");
    if (found.generation == mark.generation && found.batch < mark.batch)
        return refuse("is older than the one that ran here: it ends at batch " +
                      std::to_string(found.batch) + ", batch " + std::to_string(mark.batch) +
                      " was seen");
    return {};
}

}  // namespace tandem::store::sqlite
