// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/connection.h"

#include <sqlite3.h>

#include <cerrno>

#include "base/assert.h"

namespace tandem::store::sqlite {
namespace {

constexpr int busy_timeout_ms = 2000;

ErrorCode code_of(int extended) {
    switch (extended & 0xff) {
        case SQLITE_FULL:
            return ErrorCode::storage_full;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_INTERRUPT:
        case SQLITE_NOMEM:
            return ErrorCode::unavailable;
        default:
            return ErrorCode::internal;
    }
}

void configure(sqlite3* handle) {
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, busy_timeout_ms);
    // The file may come from a backup that somebody else has had in hands: nothing in its schema is
    // run, and damage is found when a page is read.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_wal_autocheckpoint(handle, 0);
}

}  // namespace

Error describe_failure(sqlite3* handle, std::string_view doing) {
    const int extended = sqlite3_extended_errcode(handle);
    std::string message =
        std::string(doing) + ": " + sqlite3_errmsg(handle) + " (SQLite " + std::to_string(extended);
    if (const int system_error = sqlite3_system_errno(handle);
        (extended & 0xff) == SQLITE_IOERR && system_error != 0)
        message += ", errno " + std::to_string(system_error);
    return {.code = code_of(extended), .message = message + ")"};
}

void Statement::Finalize::operator()(sqlite3_stmt* prepared) const {
    sqlite3_finalize(prepared);
}

void Statement::reset() {
    sqlite3_reset(prepared_.get());
}

void Statement::bind(int index, std::int64_t value) {
    TANDEM_ASSERT(sqlite3_bind_int64(prepared_.get(), index, value) == SQLITE_OK,
                  "binding a number");
}

void Statement::bind(int index, std::string_view value) {
    // A null pointer would bind NULL; an empty text is no NULL.
    const char* bytes = value.data() == nullptr ? "" : value.data();
    TANDEM_ASSERT(sqlite3_bind_text64(prepared_.get(), index, bytes, value.size(), SQLITE_STATIC,
                                      SQLITE_UTF8) == SQLITE_OK,
                  "binding a text");
}

void Statement::bind(int index, Blob value) {
    const char* bytes = value.bytes.data() == nullptr ? "" : value.bytes.data();
    TANDEM_ASSERT(sqlite3_bind_blob64(prepared_.get(), index, bytes, value.bytes.size(),
                                      SQLITE_STATIC) == SQLITE_OK,
                  "binding bytes");
}

void Statement::bind(int index, std::nullptr_t) {
    TANDEM_ASSERT(sqlite3_bind_null(prepared_.get(), index) == SQLITE_OK, "binding NULL");
}

Result<bool> Statement::step() {
    const int code = sqlite3_step(prepared_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return pass_on(
        describe_failure(sqlite3_db_handle(prepared_.get()), "reading or writing a row"));
}

Status Statement::finish() {
    TANDEM_TRY(step());
    reset();
    return {};
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(prepared_.get(), column);
}

std::string_view Statement::text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(prepared_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared_.get(), column));
    return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(prepared_.get(), column) == SQLITE_NULL;
}

void Connection::Close::operator()(sqlite3* handle) const {
    sqlite3_close(handle);
}

Result<Connection> Connection::open(const std::string& path, OpenMode mode) {
    // Each connection has one owner, so that SQLite's own locks would only cost.
    const int access = mode == OpenMode::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &handle,
                                     access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    Connection connection(handle);
    if (code != SQLITE_OK) {
        if (handle == nullptr)
            return fail(ErrorCode::unavailable, "opening " + path + ": out of memory");
        return pass_on(describe_failure(handle, "opening " + path));
    }
    configure(handle);
    // Whoever writes checkpoints; a reader that closes last must not.
    if (mode == OpenMode::read_only)
        sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    TANDEM_TRY(connection.execute(
        "PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY;"));
    return connection;
}

Status Connection::execute(const char* sql) {
    if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        return pass_on(describe_failure(handle_.get(), "executing SQL"));
    return {};
}

Result<Statement> Connection::prepare(std::string_view sql) {
    sqlite3_stmt* prepared = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    if (code != SQLITE_OK)
        return pass_on(
            describe_failure(handle_.get(), "preparing " + std::string(sql.substr(0, 60))));
    return Statement(prepared);
}

Result<Statement*> Connection::prepared(std::string_view sql) {
    const auto found = kept_.find(sql);
    if (found != kept_.end()) return &found->second;
    TANDEM_LET(statement, prepare(sql));
    return &kept_.emplace(std::string(sql), std::move(statement)).first->second;
}

void Connection::reset_kept() {
    for (auto& [sql, statement] : kept_) statement.reset();
}

Result<std::int64_t> Connection::query_integer(std::string_view sql) {
    TANDEM_LET(statement, prepare(sql));
    TANDEM_LET(found, statement.step());
    if (!found) return fail(ErrorCode::internal, "no row for " + std::string(sql.substr(0, 60)));
    return statement.integer(0);
}

Result<std::string> Connection::query_text(std::string_view sql) {
    TANDEM_LET(statement, prepare(sql));
    TANDEM_LET(found, statement.step());
    if (!found) return fail(ErrorCode::internal, "no row for " + std::string(sql.substr(0, 60)));
    return std::string(statement.text(0));
}

bool Connection::in_transaction() const {
    return sqlite3_get_autocommit(handle_.get()) == 0;
}

std::int64_t Connection::changed_rows() const {
    return sqlite3_changes64(handle_.get());
}

Failure Connection::failure() const {
    return {.code = sqlite3_extended_errcode(handle_.get()),
            .system_error = sqlite3_system_errno(handle_.get())};
}

void Connection::release_memory() {
    sqlite3_db_release_memory(handle_.get());
}

void Connection::interrupt() {
    sqlite3_interrupt(handle_.get());
}

Result<Transaction> Transaction::begin(Connection& connection, const char* how) {
    TANDEM_TRY(connection.execute(how));
    return Transaction(connection);
}

Transaction::~Transaction() {
    // A failed rollback leaves the connection in a transaction, which its owner looks at.
    if (connection_ != nullptr && connection_->in_transaction())
        (void)connection_->execute("ROLLBACK");
}

Status Transaction::commit() {
    TANDEM_TRY(connection_->execute("COMMIT"));
    connection_ = nullptr;
    return {};
}

}  // namespace tandem::store::sqlite
