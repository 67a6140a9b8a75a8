// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "store/sqlite/recovery.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_parts.h"

namespace tandem::store::sqlite {
namespace {

constexpr int steps_between_stop_checks = 20'000;
constexpr unsigned decoders_max = 4;

// The file is there, and is a database; or it may be made.
Status prepare_file(const std::string& path, const std::optional<StoreMark>& mark) {
    if (!exists(path)) {
        if (mark && mark->batch > 0)
            return fail(ErrorCode::conflict,
                        path + " is gone, though a store ran here (up to batch " +
                            std::to_string(mark->batch) +
                            "); bring it back or restore a backup (to begin anew, remove " + path +
                            ".mark)");
        return create_private(path);
    }
    TANDEM_LET(header, read_header(path));
    if (!header.empty() && !is_sqlite_header(header))
        return fail(ErrorCode::invalid, path +
                                            " is not a Tandem store: it does not begin as an "
                                            "SQLite database; restore a backup");
    return {};
}

Result<Connection> open_writer(const SqliteOptions& options) {
    TANDEM_LET(connection, Connection::open(options.path, OpenMode::write));
    TANDEM_LET(mode, connection.query_text("PRAGMA journal_mode=WAL"));
    if (mode != "wal")
        return fail(ErrorCode::internal,
                    "the file system can't hold a write-ahead log (mode " + mode + ")");
    TANDEM_TRY(connection.execute(
        "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=0;"));
    TANDEM_TRY(migrate(connection));
    TANDEM_TRY(check_schema(connection));
    TANDEM_TRY(
        connection.execute("INSERT INTO meta SELECT 1, lower(hex(randomblob(16))), 1, 0, 0, 1, 0, "
                           "0, '', 0, 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM meta)"));
    TANDEM_TRY(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    // After the tables exist: a limit is for what comes in, not for the schema.
    if (options.pages_max > 0)
        TANDEM_TRY(connection.execute(
            ("PRAGMA max_page_count=" + std::to_string(options.pages_max)).c_str()));
    return connection;
}

Result<StoreMark> mark_of(Connection& connection) {
    TANDEM_LET(meta, read_meta(connection));
    TANDEM_LET(installation, connection.query_text("SELECT installation FROM meta"));
    return StoreMark{
        .installation = installation, .generation = meta.generation, .batch = meta.batch};
}

// Nothing was written, and there may be room later.
bool is_lack_of_space(const Failure& failure) {
    const int code = failure.code & 0xff;
    if (code == SQLITE_FULL) return true;
    // A failed sync says nothing of what is on the disk: never taken for a lack of space.
    const bool synced =
        failure.code != SQLITE_IOERR_FSYNC && failure.code != SQLITE_IOERR_DIR_FSYNC;
    return code == SQLITE_IOERR && synced &&
           (failure.system_error == ENOSPC || failure.system_error == EDQUOT);
}

Status quick_check(const std::string& path, const std::stop_token& stop) {
    TANDEM_LET(connection, Connection::open(path, OpenMode::read_only));
    sqlite3_progress_handler(
        connection.handle(), steps_between_stop_checks,
        [](void* token) {
            return static_cast<const std::stop_token*>(token)->stop_requested() ? 1 : 0;
        },
        const_cast<std::stop_token*>(&stop));
    TANDEM_LET(verdict, connection.query_text("PRAGMA quick_check(1)"));
    if (verdict != "ok")
        return fail(ErrorCode::internal, "the store is damaged: " + verdict + "; restore a backup");
    return {};
}

}  // namespace

SqliteStore::Parts::Parts(SqliteOptions given, telemetry::Log given_log, Connection connection,
                          KindNumbers numbers, std::unique_ptr<ReaderPool> readers)
    : options(std::move(given)),
      log(std::move(given_log)),
      writer(std::move(connection)),
      kinds(numbers),
      pool(std::move(readers)),
      reader(*pool, kinds),
      batches(writer, kinds,
              {.change_rows_max = options.change_rows_max,
               .change_age_max = options.change_age_max,
               .segment_bytes_max = options.segment_bytes_max}),
      keeper(writer, *pool, options, log),
      watch(options.path) {}

SqliteStore::SqliteStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(SqliteOptions options, telemetry::Log log) {
    TANDEM_LET(restored, apply_staged_restore(options.path));
    TANDEM_LET(mark, read_mark(options.path));
    TANDEM_TRY(prepare_file(options.path, mark));
    auto writer = open_writer(options);
    if (!writer) return in_context("opening store " + options.path, writer.error());
    TANDEM_LET(found, mark_of(*writer));
    if (mark) TANDEM_TRY(check_mark(*mark, found, options.path));
    TANDEM_TRY(write_mark(options.path, found));
    TANDEM_LET(kinds, KindNumbers::load(*writer));
    TANDEM_LET(pool, ReaderPool::open(options.path, options.readers));
    log.info("store open", {{"path", options.path},
                            {"sqlite", sqlite3_libversion()},
                            {"generation", found.generation},
                            {"batch", found.batch},
                            {"restored", restored}});
    auto parts = std::make_unique<Parts>(std::move(options), std::move(log), *std::move(writer),
                                         kinds, std::move(pool));
    parts->restored = restored;
    return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(parts)));
}

SqliteStore::~SqliteStore() {
    parts_->checker = {};  // asks it to stop, and waits
    if (parts_->ended) return;
    if (const auto mark = mark_of(parts_->writer)) (void)write_mark(parts_->options.path, *mark);
}

