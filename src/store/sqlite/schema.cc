// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/schema.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tandem::store::sqlite {
namespace {

// schema_version and the header's marks come with the first migration, so that an interrupted first
// start leaves an empty file.
constexpr const char* before_first = R"(
CREATE TABLE schema_version(version INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
PRAGMA application_id = 1413566020;
)";
static_assert(application_id == 1413566020);

Status apply(Connection& connection, const Migration& migration) {
    TANDEM_LET(transaction, Transaction::begin(connection));
    if (migration.number == 1) TANDEM_TRY(connection.execute(before_first));
    TANDEM_TRY(connection.execute(migration.sql));
    TANDEM_LET(row, connection.prepare("INSERT INTO schema_version(version, name) VALUES(?1, ?2)"));
    TANDEM_TRY(row.run(migration.number, migration.name));
    return transaction.commit();
}

Result<std::vector<std::string>> read_schema(Connection& connection) {
    TANDEM_LET(rows, connection.prepare("SELECT type || ' ' || name || ' ' || tbl_name || ' ' || "
                                        "coalesce(sql, '') FROM sqlite_schema"
                                        " WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name"));
    std::vector<std::string> schema;
    while (true) {
        TANDEM_LET(found, rows.step());
        if (!found) return schema;
        schema.emplace_back(rows.text(0));
    }
}

}  // namespace

Result<std::int64_t> schema_version_of(Connection& connection) {
    TANDEM_LET(tables, connection.query_integer("SELECT count(*) FROM sqlite_schema"));
    if (tables == 0) return 0;
    TANDEM_LET(id, connection.query_integer("PRAGMA application_id"));
    TANDEM_LET(known, connection.query_integer(
                          "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'"));
    if (id != application_id || known == 0)
        return fail(ErrorCode::invalid, "it is an SQLite database, but not a Tandem store");
    return connection.query_integer("SELECT coalesce(max(version), 0) FROM schema_version");
}

Status migrate(Connection& connection, std::span<const Migration> known) {
    TANDEM_LET(version, schema_version_of(connection));
    const std::int64_t newest = known.empty() ? 0 : known.back().number;
    if (version > newest)
        return fail(
            ErrorCode::conflict,
            "its schema is " + std::to_string(version) + ", this program knows " +
                std::to_string(newest) +
                " at most: start the newer program, or restore a backup of before the upgrade");
    for (const Migration& migration : known) {
        if (migration.number <= version) continue;
        if (auto applied = apply(connection, migration); !applied)
            return in_context("migration " + std::to_string(migration.number) + " (" +
                                  std::string(migration.name) + ")",
                              applied.error());
    }
    return {};
}

Status check_schema(Connection& connection) {
    TANDEM_LET(version, schema_version_of(connection));
    TANDEM_LET(model, Connection::open(":memory:", OpenMode::write));
    const auto known = migrations();
    TANDEM_TRY(migrate(
        model,
        known.subspan(0, std::min<std::size_t>(known.size(), static_cast<std::size_t>(version)))));
    TANDEM_LET(want, read_schema(model));
    TANDEM_LET(have, read_schema(connection));
    if (want == have) return {};
    const auto [expected, found] = std::ranges::mismatch(want, have);
    const std::string place =
        found != have.end() ? found->substr(0, 60) : expected->substr(0, 60) + " is missing";
    return fail(ErrorCode::invalid,
                "its tables are not those of schema " + std::to_string(version) + ": " + place);
}

}  // namespace tandem::store::sqlite
