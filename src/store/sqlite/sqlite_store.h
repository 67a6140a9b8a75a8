// SPDX-License-Identifier: Apache-2.0
// SqliteStore: core's store in one SQLite file ("<path>", with "-wal", "-shm" and ".mark" beside it).
//
// One process has it open (the caller holds the home's lock), and one connection writes and checkpoints: that
// of the thread that calls recover, open_segment and commit. Each commit is one transaction, synced before it
// returns. After a fatal outcome the store does nothing more: end the process, and recover at the next start.
// After each commit the log is moved into the database when it has grown past wal_passive_bytes, without
// waiting for readers; past wal_truncate_bytes new readers are held off for one moment and it is cut back.
//
// open() checks header, schema, mark and applies a staged restore. Errors say what is wrong and the way out.
// Thread rule: Store's functions from one thread; all others from any thread.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "core/ports.h"
#include "store/sqlite/backup.h"
#include "telemetry/log.h"

namespace tandem::store::sqlite {

struct SqliteOptions {
    std::string path{};
    std::size_t readers = 4;
    std::int64_t change_rows_max = 1'000'000;
    Duration change_age_max = hours(24);
    std::int64_t segment_bytes_max = 256LL << 20;  // kept replay segments before the newest: rows and logs
    std::int64_t segment_log_bytes_max = 64LL << 20;  // a new segment opens when the log of the newest has so much,
    std::int64_t segment_log_rows_max = 500'000;      // or so many batches,
    Duration segment_age_max = hours(12);             // or is so old: half of what changes are kept
    std::int64_t wal_passive_bytes = 8LL << 20;
    std::int64_t wal_truncate_bytes = 64LL << 20;
    std::int64_t pages_max = 0;                    // of the database, 4 KiB each; 0: no limit of its own
};

struct StoreStatistics {
    std::int64_t wal_bytes = 0;
    std::int64_t checkpoints = 0;
    std::int64_t truncations = 0;   // of the log, behind the gate
    std::int64_t full_commits = 0;  // refused for lack of space
    std::int64_t busy_commits = 0;  // refused because another program held the file
};

class SqliteStore final : public core::Store {
  public:
    static Result<std::unique_ptr<SqliteStore>> open(SqliteOptions options, telemetry::Log log = {});
    ~SqliteStore() override;

    Result<core::RecoveredState> recover() override;
    Status open_segment(const model::CoreMeta& meta, std::string_view core_version, const model::LiveMemory* live) override;
    bool segment_is_full() const override;
    core::CommitOutcome commit(const model::BatchRecord& record) override;

    core::StoreReader& reader();
    // Reads every page on a thread and a connection of its own; `done` is called there, once, or never when the
    // store is closed first. Damage also ends the store at its next commit.
    void check_in_background(std::function<void(Status)> done);
    // The same on the caller's thread; error unavailable when asked to stop.
    Status check_now(const std::stop_token& stop);
    Result<BackupFacts> back_up_to(const std::string& target, const std::stop_token& stop = {});
    Result<BackupFacts> stage_restore_from(const std::string& backup);
    // A restore was applied by open().
    bool was_restored() const;
    StoreStatistics statistics() const;
    // Between two commits, when there is little to do: what is cached goes, and comes again when it is read.
    // On the thread that commits.
    void release_memory();

  private:
    struct Parts;
    explicit SqliteStore(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace tandem::store::sqlite
