// SPDX-License-Identifier: Apache-2.0
// What only the SQLite store promises: its file survives kills, upgrades, damage and lack of space,
// or says why not.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_files.h"
#include "store/sqlite/test_fixture.h"

namespace tandem::store::sqlite {
namespace {

using core::CommitOutcome;

TEST_F(SqliteFixture, files_are_private) {
    commit_jobs(1);
    for (const char* suffix : {"", "-wal", "-shm", ".mark"}) {
        struct stat facts{};
        ASSERT_EQ(::stat((path() + suffix).c_str(), &facts), 0) << suffix;
        EXPECT_EQ(facts.st_mode & 0077, 0u) << suffix;
    }
}

// A child commits until it is killed; every batch that it announced must be there, and the store
// must be whole.
TEST_F(SqliteFixture, killed_writer_loses_no_announced_batch) {
    store_ = nullptr;
    for (int round = 0; round < 5; ++round) {
        int pipe_ends[2];
        ASSERT_EQ(::pipe(pipe_ends), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            open({.wal_passive_bytes = 64 << 10, .wal_truncate_bytes = 256 << 10});
            resume();
            while (commit_jobs(20) == CommitOutcome::committed)
                if (::write(pipe_ends[1], &writer_.meta.batch, sizeof writer_.meta.batch) < 0)
                    break;
            ::_exit(1);
        }
        ::close(pipe_ends[1]);
        std::int64_t announced = 0;
        const int announcements = 3 + 5 * round;
        for (int i = 0; i < announcements; ++i)
            ASSERT_EQ(::read(pipe_ends[0], &announced, sizeof announced),
                      ssize_t{sizeof announced});
        ::kill(child, SIGKILL);
        for (std::int64_t late = 0;
             ::read(pipe_ends[0], &late, sizeof late) == ssize_t{sizeof late};)
            announced = late;
        ::close(pipe_ends[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
        open();
        const auto state = store_->recover();
        ASSERT_TRUE(state.has_value());
        EXPECT_GE(state->meta.batch, announced);
        EXPECT_LE(state->meta.batch, announced + 1);
        EXPECT_EQ(std::ssize(state->objects), state->meta.batch * 20);
        store_ = nullptr;
        EXPECT_TRUE(check_store(path()).has_value());
    }
}

TEST_F(SqliteFixture, log_is_moved_and_cut_back_while_readers_read) {
    store_ = nullptr;
    open({.wal_passive_bytes = 256 << 10, .wal_truncate_bytes = 1 << 20});
    std::atomic<bool> stop = false;
    std::atomic<int> reads = 0;
    std::thread reader([&] {
        while (!stop) {
            const auto page = store_->reader().list(
                {.kind = model::Kind::job, .scope = everything, .limit = 500});
            EXPECT_TRUE(page.has_value());
            ++reads;
        }
    });
    std::int64_t largest = 0;
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(commit_jobs(20), CommitOutcome::committed);
        largest = std::max(largest, size_of(path() + "-wal").value_or(0));
    }
    stop = true;
    reader.join();
    EXPECT_GT(reads, 0);
    EXPECT_GT(store_->statistics().checkpoints, 0);
    EXPECT_LT(largest, 8 << 20);
}

TEST_F(SqliteFixture, log_held_by_a_long_reader_is_cut_back_when_that_one_is_done) {
    store_ = nullptr;
    open({.wal_passive_bytes = 64 << 10, .wal_truncate_bytes = 256 << 10});
    auto held = Connection::open(path(), OpenMode::read_only);
    ASSERT_TRUE(held && held->execute("BEGIN; SELECT version FROM meta;"));
    for (int i = 0; i < 20; ++i) ASSERT_EQ(commit_jobs(20), CommitOutcome::committed);
    EXPECT_EQ(store_->statistics().truncations, 0);
    EXPECT_GT(store_->statistics().wal_bytes, 256 << 10);
    ASSERT_TRUE(held->execute("COMMIT"));
    for (int i = 0; i < 20 && store_->statistics().truncations == 0; ++i)
        ASSERT_EQ(commit_jobs(20), CommitOutcome::committed);
    EXPECT_GT(store_->statistics().truncations, 0);
}

TEST_F(SqliteFixture, file_held_by_another_program_is_busy_and_no_lack_of_space) {
    ASSERT_EQ(commit_jobs(1), core::CommitOutcome::committed);
    auto other = Connection::open(path(), OpenMode::write);
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->execute("BEGIN IMMEDIATE"));
    const Writer before = writer_;
    EXPECT_EQ(commit_jobs(1), core::CommitOutcome::busy);
    EXPECT_EQ(store_->statistics().busy_commits, 1);
    EXPECT_EQ(store_->statistics().full_commits, 0);
    ASSERT_TRUE(other->execute("ROLLBACK"));
    writer_ = before;
    EXPECT_EQ(commit_jobs(1), core::CommitOutcome::committed);
}

TEST_F(SqliteFixture, full_store_takes_batches_again_when_there_is_room) {
    store_ = nullptr;
    open({.pages_max = 150});
    while (commit_jobs(10) == CommitOutcome::committed) {
    }
    const std::int64_t refused = store_->statistics().full_commits;
    EXPECT_EQ(refused, 1);
    const auto before =
        store_->reader().list({.kind = model::Kind::job, .scope = everything, .limit = 1});
    ASSERT_TRUE(before.has_value());
    store_ = nullptr;
    open({.pages_max = 400});
    resume();
    EXPECT_EQ(commit_jobs(10), CommitOutcome::committed);
    EXPECT_EQ(store_->reader()
                  .list({.kind = model::Kind::job, .scope = everything, .limit = 1})
                  ->remaining,
              before->remaining + 10);
}

TEST_F(SqliteFixture, replaced_or_deleted_file_ends_the_store) {
    for (const char* suffix : {"", "-wal"}) {
        ASSERT_EQ(commit_jobs(1), CommitOutcome::committed);
        ASSERT_EQ(::rename((path() + suffix).c_str(), (path() + ".away").c_str()), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // it looks once a second
        EXPECT_EQ(commit_jobs(1), CommitOutcome::fatal) << suffix;
        EXPECT_EQ(commit_jobs(1), CommitOutcome::fatal) << suffix;
        SetUp();
    }
}

TEST_F(SqliteFixture, vanished_older_and_foreign_files_are_refused_at_open) {
    commit_jobs(1);
    store_ = nullptr;
    const std::string copy = folder_ / "old.db";
    ASSERT_TRUE(copy_durably(path(), copy));
    open();
    resume();
    commit_jobs(1);
    store_ = nullptr;
    ASSERT_TRUE(copy_durably(path(), folder_ / "new.db"));

    ASSERT_TRUE(copy_durably(copy, path()));
    EXPECT_NE(open_error().find("is older than the one that ran here"), std::string::npos)
        << open_error();
    ASSERT_TRUE(remove_if_there(path()));
    EXPECT_NE(open_error().find("is gone"), std::string::npos) << open_error();
    ASSERT_TRUE(copy_durably(folder_ / "new.db", path()));
    EXPECT_EQ(open_error(), "");

    const std::string other = folder_ / "other.db";
    {
        const auto opened = SqliteStore::open({.path = other});
        ASSERT_TRUE(opened.has_value());
    }
    ASSERT_TRUE(copy_durably(other, path()));
    EXPECT_NE(open_error().find("another installation"), std::string::npos) << open_error();
}

TEST_F(SqliteFixture, damaged_files_are_refused_and_named) {
    commit_jobs(300);
    store_ = nullptr;
    std::ifstream file(path(), std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(file)), {});
    const auto with = [&](std::string bytes) {
        std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
        const std::string error = open_error();
        if (!error.empty()) return error;
        const auto state = store_->recover();
        return state ? std::string() : state.error().message;
    };
    EXPECT_NE(
        with("this is a text file, no database, and a rather long one: " + std::string(100, 'x'))
            .find("not a Tandem store"),
        std::string::npos);
    EXPECT_NE(with(good.substr(0, 50)).find("not a Tandem store"), std::string::npos);
    EXPECT_NE(with(good.substr(0, good.size() / 2)).find("malformed"), std::string::npos);
    EXPECT_EQ(with(good), "");
}

TEST_F(SqliteFixture, damage_inside_is_found_in_the_background_and_ends_the_store) {
    commit_jobs(600);
    store_ = nullptr;
    {
        std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(0, std::ios::end);
        const auto pages = static_cast<std::int64_t>(file.tellp()) / 4096;
        for (std::int64_t page = pages / 2; page < pages / 2 + 20; ++page) {
            file.seekp(page * 4096);
            file << std::string(64, '\xff');
        }
    }
    EXPECT_FALSE(check_store(path()).has_value());
    if (const std::string error = open_error(); !error.empty()) return;  // met at once: as good
    std::promise<Status> checked;
    store_->check_in_background([&](Status status) { checked.set_value(std::move(status)); });
    EXPECT_FALSE(checked.get_future().get().has_value());
    EXPECT_EQ(commit_jobs(1), CommitOutcome::fatal);
}

TEST_F(SqliteFixture, background_check_of_a_whole_store_says_so) {
    commit_jobs(100);
    std::promise<Status> checked;
    store_->check_in_background([&](Status status) { checked.set_value(std::move(status)); });
    EXPECT_TRUE(checked.get_future().get().has_value());
    EXPECT_EQ(commit_jobs(1), CommitOutcome::committed);
}

TEST_F(SqliteFixture, segment_is_full_by_rows_bytes_or_age_and_tells_what_was_live) {
    open(
        {.segment_log_bytes_max = 1 << 20, .segment_log_rows_max = 3, .segment_age_max = hours(1)});
    writer_.meta.segment = 1;
    ASSERT_TRUE(store_->open_segment(writer_.meta, "test", nullptr));
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(store_->segment_is_full());
        ASSERT_EQ(commit_jobs(1), core::CommitOutcome::committed);
    }
    EXPECT_TRUE(store_->segment_is_full());
    model::LiveMemory live;
    live.denials.push_back({.subject = "user:m", .since = writer_.now, .count = 7});
    writer_.meta.segment = 2;
    ASSERT_TRUE(store_->open_segment(writer_.meta, "test", &live));
    EXPECT_FALSE(store_->segment_is_full());
    ASSERT_EQ(commit_jobs(1), core::CommitOutcome::committed);
    EXPECT_FALSE(store_->segment_is_full());
    writer_.now = writer_.now + hours(2);
    ASSERT_EQ(commit_jobs(1), core::CommitOutcome::committed);
    EXPECT_TRUE(store_->segment_is_full());
    std::vector<std::string> heads;
    ASSERT_TRUE(store_->reader().export_history([&](std::string_view line) {
        if (line.starts_with("{\"segment\"") || line.starts_with("{\"live\""))
            heads.emplace_back(line.substr(0, 23));
        return true;
    }));
    ASSERT_EQ(heads.size(), 3u);
    EXPECT_EQ(heads[1], "{\"segment\":{\"number\":2,");
    EXPECT_TRUE(heads[2].starts_with("{\"live\":")) << heads[2];
}

TEST_F(SqliteFixture, history_of_dropped_segments_is_dropped_and_the_newest_stays) {
    store_ = nullptr;
    open({.segment_bytes_max = 100'000});
    for (int segment = 1; segment <= 6; ++segment) {
        writer_.meta.segment = segment;
        ASSERT_TRUE(store_->open_segment(writer_.meta, "test", nullptr).has_value());
        commit_jobs(30);
    }
    std::vector<std::string> segments;
    ASSERT_TRUE(store_->reader()
                    .export_history([&](std::string_view line) {
                        if (line.starts_with("{\"segment\""))
                            segments.emplace_back(line.substr(0, 23));
                        return true;
                    })
                    .has_value());
    ASSERT_GE(segments.size(), 2u);
    EXPECT_LT(segments.size(), 6u);
    EXPECT_EQ(segments.back(), "{\"segment\":{\"number\":6,");
}

TEST_F(SqliteFixture, submission_costs_at_most_six_rows) {
    const std::int64_t before = total_rows();
    constexpr int submissions = 100;
    for (int i = 0; i < submissions; ++i) add_submission(i);
    ASSERT_EQ(commit(), CommitOutcome::committed);
    // One row of the log and none new for the counters, beside those of the submissions.
    EXPECT_LE(total_rows() - before - 1, 6 * submissions);
}

// --- schema
// -----------------------------------------------------------------------------------------------

TEST(schema, failed_migration_leaves_the_version_before_and_goes_on_later) {
    auto connection = Connection::open(":memory:", OpenMode::write);
    ASSERT_TRUE(connection.has_value());
    const Migration first{.number = 1, .name = "one", .sql = "CREATE TABLE a(x);"};
    const Migration broken{
        .number = 2, .name = "two", .sql = "CREATE TABLE b(x); INSERT INTO nowhere VALUES(1);"};
    const Migration mended{.number = 2, .name = "two", .sql = "CREATE TABLE b(x);"};
    const std::vector<Migration> with_broken{first, broken};
    const auto failed = migrate(*connection, with_broken);
    ASSERT_FALSE(failed.has_value());
    EXPECT_NE(failed.error().message.find("migration 2 (two)"), std::string::npos);
    EXPECT_EQ(*schema_version_of(*connection), 1);
    EXPECT_EQ(*connection->query_integer("SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);
    const std::vector<Migration> with_mended{first, mended};
    EXPECT_TRUE(migrate(*connection, with_mended).has_value());
    EXPECT_EQ(*schema_version_of(*connection), 2);
    const std::vector<Migration> older{first};
    const auto refused = migrate(*connection, older);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    EXPECT_NE(refused.error().message.find("newer"), std::string::npos);
}

TEST(schema, numbers_have_no_gap) {
    std::int64_t want = 1;
    for (const Migration& migration : migrations()) EXPECT_EQ(migration.number, want++);
}

TEST(schema, altered_tables_are_found) {
    for (const char* alteration : {"DROP INDEX objects_owner", "CREATE TABLE more(x)",
                                   "ALTER TABLE audit ADD COLUMN x INTEGER"}) {
        auto connection = Connection::open(":memory:", OpenMode::write);
        ASSERT_TRUE(connection && migrate(*connection));
        EXPECT_TRUE(check_schema(*connection).has_value());
        ASSERT_TRUE(connection->execute(alteration).has_value());
        EXPECT_FALSE(check_schema(*connection).has_value()) << alteration;
    }
}

// Each list goes by its index, with no sorting.
TEST(schema, lists_use_their_indexes) {
    auto connection = Connection::open(":memory:", OpenMode::write);
    ASSERT_TRUE(connection && migrate(*connection));
    for (const char* column : {"project", "phase", "owner"}) {
        const std::string sql =
            std::string("EXPLAIN QUERY PLAN SELECT name FROM objects INDEXED BY objects_") +
            column + " WHERE " + column + " = ?3 AND " + column +
            " <> '' AND place > ?1 AND place < ?2 ORDER BY place";
        auto plan = connection->prepare(sql);
        ASSERT_TRUE(plan.has_value()) << sql;
        ASSERT_TRUE(*plan->step());
        EXPECT_NE(std::string(plan->text(3))
                      .find("(" + std::string(column) + "=? AND rowid>? AND rowid<?)"),
                  std::string::npos)
            << plan->text(3);
        EXPECT_FALSE(*plan->step()) << plan->text(3);
    }
}

}  // namespace
}  // namespace tandem::store::sqlite