Result<core::RecoveredState> SqliteStore::recover() {
    TANDEM_LET(transaction, Transaction::begin(parts_->writer, "BEGIN"));
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, decoders_max);
    auto state = read_state(parts_->writer, threads);
    if (!state) return in_context("reading store " + parts_->options.path, state.error());
    return state;
}

Status SqliteStore::open_segment(const model::CoreMeta& meta, std::string_view core_version,
                                 const model::LiveMemory* live) {
    Parts& parts = *parts_;
    if (parts.ended) return fail(ErrorCode::unavailable, "the store has failed before");
    Failure failure{};  // as it was before the transaction is rolled back
    const auto write = [&]() -> Status {
        TANDEM_TRY(parts.batches.write_meta(meta));
        TANDEM_TRY(close_segment(parts.writer, meta.segment - 1));
        TANDEM_TRY(write_segment(parts.writer, meta, core_version, live));
        return forget_segments(parts.writer, parts.options.segment_bytes_max);
    };
    const auto open = [&]() -> Status {
        TANDEM_LET(transaction, Transaction::begin(parts.writer));
        Status written = write();
        if (written) written = transaction.commit();
        if (!written) failure = parts.writer.failure();
        return written;
    };
    if (const Status written = open(); !written) {
        parts.writer.reset_kept();
        const bool passes =
            failure.code == 0 || is_lack_of_space(failure) || (failure.code & 0xff) == SQLITE_BUSY;
        if (!passes) parts.ended = true;  // the next commit says so
        parts.batches.put_off_segment();
        parts.log.warn("a replay segment can't be opened now",
                       {{"detail", written.error().message}});
        return written;
    }
    parts.batches.begin_segment();
    if (live != nullptr) parts.log.info("replay segment opened", {{"segment", meta.segment}});
    if (!parts.keeper.after_commit()) parts.ended = true;
    return {};
}

bool SqliteStore::segment_is_full() const {
    const SegmentLog& log = parts_->batches.segment_log();
    const SqliteOptions& options = parts_->options;
    return !parts_->ended && log.rows > 0 &&
           (log.bytes >= options.segment_log_bytes_max ||
            log.rows >= options.segment_log_rows_max ||
            log.newest - log.begun >= options.segment_age_max);
}

core::CommitOutcome SqliteStore::commit(const model::BatchRecord& record) {
    Parts& parts = *parts_;
    const auto end = [&](std::string_view why, std::string_view detail) {
        parts.ended = true;
        parts.log.error("store failed: the process must end", {{"why", why}, {"detail", detail}});
        return core::CommitOutcome::fatal;
    };
    if (parts.ended) return core::CommitOutcome::fatal;
    if (parts.damaged || parts.pool->is_damaged())
        return end("damaged", "a reader met a damaged page");
    if (!parts.watch.is_unmoved())
        return end("moved", "the file was replaced or deleted while it was open");

    const auto write = [&]() -> Status {
        TANDEM_LET(begin, parts.writer.prepared("BEGIN IMMEDIATE"));
        TANDEM_LET(commit, parts.writer.prepared("COMMIT"));
        TANDEM_TRY(begin->run());
        TANDEM_TRY(parts.batches.write(record));
        return commit->run();
    };
    if (const Status written = write(); !written) {
        const Failure failure = parts.writer.failure();
        parts.writer.reset_kept();
        const bool rolled_back =
            !parts.writer.in_transaction() || parts.writer.execute("ROLLBACK").has_value();
        if (rolled_back && (failure.code & 0xff) == SQLITE_BUSY) {
            ++parts.busy_commits;
            parts.log.warn("another program holds the store's file",
                           {{"detail", written.error().message}});
            return core::CommitOutcome::busy;
        }
        if (!rolled_back || !is_lack_of_space(failure))
            return end("commit", written.error().message);
        ++parts.full_commits;
        parts.log.warn("no space for a commit", {{"detail", written.error().message}});
        return core::CommitOutcome::full;
    }
    if (!parts.keeper.after_commit())
        parts.ended = true;  // this batch is durable; the next is refused
    return core::CommitOutcome::committed;
}

core::StoreReader& SqliteStore::reader() {
    return parts_->reader;
}

void SqliteStore::check_in_background(std::function<void(Status)> done) {
    parts_->checker =
        std::jthread([parts = parts_.get(), done = std::move(done)](const std::stop_token& stop) {
            const Status checked = quick_check(parts->options.path, stop);
            if (stop.stop_requested()) return;
            if (!checked && checked.error().code != ErrorCode::unavailable) parts->damaged = true;
            done(checked);
        });
}

Status SqliteStore::check_now(const std::stop_token& stop) {
    const Status checked = quick_check(parts_->options.path, stop);
    if (!checked && checked.error().code != ErrorCode::unavailable) parts_->damaged = true;
    return checked;
}

Result<BackupFacts> SqliteStore::back_up_to(const std::string& target,
                                            const std::stop_token& stop) {
    return make_backup(parts_->options.path, target, stop);
}

Result<BackupFacts> SqliteStore::stage_restore_from(const std::string& backup) {
    return stage_restore(parts_->options.path, backup);
}

bool SqliteStore::was_restored() const {
    return parts_->restored;
}

void SqliteStore::release_memory() {
    parts_->writer.release_memory();
    parts_->pool->release_memory();
}

StoreStatistics SqliteStore::statistics() const {
    return {.wal_bytes = parts_->keeper.wal_bytes(),
            .checkpoints = parts_->keeper.checkpoints(),
            .truncations = parts_->keeper.truncations(),
            .full_commits = parts_->full_commits,
            .busy_commits = parts_->busy_commits};
}

}  // namespace tandem::store::sqlite
