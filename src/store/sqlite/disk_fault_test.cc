// SPDX-License-Identifier: Apache-2.0
// A disk that refuses: writes and syncs of the real store fail one by one, beneath SQLite. What was
// answered stays, what was refused leaves no trace, and an unknown outcome ends the store.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cerrno>

#include "store/sqlite/test_fixture.h"

namespace tandem::store::sqlite {
namespace {

using core::CommitOutcome;

// The unix VFS with two calls replaced. SQLite's face is C: state stands here, for the tests of
// this file alone.
struct Disk {
    int writes_until_fault = -1;  // -1: none
    int syncs_until_fault = -1;
    int fault = 0;         // errno
    bool lasting = false;  // every later call too
    int type = 0;          // SQLITE_OPEN_MAIN_DB or SQLITE_OPEN_WAL; 0: both
    int fired = 0;

    bool fires(int& countdown) {
        if (countdown < 0 || countdown-- > 0) return false;
        if (lasting) countdown = 0;
        ++fired;
        return true;
    }
};
Disk disk;
const sqlite3_io_methods* original_of[2];
sqlite3_io_methods patched[2];
sqlite3_vfs* real_vfs;
sqlite3_vfs faulty_vfs;

int index_of(const sqlite3_file* file) {
    return file->pMethods == &patched[1];
}
bool concerns(const sqlite3_file* file) {
    return disk.type == 0 || (disk.type == SQLITE_OPEN_WAL) == (index_of(file) == 1);
}

int faulty_write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    if (concerns(file) && disk.fires(disk.writes_until_fault)) {
        if (disk.fault == ENOSPC) {  // part of it has arrived, as it does on a disk that fills up
            original_of[index_of(file)]->xWrite(file, bytes, size / 2, offset);
            return SQLITE_FULL;
        }
        return SQLITE_IOERR_WRITE;
    }
    return original_of[index_of(file)]->xWrite(file, bytes, size, offset);
}
int faulty_sync(sqlite3_file* file, int flags) {
    if (concerns(file) && disk.fires(disk.syncs_until_fault)) return SQLITE_IOERR_FSYNC;
    return original_of[index_of(file)]->xSync(file, flags);
}
int faulty_open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
    const int code = real_vfs->xOpen(real_vfs, name, file, flags, out);
    const int index = (flags & SQLITE_OPEN_WAL) != 0;
    if (code != SQLITE_OK || (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) return code;
    original_of[index] = file->pMethods;
    patched[index] = *file->pMethods;
    patched[index].xWrite = faulty_write;
    patched[index].xSync = faulty_sync;
    file->pMethods = &patched[index];
    return code;
}
int faulty_last_error(sqlite3_vfs*, int, char*) {
    return disk.fault;
}

class DiskFault : public SqliteFixture {
  protected:
    static void SetUpTestSuite() {
        real_vfs = sqlite3_vfs_find(nullptr);
        faulty_vfs = *real_vfs;
        faulty_vfs.zName = "faulty";
        faulty_vfs.xOpen = faulty_open;
        faulty_vfs.xGetLastError = faulty_last_error;
        sqlite3_vfs_register(&faulty_vfs, 1);
    }
    static void TearDownTestSuite() {
        sqlite3_vfs_unregister(&faulty_vfs);
        sqlite3_vfs_register(real_vfs, 1);
    }
    void TearDown() override {
        disk = {};
        store_ = nullptr;
    }
    std::int64_t stored_objects() {
        store_ = nullptr;
        open();
        const auto state = store_->recover();
        return state ? std::ssize(state->objects) : -1;
    }
    // Every write of one commit fails once, each time in another commit.
    void sweep(int fault, CommitOutcome want);
};

void DiskFault::sweep(int fault, CommitOutcome want) {
    std::int64_t kept = 0;
    int at = 0;
    for (bool fired = true; fired && at < 200; ++at) {
        resume();
        disk = {.writes_until_fault = at, .fault = fault, .type = SQLITE_OPEN_WAL};
        const model::CoreMeta before = writer_.meta;
        const CommitOutcome outcome = commit_jobs(5);
        fired = disk.fired > 0;
        disk = {};
        ASSERT_EQ(outcome, fired ? want : CommitOutcome::committed) << at;
        if (fired && want == CommitOutcome::full) {
            writer_.meta = before;  // core rolls back, and tries again
            ASSERT_EQ(commit_jobs(5), CommitOutcome::committed) << at;
        }
        if (!fired || want == CommitOutcome::full) kept += 5;
        if (want == CommitOutcome::fatal && fired)
            ASSERT_EQ(commit_jobs(1), CommitOutcome::fatal) << at;
        ASSERT_EQ(stored_objects(), kept) << at;
    }
    EXPECT_GT(at, 5);
}

TEST_F(DiskFault, no_space_at_any_write_refuses_the_batch_and_the_next_goes_through) {
    sweep(ENOSPC, CommitOutcome::full);
}

TEST_F(DiskFault, io_error_at_any_write_ends_the_store_without_a_trace_of_the_batch) {
    sweep(EIO, CommitOutcome::fatal);
}

TEST_F(DiskFault, failed_sync_ends_the_store_even_when_it_says_no_space) {
    for (int fault : {EIO, ENOSPC}) {
        resume();
        disk = {.syncs_until_fault = 0, .fault = fault, .type = SQLITE_OPEN_WAL};
        EXPECT_EQ(commit_jobs(5), CommitOutcome::fatal);
        EXPECT_EQ(disk.fired, 1);
        disk = {};
        EXPECT_EQ(commit_jobs(5), CommitOutcome::fatal);
        EXPECT_EQ(stored_objects() % 5, 0);  // unknown, but never half of it
    }
}

TEST_F(DiskFault, no_space_for_the_database_leaves_commits_in_the_log) {
    store_ = nullptr;
    open({.wal_passive_bytes = 64 << 10});
    disk = {.writes_until_fault = 0, .fault = ENOSPC, .lasting = true, .type = SQLITE_OPEN_MAIN_DB};
    for (int i = 0; i < 20; ++i) ASSERT_EQ(commit_jobs(5), CommitOutcome::committed);
    EXPECT_GT(disk.fired, 0);
    disk = {};
    EXPECT_EQ(commit_jobs(5), CommitOutcome::committed);
    EXPECT_EQ(stored_objects(), 105);
}

TEST_F(DiskFault, io_error_in_a_checkpoint_ends_the_store_after_the_durable_batch) {
    store_ = nullptr;
    open({.wal_passive_bytes = 64 << 10});
    disk = {.writes_until_fault = 0, .fault = EIO, .type = SQLITE_OPEN_MAIN_DB};
    std::int64_t kept = 0;
    while (commit_jobs(5) == CommitOutcome::committed && kept < 1000) kept += 5;
    EXPECT_EQ(disk.fired, 1);
    disk = {};
    EXPECT_EQ(stored_objects(), kept);
}

}  // namespace
}  // namespace tandem::store::sqlite
