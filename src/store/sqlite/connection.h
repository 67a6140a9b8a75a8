// SPDX-License-Identifier: Apache-2.0
// Connection and Statement: a thin, typed face over SQLite's C interface. SQL texts are constants of the
// program; every value is a bound parameter. Errors are values: code internal, storage_full or unavailable,
// with SQLite's own words; failure() keeps the extended code for whoever must judge it.
//
// Thread rule: a connection and its statements have one owner at a time; interrupt() is for any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tandem::store::sqlite {

struct Blob {
    std::string_view bytes;
};

struct Failure {
    int code = 0;         // SQLite's extended result code; 0: none yet
    int system_error = 0; // errno of the call beneath
};

class Statement {
  public:
    Statement() = default;
    explicit Statement(sqlite3_stmt* prepared) : prepared_(prepared) {}

    // Gives parameters 1, 2, ... their values. Texts are not copied: they must live until the last step.
    template <class... T>
    void start(const T&... values) {
        reset();
        int index = 0;
        (bind(++index, values), ...);
    }
    Result<bool> step();  // false: no further row
    template <class... T>
    Status run(const T&... values) {
        start(values...);
        return finish();
    }
    Status finish();  // steps once and resets: for statements that give no rows
    void reset();
    void bind(int index, std::int64_t value);
    void bind(int index, std::string_view value);
    void bind(int index, Blob value);
    void bind(int index, std::nullptr_t);

    std::int64_t integer(int column) const;
    std::string_view text(int column) const;  // until the next step
    bool is_null(int column) const;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* prepared) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> prepared_{};
};

enum class OpenMode : std::uint8_t { write, read_only };

class Connection {
  public:
    // The file must exist; ":memory:" may be written.
    static Result<Connection> open(const std::string& path, OpenMode mode);

    Status execute(const char* sql);  // one or more statements without parameters
    Result<Statement> prepare(std::string_view sql);
    // A statement that is kept for the next use of the same text.
    Result<Statement*> prepared(std::string_view sql);
    void reset_kept();  // ends what a kept statement was still reading
    // The first column of the only row.
    Result<std::int64_t> query_integer(std::string_view sql);
    Result<std::string> query_text(std::string_view sql);

    bool in_transaction() const;
    std::int64_t changed_rows() const;  // by the last statement
    Failure failure() const;            // of the last call that failed
    void interrupt();
    void release_memory();  // gives back cached pages that nothing needs now
    sqlite3* handle() const { return handle_.get(); }

  private:
    struct Close {
        void operator()(sqlite3* handle) const;
    };
    explicit Connection(sqlite3* handle) : handle_(handle) {}
    std::unique_ptr<sqlite3, Close> handle_{};
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    // After handle_: finalised before it closes.
    std::unordered_map<std::string, Statement, TextHash, std::equal_to<>> kept_{};
};

// A transaction that is rolled back unless it was committed.
class Transaction {
  public:
    static Result<Transaction> begin(Connection& connection, const char* how = "BEGIN IMMEDIATE");
    Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Status commit();

  private:
    explicit Transaction(Connection& connection) : connection_(&connection) {}
    Connection* connection_ = nullptr;
};

Error describe_failure(sqlite3* handle, std::string_view doing);

}  // namespace tandem::store::sqlite
