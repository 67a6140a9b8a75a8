// SPDX-License-Identifier: Apache-2.0
// Backups: one file each, made while the store is in use, and verified before they are kept or taken back.
// A restore is staged beside the database and applied when the store is opened next; the database of before
// stays as "<path>.before-restore". No SQLite type here: callers see paths and facts.
//
// Errors: invalid (not a store, damaged: what is wrong), conflict (newer schema, file exists), storage_full.
// Thread rule: any thread, beside an open store.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tandem::store::sqlite {

struct BackupFacts {
    std::string installation{};
    std::int64_t generation = 0;
    std::int64_t schema = 0;
    std::int64_t batch = 0;
    std::int64_t version = 0;
    std::int64_t next_id = 0;
    Instant time{};            // core's time at its last batch
    std::int64_t bytes = 0;
};

// Copies the database at `source`, as it is at one moment, to a new file. Readers and the writer go on; the
// write-ahead log is not cut back meanwhile. Asked to stop: unavailable, and nothing stays.
Result<BackupFacts> make_backup(const std::string& source, const std::string& target, const std::stop_token& stop = {});
// Reads all of it: header, schema, every page and index.
Result<BackupFacts> verify_backup(const std::string& path);
// The same for a store that no server has open.
Status check_store(const std::string& database);

Result<BackupFacts> stage_restore(const std::string& database, const std::string& backup);
// Called before the database is opened. True: there was one, and it has been applied.
Result<bool> apply_staged_restore(const std::string& database);

// How far a restore jumps: more than any life of an installation between a backup and its loss.
inline constexpr std::int64_t restore_jump = 1'000'000;

}  // namespace tandem::store::sqlite
