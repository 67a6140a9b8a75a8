// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/recovery.h"

#include "codec/manifest.h"
#include "codec/record.h"
#include "store/sqlite/usage_rows.h"

namespace tandem::store::sqlite {
namespace {

// Calls each(row) for every row of `sql`, a query without parameters.
template <class Each>
Status for_rows(Connection& connection, std::string_view sql, Each each) {
    TANDEM_LET(rows, connection.prepare(sql));
    while (true) {
        TANDEM_LET(found, rows.step());
        if (!found) return {};
        TANDEM_TRY(each(rows));
    }
}

Status read_objects(Connection& connection, core::RecoveredState& state) {
    return for_rows(
        connection,
        "SELECT place, body, internal, project, namespace, name FROM objects ORDER BY place",
        [&](const Statement& row) -> Status {
            auto object = codec::parse_stored_object(row.text(1), row.text(2),
                                                     KindNumbers::id_of(row.integer(0)));
            if (!object)
                return in_context("object " + std::string(row.text(3)) + "/" +
                                      std::string(row.text(4)) + "/" + std::string(row.text(5)),
                                  object.error());
            state.objects.push_back(*std::move(object));
            return {};
        });
}

template <class T>
Status read_records(Connection& connection, std::string_view sql, std::vector<T>& into) {
    return for_rows(connection, sql, [&](const Statement& row) -> Status {
        auto record = codec::decode<T>(row.text(1));
        if (!record)
            return in_context(std::string(sql) + ", row " + std::to_string(row.integer(0)),
                              record.error());
        into.push_back(*std::move(record));
        return {};
    });
}

// At most a day old, one a key.
constexpr std::string_view youngest_answers =
    "SELECT max(id), body FROM idempotency WHERE at_ms >= (SELECT time_ms FROM meta) - 86400000"
    " GROUP BY subject, key ORDER BY subject, key";

constexpr std::string_view insert_segment_row =
    "INSERT INTO segment_rows(segment, type, row, internal, body) VALUES(?1, ?2, ?3, '', ?4)";

Status copy_records(Connection& connection, std::int64_t segment) {
    TANDEM_LET(insert, connection.prepared(insert_segment_row));
    TANDEM_TRY(for_rows(connection, "SELECT * FROM open_intervals ORDER BY id",
                        [&](const Statement& row) -> Status {
                            TANDEM_LET(interval, read_usage(row));
                            return insert->run(segment, std::string_view("interval"),
                                               interval.id.value, codec::encode(interval));
                        }));
    return for_rows(connection, "SELECT gateway, epoch, sequence FROM cursors",
                    [&](const Statement& row) {
                        const model::GatewayCursor cursor{.gateway = std::string(row.text(0)),
                                                          .epoch = row.integer(1),
                                                          .sequence = row.integer(2)};
                        return insert->run(segment, std::string_view("cursor"), std::int64_t{0},
                                           codec::encode(cursor));
                    });
}

}  // namespace

Result<model::CoreMeta> read_meta(Connection& connection) {
    TANDEM_LET(row, connection.prepare("SELECT generation, segment, batch, next_id, version, "
                                       "audit_sequence, audit_head, time_ms,"
                                       " epoch_base, restored FROM meta WHERE id = 1"));
    TANDEM_LET(found, row.step());
    if (!found) return fail(ErrorCode::internal, "the row of counters is missing");
    return model::CoreMeta{.generation = row.integer(0),
                           .segment = row.integer(1),
                           .batch = row.integer(2),
                           .next_id = row.integer(3),
                           .version = row.integer(4),
                           .audit_sequence = row.integer(5),
                           .audit_head = std::string(row.text(6)),
                           .time = Instant{row.integer(7)},
                           .epoch_base = row.integer(8),
                           .restored = row.integer(9) != 0};
}

Result<core::RecoveredState> read_state(Connection& connection) {
    core::RecoveredState state;
    TANDEM_LET(meta, read_meta(connection));
    state.meta = meta;
    TANDEM_TRY(read_objects(connection, state));
    TANDEM_TRY(
        read_records(connection, "SELECT id, body FROM intents ORDER BY id", state.open_intents));
    TANDEM_TRY(read_records(connection, youngest_answers, state.idempotency));
    TANDEM_TRY(for_rows(connection, "SELECT * FROM open_intervals ORDER BY id",
                        [&](const Statement& row) -> Status {
                            TANDEM_LET(interval, read_usage(row));
                            state.open_intervals.push_back(std::move(interval));
                            return {};
                        }));
    TANDEM_TRY(for_rows(connection, "SELECT gateway, epoch, sequence FROM cursors",
                        [&](const Statement& row) -> Status {
                            state.cursors.push_back({.gateway = std::string(row.text(0)),
                                                     .epoch = row.integer(1),
                                                     .sequence = row.integer(2)});
                            return {};
                        }));
    return state;
}

Status close_segment(Connection& connection, std::int64_t number) {
    TANDEM_LET(close, connection.prepared("UPDATE segments SET bytes = bytes + (SELECT "
                                          "coalesce(sum(length(inputs)), 0) FROM batches"
                                          " WHERE segment = ?1) WHERE number = ?1"));
    return close->run(number);
}

Status write_segment(Connection& connection, const model::CoreMeta& meta,
                     std::string_view core_version, const model::LiveMemory* live) {
    TANDEM_LET(objects,
               connection.prepared(
                   "INSERT INTO segment_rows(segment, type, row, internal, body)"
                   " SELECT ?1, 'object', place, internal, body FROM objects ORDER BY place"));
    TANDEM_TRY(objects->run(meta.segment));
    TANDEM_LET(intents,
               connection.prepared("INSERT INTO segment_rows(segment, type, row, internal, body)"
                                   " SELECT ?1, 'intent', id, '', body FROM intents ORDER BY id"));
    TANDEM_TRY(intents->run(meta.segment));
    TANDEM_LET(answers,
               connection.prepared("INSERT INTO segment_rows(segment, type, row, internal, body)"
                                   " SELECT ?1, 'idempotency', max(id), '', body FROM idempotency"
                                   " WHERE at_ms >= (SELECT time_ms FROM meta) - 86400000"
                                   " GROUP BY subject, key ORDER BY subject, key"));
    TANDEM_TRY(answers->run(meta.segment));
    TANDEM_TRY(copy_records(connection, meta.segment));
    if (live != nullptr) {
        TANDEM_LET(row, connection.prepared(insert_segment_row));
        TANDEM_TRY(row->run(meta.segment, std::string_view("live"), std::int64_t{0},
                            codec::encode(*live)));
    }
    TANDEM_LET(
        segment,
        connection.prepared(
            "INSERT INTO segments VALUES(?1, ?2, ?3, ?4,"
            " (SELECT coalesce(sum(length(body)), 0) FROM segment_rows WHERE segment = ?1), ?5)"));
    return segment->run(meta.segment, core_version, meta.version, meta.time.ms,
                        codec::encode(meta));
}

Status forget_segments(Connection& connection, std::int64_t bytes_max) {
    // The log's share was added when the segment was closed; the newest is never dropped.
    TANDEM_LET(oldest, connection.prepared(
                           "SELECT max(number) FROM (SELECT number, sum(bytes) OVER (ORDER BY "
                           "number DESC) AS total FROM segments"
                           " WHERE number < (SELECT max(number) FROM segments)) WHERE total > ?1"));
    oldest->start(bytes_max);
    TANDEM_TRY(oldest->step());
    const std::int64_t last = oldest->integer(0);
    oldest->reset();
    if (last == 0) return {};
    for (std::string_view sql :
         {"DELETE FROM segment_rows WHERE segment <= ?1", "DELETE FROM batches WHERE segment <= ?1",
          "DELETE FROM segments WHERE number <= ?1"}) {
        TANDEM_LET(statement, connection.prepared(sql));
        TANDEM_TRY(statement->run(last));
    }
    return {};
}

}  // namespace tandem::store::sqlite
