// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "store/sqlite/backup.h"
#include "store/sqlite/store_files.h"
#include "store/sqlite/test_fixture.h"

namespace tandem::store::sqlite {
namespace {

using core::CommitOutcome;

class Backup : public SqliteFixture {
  protected:
    std::string backup() const { return folder_ / "backup.db"; }
};

TEST_F(Backup, holds_one_moment_while_the_store_is_written) {
    commit_jobs(2000);
    std::atomic<bool> stop = false;
    std::thread writing([&] {
        while (!stop) EXPECT_EQ(commit_jobs(10), CommitOutcome::committed);
    });
    const auto facts = store_->back_up_to(backup());
    stop = true;
    writing.join();
    ASSERT_TRUE(facts.has_value()) << facts.error().message;
    EXPECT_GE(facts->version, 2000);
    EXPECT_EQ((facts->version - 2000) % 10, 0);
    struct stat file{};
    ASSERT_EQ(::stat(backup().c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600u);
    EXPECT_EQ(facts->bytes, file.st_size);
    EXPECT_FALSE(exists(backup() + "-wal"));
    EXPECT_FALSE(exists(backup() + ".partial"));
    auto connection = Connection::open(backup(), OpenMode::read_only);
    ASSERT_TRUE(connection.has_value());
    EXPECT_EQ(*connection->query_integer("SELECT count(*) FROM objects"), facts->version);
}

TEST_F(Backup, never_overwrites_a_file) {
    commit_jobs(1);
    std::ofstream(backup()) << "mine";
    const auto facts = store_->back_up_to(backup());
    ASSERT_FALSE(facts.has_value());
    EXPECT_EQ(facts.error().code, ErrorCode::conflict);
    EXPECT_EQ(*size_of(backup()), 4);
}

TEST_F(Backup, restore_brings_back_the_state_and_jumps_beyond_all_that_was) {
    commit_jobs(50);
    ASSERT_TRUE(store_->back_up_to(backup()).has_value());
    commit_jobs(25);
    const model::CoreMeta last = writer_.meta;
    ASSERT_TRUE(store_->stage_restore_from(backup()).has_value());
    EXPECT_EQ(commit_jobs(1), CommitOutcome::committed);  // nothing happens before the next start
    store_ = nullptr;
    open();
    EXPECT_TRUE(store_->was_restored());
    const auto state = store_->recover();
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(state->objects.size(), 50u);
    EXPECT_EQ(state->meta.generation, 2);
    EXPECT_TRUE(state->meta.restored);
    EXPECT_EQ(state->meta.epoch_base, restore_jump);
    EXPECT_GE(state->meta.version, last.version + restore_jump);
    EXPECT_GE(state->meta.next_id, last.next_id + restore_jump);
    // Whoever watched lists again, wherever it stood.
    for (std::int64_t after : {std::int64_t{10}, last.version, last.version + 1})
        EXPECT_EQ(store_->reader().changes(after, 10).error().code, ErrorCode::gone) << after;
    EXPECT_TRUE(store_->reader().changes(state->meta.version, 10)->empty());
    // Core's first batch clears the mark; the state of before lies beside.
    resume();
    writer_.meta.restored = false;
    EXPECT_EQ(commit_jobs(1), CommitOutcome::committed);
    EXPECT_TRUE(exists(path() + ".before-restore"));
    store_ = nullptr;
    open();
    EXPECT_FALSE(store_->was_restored());
    EXPECT_FALSE(store_->recover()->meta.restored);
}

TEST_F(Backup, restore_replaces_a_damaged_store) {
    commit_jobs(50);
    ASSERT_TRUE(store_->back_up_to(backup()).has_value());
    commit_jobs(5);
    store_ = nullptr;
    std::ofstream(path(), std::ios::trunc) << "ruined";
    EXPECT_NE(open_error(), "");
    ASSERT_TRUE(stage_restore(path(), backup()).has_value());
    EXPECT_EQ(open_error(), "");
    EXPECT_EQ(store_->recover()->objects.size(), 50u);
    EXPECT_EQ(store_->recover()->meta.generation, 2);
}

TEST_F(Backup, interrupted_restore_is_done_by_the_next_start) {
    commit_jobs(50);
    ASSERT_TRUE(store_->back_up_to(backup()).has_value());
    commit_jobs(5);
    ASSERT_TRUE(store_->stage_restore_from(backup()).has_value());
    store_ = nullptr;
    // As it stands when the power goes between moving the old file away and the new one in.
    ASSERT_TRUE(rename_durably(path(), path() + ".before-restore"));
    EXPECT_EQ(open_error(), "");
    EXPECT_TRUE(store_->was_restored());
    EXPECT_EQ(store_->recover()->objects.size(), 50u);
}

TEST_F(Backup, files_that_are_no_backup_are_refused_and_nothing_is_staged) {
    commit_jobs(300);
    ASSERT_TRUE(store_->back_up_to(backup()).has_value());
    std::ifstream file(backup(), std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(file)), {});
    const auto error_of = [&](const std::string& bytes) {
        const std::string wrong = folder_ / "wrong.db";
        std::ofstream(wrong, std::ios::binary | std::ios::trunc) << bytes;
        const auto staged = store_->stage_restore_from(wrong);
        EXPECT_FALSE(exists(path() + ".restore"));
        return staged ? std::string("accepted") : staged.error().message;
    };
    EXPECT_NE(error_of("").find("not an SQLite database"), std::string::npos);
    EXPECT_NE(error_of("junk").find("not an SQLite database"), std::string::npos);
    EXPECT_NE(error_of(good.substr(0, good.size() / 2)).find("malformed"), std::string::npos)
        << error_of(good.substr(0, good.size() / 2));
    std::string flipped = good;
    for (std::size_t page = flipped.size() / 8192; page < flipped.size() / 8192 + 10; ++page)
        flipped.replace(page * 4096, 64, std::string(64, '\xff'));
    EXPECT_NE(error_of(flipped), "accepted");
    std::string log_mode = good;
    log_mode[18] = log_mode[19] = 2;
    EXPECT_NE(error_of(log_mode).find("plain copy"), std::string::npos);

    const auto altered_by = [&](const char* sql) {
        const std::string other = folder_ / "altered.db";
        EXPECT_TRUE(copy_durably(backup(), other));
        {
            EXPECT_TRUE(Connection::open(other, OpenMode::write)->execute(sql).has_value());
        }
        const auto staged = store_->stage_restore_from(other);
        return staged ? std::string("accepted") : staged.error().message;
    };
    EXPECT_NE(altered_by("CREATE TABLE more(x)").find("tables are not those"), std::string::npos);
    EXPECT_NE(altered_by("INSERT INTO schema_version VALUES(999, 'future')").find("schema is 999"),
              std::string::npos);
    EXPECT_NE(altered_by("PRAGMA application_id = 1").find("not a Tandem store"),
              std::string::npos);
    EXPECT_NE(altered_by("DELETE FROM meta").find("counters"), std::string::npos);
}

}  // namespace
}  // namespace tandem::store::sqlite
