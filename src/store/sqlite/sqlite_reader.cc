// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_reader.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "codec/record.h"
#include "store/query/labels_text.h"
#include "store/sqlite/list_reader.h"
#include "store/sqlite/recovery.h"
#include "store/sqlite/usage_rows.h"

namespace tandem::store::sqlite {
namespace {

constexpr std::size_t usage_rows_max = 1'000'000;
constexpr std::int64_t change_bytes_max = 4 << 20;  // in one answer: a watch asks again

Status too_many_rows() {
    return fail(ErrorCode::too_large, "more than 1,000,000 rows; narrow the time or the project");
}

bool is_asked_for(const core::UsageQuery& query, const model::UsageRecord& row) {
    return is_in_scope(query.scope, row.project) &&
           (query.project.empty() || row.project == query.project);
}

// Steps `rows` until it ends (true) or the slice is over (false).
template <class Each>
Result<bool> drain(ReaderPool::Snapshot& snapshot, Statement& rows, Each each) {
    for (int looked = 1;; ++looked) {
        TANDEM_LET(found, rows.step());
        if (!found) return true;
        TANDEM_LET(more, each(rows));
        if (!more) return true;
        if (looked % 64 == 0 && snapshot.is_over()) return false;
    }
}

core::ChangeText read_change(const Statement& row, model::Kind kind, model::ChangeType type) {
    return {.version = row.integer(0),
            .type = type,
            .kind = kind,
            .project = std::string(row.text(3)),
            .name_space = std::string(row.text(4)),
            .name = std::string(row.text(5)),
            .json = std::string(row.text(8)),
            .labels = parse_labels(row.text(6)).value_or(model::Labels{}),
            .old_labels = parse_labels(row.text(7)).value_or(model::Labels{})};
}

model::AuditRecord read_audit(const Statement& row) {
    return {.sequence = row.integer(0),
            .at = Instant{row.integer(1)},
            .caller = {.subject = std::string(row.text(2)),
                       .key_id = std::string(row.text(3)),
                       .request_id = std::string(row.text(4))},
            .action = std::string(row.text(5)),
            .object = std::string(row.text(6)),
            .allowed = row.integer(7) != 0,
            .rule = std::string(row.text(8)),
            .count = row.integer(9),
            .hash = std::string(row.text(10))};
}

}  // namespace

Result<std::optional<core::ObjectText>> SqliteReader::find(const model::ObjectKey& key) {
    TANDEM_LET(snapshot, pool_->begin());
    TANDEM_LET(row,
               snapshot.connection().prepared("SELECT version, body FROM changes WHERE version = "
                                              "(SELECT version FROM objects WHERE kind = ?1 "
                                              "AND project = ?2 AND namespace = ?3 AND name = ?4)"));
    row->start(kinds_->number_of(key.kind), key.project, key.name_space, key.name);
    TANDEM_LET(found, row->step());
    if (!found) return std::nullopt;
    return core::ObjectText{.version = row->integer(0), .json = std::string(row->text(1))};
}

Result<core::ListPage> SqliteReader::list(const core::ListQuery& query) {
    TANDEM_LET(plan, plan_list(query));
    return ListReader(*pool_, *kinds_, query, std::move(plan)).read();
}

Result<std::vector<core::ChangeText>> SqliteReader::changes(std::int64_t after,
                                                            std::int64_t limit) {
    TANDEM_LET(snapshot, pool_->begin());
    TANDEM_LET(meta, snapshot.connection().prepared("SELECT version, changes_floor FROM meta"));
    TANDEM_TRY(meta->step());
    TANDEM_TRY(check_kept(after, meta->integer(1), meta->integer(0)));
    TANDEM_LET(rows,
               snapshot.connection().prepared(
                   "SELECT version, type, kind, project, namespace, name, labels, old_labels, body"
                   " FROM changes WHERE version > ?1 ORDER BY version LIMIT ?2"));
    rows->start(after, limit);
    std::vector<core::ChangeText> found;
    std::int64_t bytes = 0;
    // A slice that is over is a shorter answer: the caller goes on after the last version it got.
    TANDEM_TRY(drain(snapshot, *rows, [&](const Statement& row) -> Result<bool> {
        const auto type = model::parse_enum<model::ChangeType>(row.text(1));
        const auto kind = kinds_->kind_of(row.integer(2));
        if (!type || !kind)
            return fail(ErrorCode::internal,
                        "change " + std::to_string(row.integer(0)) + " can't be read");
        found.push_back(read_change(row, *kind, *type));
        bytes += std::ssize(found.back().json);
        return bytes < change_bytes_max;
    }));
    return found;
}

Result<std::vector<model::UsageRecord>> SqliteReader::open_usage(const core::UsageQuery& query) {
    std::vector<model::UsageRecord> found;
    for (std::int64_t last = 0;;) {
        TANDEM_LET(snapshot, pool_->begin());
        TANDEM_LET(rows, snapshot.connection().prepared(
                             "SELECT * FROM open_intervals WHERE id > ?1 ORDER BY id"));
        rows->start(last);
        TANDEM_LET(done, drain(snapshot, *rows, [&](const Statement& row) -> Result<bool> {
                       TANDEM_LET(record, read_usage(row));
                       last = record.id.value;
                       if (record.from < query.to && is_asked_for(query, record) &&
                           (!query.owner || record.owner_uid == query.owner))
                           found.push_back(std::move(record));
                       return true;
                   }));
        if (done) return found;
    }
}

Result<std::vector<model::UsageRecord>> SqliteReader::closed_usage(const core::UsageQuery& query) {
    constexpr std::string_view by_time =
        "SELECT * FROM usage INDEXED BY usage_to WHERE (to_ms, id) > (?1, ?2) AND ?3 IS NULL ORDER "
        "BY to_ms, id";
    constexpr std::string_view by_owner =
        "SELECT * FROM usage INDEXED BY usage_owner WHERE owner_uid = ?3 AND id > ?2 AND ?1 IS NOT "
        "NULL ORDER BY id";
    std::vector<model::UsageRecord> found;
    // With an owner: in the order of ids. Without: of ends, from the first that may reach into the
    // period.
    std::int64_t end = query.from.ms;
    std::int64_t last = query.owner ? 0 : INT64_MAX;
    while (true) {
        TANDEM_LET(snapshot, pool_->begin());
        TANDEM_LET(rows, snapshot.connection().prepared(query.owner ? by_owner : by_time));
        rows->start(end, last);
        if (query.owner)
            rows->bind(3, Blob{bytes_of(query.owner)});
        else
            rows->bind(3, nullptr);
        TANDEM_LET(
            done, drain(snapshot, *rows, [&](const Statement& row) -> Result<bool> {
                TANDEM_LET(record, read_usage(row));
                end = record.to.ms;
                last = record.id.value;
                if (record.from < query.to && record.to > query.from && is_asked_for(query, record))
                    found.push_back(std::move(record));
                if (found.size() > usage_rows_max) return pass_on(too_many_rows().error());
                return true;
            }));
        if (done) return found;
    }
}

Result<std::vector<model::UsageRecord>> SqliteReader::usage(const core::UsageQuery& query) {
    // Open rows first: one that is closed between two slices is then seen twice, never missed.
    TANDEM_LET(open, open_usage(query));
    TANDEM_LET(found, closed_usage(query));
    std::ranges::sort(found, {},
                      [](const model::UsageRecord& row) { return std::pair(row.to, row.id); });
    std::set<RowId> closed;
    for (const model::UsageRecord& row : found) closed.insert(row.id);
    for (model::UsageRecord& row : open)
        if (!closed.contains(row.id)) found.push_back(std::move(row));
    return found;
}

Result<std::vector<model::RequestUsage>> SqliteReader::requests(const core::UsageQuery& query) {
    std::vector<model::RequestUsage> found;
    std::int64_t at = query.from.ms;
    std::int64_t last = 0;
    while (true) {
        TANDEM_LET(snapshot, pool_->begin());
        TANDEM_LET(rows, snapshot.connection().prepared(
                             "SELECT * FROM request_usage INDEXED BY request_usage_at"
                             " WHERE (at_ms, id) > (?1, ?2) AND at_ms < ?3 ORDER BY at_ms, id"));
        rows->start(at, last, query.to.ms);
        TANDEM_LET(done, drain(snapshot, *rows, [&](const Statement& row) -> Result<bool> {
                       model::RequestUsage record = read_request(row);
                       last = row.integer(0);
                       at = record.at.ms;
                       const bool of_service = !query.owner || record.service_uid == query.owner;
                       if (of_service && is_in_scope(query.scope, record.project) &&
                           (query.project.empty() || record.project == query.project))
                           found.push_back(std::move(record));
                       if (found.size() > usage_rows_max) return pass_on(too_many_rows().error());
                       return true;
                   }));
        if (done) break;
    }
    std::ranges::sort(found, {}, [](const model::RequestUsage& row) {
        return std::tie(row.at, row.gateway, row.epoch, row.sequence);
    });
    return found;
}

Result<std::vector<model::EventRecord>> SqliteReader::events(const core::ReadScope& scope,
                                                             const Uid& about, std::int64_t limit) {
    constexpr std::string_view all =
        "SELECT * FROM events WHERE id < ?1 AND ?2 IS NULL ORDER BY id DESC";
    constexpr std::string_view of_one =
        "SELECT * FROM events INDEXED BY events_uid WHERE uid = ?2 AND id < ?1 ORDER BY id DESC";
    std::vector<model::EventRecord> found;
    for (std::int64_t last = INT64_MAX;;) {
        TANDEM_LET(snapshot, pool_->begin());
        TANDEM_LET(rows, snapshot.connection().prepared(about ? of_one : all));
        rows->start(last);
        if (about)
            rows->bind(2, Blob{bytes_of(about)});
        else
            rows->bind(2, nullptr);
        TANDEM_LET(done, drain(snapshot, *rows, [&](const Statement& row) -> Result<bool> {
                       if (std::ssize(found) >= limit) return false;
                       last = row.integer(0);
                       const auto kind = kinds_->kind_of(row.integer(2));
                       if (!kind) return true;
                       model::EventRecord event{.id = RowId{last},
                                                .at = Instant{row.integer(1)},
                                                .about = {.kind = *kind,
                                                          .project = std::string(row.text(3)),
                                                          .name_space = std::string(row.text(4)),
                                                          .name = std::string(row.text(5))},
                                                .uid = read_uid(row.text(6))};
                       if (!is_in_scope(scope, project_of(event.about))) return true;
                       TANDEM_LET(reason, codec::decode<model::Reason>(row.text(7)));
                       event.reason = std::move(reason);
                       found.push_back(std::move(event));
                       return true;
                   }));
        if (done) return found;
    }
}

Result<std::vector<model::AuditRecord>> SqliteReader::audit(std::int64_t after,
                                                            std::int64_t limit) {
    std::vector<model::AuditRecord> found;
    for (std::int64_t last = after;;) {
        TANDEM_LET(snapshot, pool_->begin());
        TANDEM_LET(rows, snapshot.connection().prepared(
                             "SELECT * FROM audit WHERE sequence > CASE WHEN ?1 >= 0 THEN ?1 ELSE "
                             "(SELECT coalesce(max(sequence), 0) FROM audit) - ?2 END ORDER BY "
                             "sequence LIMIT ?2"));
        rows->start(last, limit - std::ssize(found));
        TANDEM_LET(done, drain(snapshot, *rows, [&](const Statement& row) -> Result<bool> {
                       found.push_back(read_audit(row));
                       last = found.back().sequence;
                       return true;
                   }));
        if (done) return found;
    }
}

// Longer than a slice may be: so outside of the pool and its gate, where it keeps nobody waiting.
Result<core::RecoveredState> SqliteReader::rows() {
    TANDEM_LET(connection, Connection::open(pool_->path(), OpenMode::read_only));
    TANDEM_TRY(connection.execute("PRAGMA cache_size=-1024; PRAGMA query_only=ON;"));
    TANDEM_LET(transaction, Transaction::begin(connection, "BEGIN"));
    return read_state(connection, 1);
}

}  // namespace tandem::store::sqlite
