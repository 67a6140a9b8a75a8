// SPDX-License-Identifier: Apache-2.0
// The raw limit of bench/core: takes the rows that a server has committed for a run of submissions and commits the same
// rows again, as many a transaction, with bare SQLite (WAL, synchronous=FULL) in a new file beside it. Nothing else
// is done: no HTTP, no JSON, no decision. Rows are read into memory before the clock starts.
//
//   raw-commits STORE TARGET FIRST_VERSION      submissions whose change has a version above FIRST_VERSION
//   prints: submissions, transactions, seconds
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Value {
    int type = SQLITE_NULL;
    std::int64_t integer = 0;
    std::string bytes{};
};
using Row = std::vector<Value>;

// One table's rows in the order they were written, and how many of them go with each submission.
struct Table {
    const char* name = nullptr;
    const char* query = nullptr;  // ?1 = first version
    std::vector<Row> rows{};
    std::size_t next = 0;
    sqlite3_stmt* insert = nullptr;
};

[[noreturn]] void give_up(sqlite3* store, const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(store));
    std::exit(1);
}

void run(sqlite3* store, const std::string& sql) {
    if (sqlite3_exec(store, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) give_up(store, sql.c_str());
}

std::vector<Row> read(sqlite3* store, const char* query, std::int64_t first) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(store, query, -1, &statement, nullptr) != SQLITE_OK) give_up(store, query);
    sqlite3_bind_int64(statement, 1, first);
    std::vector<Row> rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        Row row;
        for (int i = 0; i < sqlite3_column_count(statement); ++i) {
            Value value{.type = sqlite3_column_type(statement, i)};
            if (value.type == SQLITE_INTEGER) value.integer = sqlite3_column_int64(statement, i);
            else if (const void* bytes = sqlite3_column_blob(statement, i))
                value.bytes.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
            row.push_back(std::move(value));
        }
        rows.push_back(std::move(row));
    }
    sqlite3_finalize(statement);
    return rows;
}

void copy_schema(sqlite3* from, sqlite3* to) {
    for (const Row& row : read(from, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND ?1 >= 0", 0))
        run(to, row[0].bytes);
}

sqlite3_stmt* prepare_insert(sqlite3* store, const Table& table) {
    std::string sql = std::string("INSERT INTO ") + table.name + " VALUES(?";
    for (std::size_t i = 1; !table.rows.empty() && i < table.rows.front().size(); ++i) sql += ",?";
    sqlite3_stmt* statement = nullptr;
    if (table.rows.empty()) return nullptr;
    if (sqlite3_prepare_v2(store, (sql + ")").c_str(), -1, &statement, nullptr) != SQLITE_OK) give_up(store, sql.c_str());
    return statement;
}

void insert(sqlite3* store, sqlite3_stmt* statement, const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        const int index = static_cast<int>(i) + 1;
        const Value& value = row[i];
        const int length = static_cast<int>(value.bytes.size());
        if (value.type == SQLITE_INTEGER) sqlite3_bind_int64(statement, index, value.integer);
        else if (value.type == SQLITE_TEXT) sqlite3_bind_text(statement, index, value.bytes.data(), length, SQLITE_STATIC);
        else if (value.type == SQLITE_BLOB) sqlite3_bind_blob(statement, index, value.bytes.data(), length, SQLITE_STATIC);
        else sqlite3_bind_null(statement, index);
    }
    if (sqlite3_step(statement) != SQLITE_DONE) give_up(store, "insert");
    sqlite3_reset(statement);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return std::fprintf(stderr, "raw-commits STORE TARGET FIRST_VERSION\n"), 2;
    sqlite3* from = nullptr;
    sqlite3* to = nullptr;
    if (sqlite3_open_v2(argv[1], &from, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) give_up(from, argv[1]);
    if (sqlite3_open(argv[2], &to) != SQLITE_OK) give_up(to, argv[2]);
    const std::int64_t first = std::atoll(argv[3]);
    run(to, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192;");
    copy_schema(from, to);
    // Submissions are rows of `changes`; the other tables have as many rows for each, in the same order.
    std::vector<Table> tables{
        {"objects", "SELECT * FROM objects WHERE version > ?1 AND kind = (SELECT number FROM kinds WHERE name = 'Job') ORDER BY version"},
        {"changes", "SELECT * FROM changes WHERE version > ?1 AND type = 'added' AND name <> '' ORDER BY version"},
        {"audit", "SELECT * FROM audit WHERE at_ms >= (SELECT min(at_ms) FROM changes WHERE version > ?1) ORDER BY sequence"},
        {"events", "SELECT * FROM events WHERE at_ms >= (SELECT min(at_ms) FROM changes WHERE version > ?1) ORDER BY id"},
        {"idempotency", "SELECT * FROM idempotency WHERE at_ms >= (SELECT min(at_ms) FROM changes WHERE version > ?1) ORDER BY id"},
        {"open_intervals", "SELECT * FROM open_intervals WHERE state = 'queued' AND ?1 >= 0 ORDER BY id"},
    };
    for (Table& table : tables) {
        table.rows = read(from, table.query, first);
        table.insert = prepare_insert(to, table);
    }
    const std::vector<Row> groups = read(from, "SELECT batch, count(*) FROM changes WHERE version > ?1 AND type = 'added' GROUP BY batch ORDER BY batch", first);
    Table logs{"batches", "SELECT * FROM batches WHERE sequence IN (SELECT batch FROM changes WHERE version > ?1 AND type = 'added') ORDER BY sequence"};
    logs.rows = read(from, logs.query, first);
    logs.insert = prepare_insert(to, logs);
    const std::size_t submissions = tables[1].rows.size();
    std::size_t done = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t group = 0; group < groups.size(); ++group) {
        done += static_cast<std::size_t>(groups[group][1].integer);
        run(to, "BEGIN IMMEDIATE");
        for (Table& table : tables) {
            const std::size_t end = table.rows.size() * done / submissions;
            for (; table.next < end; ++table.next) insert(to, table.insert, table.rows[table.next]);
        }
        if (group < logs.rows.size()) insert(to, logs.insert, logs.rows[group]);
        run(to, "COMMIT");
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const Table& table : tables) std::fprintf(stderr, "%s %zu\n", table.name, table.rows.size());
    std::printf("%zu %zu %.3f\n", submissions, groups.size(), seconds);
    return 0;
}
