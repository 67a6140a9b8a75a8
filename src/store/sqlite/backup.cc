// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/backup.h"

#include <sqlite3.h>

#include <algorithm>

#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/texts.h"
#include "store/sqlite/store_files.h"

namespace tandem::store::sqlite {
namespace {

constexpr int pages_at_once = 256;

Result<BackupFacts> read_facts(Connection& connection) {
    TANDEM_LET(row, connection.prepare("SELECT installation, generation, batch, version, next_id, "
                                       "time_ms FROM meta WHERE id = 1"));
    TANDEM_LET(found, row.step());
    if (!found) return fail(ErrorCode::invalid, "its row of counters is missing");
    BackupFacts facts{.installation = std::string(row.text(0)),
                      .generation = row.integer(1),
                      .batch = row.integer(2),
                      .version = row.integer(3),
                      .next_id = row.integer(4),
                      .time = Instant{row.integer(5)}};
    TANDEM_LET(schema, schema_version_of(connection));
    facts.schema = schema;
    return facts;
}

// Damage that SQLite meets is the file's fault here, not this program's.
std::unexpected<Error> not_usable(const std::string& path, Error error) {
    if (error.code == ErrorCode::internal) error.code = ErrorCode::invalid;
    return in_context(path, std::move(error));
}

Result<BackupFacts> verify(Connection& connection) {
    TANDEM_LET(schema, schema_version_of(connection));
    const std::int64_t newest = migrations().back().number;
    if (schema == 0) return fail(ErrorCode::invalid, "it is empty");
    if (schema > newest)
        return fail(ErrorCode::conflict, "its schema is " + std::to_string(schema) +
                                             ", this program knows " + std::to_string(newest) +
                                             " at most");
    TANDEM_TRY(check_schema(connection));
    TANDEM_LET(verdict, connection.query_text("PRAGMA quick_check(1)"));
    if (verdict != "ok") return fail(ErrorCode::invalid, "it is damaged: " + verdict);
    return read_facts(connection);
}

Status copy_pages(Connection& source, Connection& target, const std::stop_token& stop) {
    sqlite3_backup* copy = sqlite3_backup_init(target.handle(), "main", source.handle(), "main");
    if (copy == nullptr) return pass_on(describe_failure(target.handle(), "starting the copy"));
    int code = SQLITE_OK;
    while (code == SQLITE_OK && !stop.stop_requested())
        code = sqlite3_backup_step(copy, pages_at_once);
    sqlite3_backup_finish(copy);
    if (code == SQLITE_OK) return fail(ErrorCode::unavailable, "the server is stopping");
    if (code != SQLITE_DONE) return pass_on(describe_failure(target.handle(), "copying pages"));
    return {};
}

Status copy_database(const std::string& source, const std::string& partial,
                     const std::stop_token& stop) {
    TANDEM_LET(from, Connection::open(source, OpenMode::read_only));
    TANDEM_LET(to, Connection::open(partial, OpenMode::write));
    // A held snapshot: without it every commit meanwhile would begin the copy anew.
    TANDEM_TRY(from.execute("BEGIN; SELECT version FROM meta;"));
    TANDEM_TRY(copy_pages(from, to, stop));
    // One file, whole by itself.
    TANDEM_LET(mode, to.query_text("PRAGMA journal_mode=DELETE"));
    if (mode != "delete")
        return fail(ErrorCode::internal, "the copy stays in journal mode " + mode);
    return {};
}

}  // namespace

Result<BackupFacts> verify_backup(const std::string& path) {
    if (!exists(path)) return fail(ErrorCode::invalid, path + ": there is no such file", "path");
    TANDEM_LET(header, read_header(path));
    if (!is_sqlite_header(header))
        return fail(ErrorCode::invalid, path + ": it is not an SQLite database");
    if (is_log_mode_header(header))
        return fail(
            ErrorCode::invalid,
            path +
                ": it is a plain copy of a database in use, whose newest rows stood elsewhere; "
                "take a file that a backup has made");
    TANDEM_LET(connection, Connection::open(path, OpenMode::read_only));
    auto facts = verify(connection);
    if (!facts) return not_usable(path, facts.error());
    TANDEM_LET(bytes, size_of(path));
    facts->bytes = bytes;
    return facts;
}

Status check_store(const std::string& database) {
    TANDEM_LET(header, read_header(database));
    if (!is_sqlite_header(header))
        return fail(ErrorCode::invalid, database + ": it is not an SQLite database");
    TANDEM_LET(connection, Connection::open(database, OpenMode::read_only));
    if (auto facts = verify(connection); !facts) return not_usable(database, facts.error());
    return {};
}

Result<BackupFacts> make_backup(const std::string& source, const std::string& target,
                                const std::stop_token& stop) {
    if (exists(target)) return fail(ErrorCode::conflict, target + " exists already");
    const std::string partial = target + ".partial";
    TANDEM_TRY(remove_if_there(partial));
    TANDEM_TRY(create_private(partial));
    const auto finish = [&]() -> Result<BackupFacts> {
        TANDEM_TRY(copy_database(source, partial, stop));
        TANDEM_TRY(sync_file(partial));
        TANDEM_LET(facts, verify_backup(partial));
        TANDEM_TRY(rename_durably(partial, target));
        return facts;
    };
    auto facts = finish();
    if (!facts) {
        (void)remove_if_there(partial);
        (void)remove_if_there(partial + "-journal");
        return in_context("backup to " + target, facts.error());
    }
    return facts;
}

Result<BackupFacts> stage_restore(const std::string& database, const std::string& backup) {
    TANDEM_TRY(verify_backup(backup));
    TANDEM_TRY(copy_durably(backup, database + ".restore"));
    return verify_backup(database +
                         ".restore");  // what will be applied, as it lies on the disk now
}

namespace {

// The furthest that the installation is known to have come; the database may be damaged, which is
// why it is restored.
BackupFacts furthest_known(const std::string& database, const BackupFacts& staged) {
    BackupFacts known = staged;
    if (const auto mark = read_mark(database); mark && *mark)
        known.generation = std::max(known.generation, (*mark)->generation);
    if (!exists(database)) return known;
    auto connection = Connection::open(database, OpenMode::read_only);
    const auto present =
        connection ? read_facts(*connection) : Result<BackupFacts>(pass_on(connection.error()));
    if (!present) return known;
    known.generation = std::max(known.generation, present->generation);
    known.version = std::max(known.version, present->version);
    known.next_id = std::max(known.next_id, present->next_id);
    return known;
}

Result<StoreMark> jump(const std::string& staged, const BackupFacts& known) {
    TANDEM_LET(connection, Connection::open(staged, OpenMode::write));
    TANDEM_TRY(migrate(connection));
    TANDEM_LET(transaction, Transaction::begin(connection));
    TANDEM_TRY(drop_superseded(connection, known.version));  // whoever watched lists again
    TANDEM_LET(
        update,
        connection.prepare(
            "UPDATE meta SET generation = ?1, version = ?2, changes_floor = ?2, next_id = ?3,"
            " epoch_base = epoch_base + ?4, restored = 1 WHERE id = 1"));
    TANDEM_TRY(update.run(known.generation + 1, known.version + restore_jump,
                          known.next_id + restore_jump, restore_jump));
    TANDEM_TRY(transaction.commit());
    TANDEM_LET(facts, read_facts(connection));
    return StoreMark{
        .installation = facts.installation, .generation = facts.generation, .batch = facts.batch};
}

}  // namespace

Result<bool> apply_staged_restore(const std::string& database) {
    const std::string staged = database + ".restore";
    if (!exists(staged)) return false;
    TANDEM_LET(facts, verify_backup(staged));
    // Interrupted anywhere below, the next start does it all again: numbers only jump further.
    TANDEM_LET(mark, jump(staged, furthest_known(database, facts)));
    TANDEM_TRY(sync_file(staged));
    for (std::string_view part : {"-wal", ""}) {
        const std::string file = database + std::string(part);
        if (exists(file))
            TANDEM_TRY(rename_durably(file, database + ".before-restore" + std::string(part)));
    }
    TANDEM_TRY(remove_if_there(database + "-shm"));
    TANDEM_TRY(write_mark(database, mark));
    TANDEM_TRY(rename_durably(staged, database));
    return true;
}

}  // namespace tandem::store::sqlite
