// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <cerrno>

#include "store/sqlite/store_parts.h"

namespace tandem::store::sqlite {
namespace {

constexpr std::chrono::milliseconds shut_max{200};  // readers' slices are shorter by far
constexpr std::array<std::string_view, 3> file_suffixes{"", "-wal", "-shm"};

std::int64_t pages_of(std::int64_t bytes, std::int64_t page_bytes) {
    return std::max<std::int64_t>(1, bytes / page_bytes);
}

}  // namespace

LogKeeper::LogKeeper(Connection& writer, ReaderPool& pool, const SqliteOptions& options,
                     const telemetry::Log& log)
    : writer_(&writer),
      pool_(&pool),
      log_(log),
      passive_pages_(pages_of(options.wal_passive_bytes, page_bytes)),
      truncate_pages_(pages_of(options.wal_truncate_bytes, page_bytes)),
      next_passive_(passive_pages_),
      next_truncate_(truncate_pages_) {
    sqlite3_wal_hook(
        writer.handle(),
        [](void* keeper, sqlite3*, const char*, int pages) {
            static_cast<LogKeeper*>(keeper)->pages_ = pages;
            return SQLITE_OK;
        },
        this);
}

bool LogKeeper::checkpoint(int mode) {
    int in_log = 0;
    int moved = 0;
    const int code = sqlite3_wal_checkpoint_v2(writer_->handle(), nullptr, mode, &in_log, &moved);
    const int system_error = sqlite3_system_errno(writer_->handle());
    ++checkpoints_;
    next_passive_ = (code == SQLITE_OK && moved >= in_log ? 0 : in_log) + passive_pages_;
    if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
        return true;
    if ((code & 0xff) == SQLITE_FULL || ((code & 0xff) == SQLITE_IOERR && system_error == ENOSPC)) {
        // What was committed is in the log; it is moved when there is space again.
        log_.warn("no space to move the log into the database");
        return true;
    }
    log_.error("checkpoint failed",
               {{"error", describe_failure(writer_->handle(), "checkpoint").message}});
    return false;
}

bool LogKeeper::truncate() {
    const bool alone = pool_->gate().shut(shut_max);
    sqlite3_busy_timeout(writer_->handle(), 0);
    const std::int64_t before = pages_;
    const bool usable = !alone || checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
    sqlite3_busy_timeout(writer_->handle(), 2000);
    pool_->gate().open();
    // A long reader (a backup, the background check) may stand in the way: not again at each
    // commit.
    const auto left =
        identify(sqlite3_db_filename(writer_->handle(), "main") + std::string("-wal"));
    const auto bytes =
        left ? size_of(sqlite3_db_filename(writer_->handle(), "main") + std::string("-wal"))
             : Result<std::int64_t>(0);
    if (bytes && *bytes == 0) {
        ++truncations_;
        pages_ = 0;
        next_truncate_ = truncate_pages_;
    } else {
        next_truncate_ = before + truncate_pages_ / 4 + 1;
    }
    return usable;
}

bool LogKeeper::after_commit() {
    if (pages_ < next_passive_ && pages_ < next_truncate_) {
        // The log has begun anew since a truncation was put off.
        if (pages_ < truncate_pages_) next_truncate_ = truncate_pages_;
        return true;
    }
    if (pages_ >= next_truncate_) return truncate();
    const bool put_off = next_truncate_ > truncate_pages_;
    const bool usable = checkpoint(SQLITE_CHECKPOINT_PASSIVE);
    // All was moved, so whoever stood in the way is done.
    const bool all = next_passive_ == passive_pages_;
    return usable && put_off && all ? truncate() : usable;
}

FileWatch::FileWatch(const std::string& database)
    : database_(database), looked_(std::chrono::steady_clock::now()) {
    for (std::size_t i = 0; i < file_suffixes.size(); ++i)
        seen_[i] = identify(database + std::string(file_suffixes[i]));
}

bool FileWatch::is_unmoved() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < std::chrono::seconds(1)) return true;
    looked_ = now;
    for (std::size_t i = 0; i < file_suffixes.size(); ++i)
        if (seen_[i] && identify(database_ + std::string(file_suffixes[i])) != seen_[i])
            return false;
    return true;
}

}  // namespace tandem::store::sqlite
