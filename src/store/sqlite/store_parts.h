// SPDX-License-Identifier: Apache-2.0
// What an open SqliteStore is made of; internal to store/sqlite. The writer's side (connection, batch writer,
// checkpoints) belongs to the driver's thread, the pool and the flags to any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "store/sqlite/batch_writer.h"
#include "store/sqlite/reader_pool.h"
#include "store/sqlite/sqlite_reader.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/store_files.h"

namespace tandem::store::sqlite {

// Checkpoints: moves the log into the database after commits.
class LogKeeper {
  public:
    LogKeeper(Connection& writer, ReaderPool& pool, const SqliteOptions& options, const telemetry::Log& log);
    // After a commit. False: the database can't be written; the store is at its end.
    bool after_commit();
    std::int64_t wal_bytes() const { return pages_.load(std::memory_order_relaxed) * page_bytes; }
    std::int64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }
    std::int64_t truncations() const { return truncations_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::int64_t page_bytes = 4096;
    bool checkpoint(int mode);
    bool truncate();

    Connection* writer_;
    ReaderPool* pool_;
    telemetry::Log log_;
    std::int64_t passive_pages_;
    std::int64_t truncate_pages_;
    std::int64_t next_passive_;   // pages in the log at which to try again
    std::int64_t next_truncate_;
    std::atomic<std::int64_t> pages_ = 0;  // in the log, set by SQLite after each commit
    std::atomic<std::int64_t> checkpoints_ = 0;
    std::atomic<std::int64_t> truncations_ = 0;
};

// Are the files that are open still the ones that the paths lead to?
class FileWatch {
  public:
    explicit FileWatch(const std::string& database);
    bool is_unmoved();  // looks at most once a second

  private:
    std::string database_;
    std::array<std::optional<FileIdentity>, 3> seen_{};
    std::chrono::steady_clock::time_point looked_{};
};

struct SqliteStore::Parts {
    Parts(SqliteOptions given, telemetry::Log given_log, Connection connection, KindNumbers numbers,
          std::unique_ptr<ReaderPool> readers);

    SqliteOptions options;
    telemetry::Log log;
    Connection writer;
    KindNumbers kinds;
    std::unique_ptr<ReaderPool> pool;
    SqliteReader reader;
    BatchWriter batches;
    LogKeeper keeper;
    FileWatch watch;
    bool restored = false;
    bool ended = false;
    std::atomic<bool> damaged = false;
    std::atomic<std::int64_t> full_commits = 0;
    std::atomic<std::int64_t> busy_commits = 0;
    std::jthread checker{};
};

}  // namespace tandem::store::sqlite
