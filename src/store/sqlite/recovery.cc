// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/recovery.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "codec/manifest.h"
#include "codec/record.h"
#include "store/sqlite/texts.h"
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

// Reads texts on the caller's thread and makes objects of them, block by block, on several.
class ObjectDecoder {
  public:
    ObjectDecoder(std::vector<model::Object>& into, unsigned threads)
        : into_(&into), threads_(threads) {}

    Status add(const Statement& row) {
        texts_.push_back({.id = KindNumbers::id_of(row.integer(0)),
                          .body = std::string(row.text(1)),
                          .internal = std::string(row.text(2)),
                          .name = std::string(row.text(3))});
        return texts_.size() < block ? Status{} : decode();
    }
    Status decode() {
        first_ = into_->size();
        into_->resize(first_ + texts_.size());
        next_ = 0;
        failed_.reset();
        {
            std::vector<std::jthread> helpers;
            for (unsigned i = 1; i < threads_ && texts_.size() > share; ++i)
                helpers.emplace_back([this] { work(); });
            work();
        }
        texts_.clear();
        if (failed_) return pass_on(*failed_);
        return {};
    }

  private:
    struct Text {
        RowId id{};
        std::string body{};
        std::string internal{};
        std::string name{};
    };
    static constexpr std::size_t block = 8192;
    static constexpr std::size_t share = 64;  // of one thread at a time

    void work() {
        while (true) {
            const std::size_t begin = next_.fetch_add(share);
            if (begin >= texts_.size()) return;
            for (std::size_t i = begin; i < std::min(begin + share, texts_.size()); ++i)
                decode_one(i);
        }
    }
    void decode_one(std::size_t i) {
        const Text& text = texts_[i];
        auto object = codec::parse_stored_object(text.body, text.internal, text.id);
        if (object) {
            (*into_)[first_ + i] = *std::move(object);
            return;
        }
        const std::lock_guard lock(mutex_);
        if (!failed_) failed_ = in_context("object " + text.name, object.error()).error();
    }

    std::vector<model::Object>* into_;
    unsigned threads_;
    std::vector<Text> texts_{};
    std::size_t first_ = 0;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_{};
    std::optional<Error> failed_{};
};

Status read_objects(Connection& connection, unsigned threads, core::RecoveredState& state) {
    TANDEM_LET(count, connection.query_integer("SELECT count(*) FROM objects"));
    state.objects.reserve(static_cast<std::size_t>(count));
    ObjectDecoder decoder(state.objects, threads);
    TANDEM_TRY(for_rows(
        connection,
        "SELECT place, body, internal, o.project || '/' || o.namespace || '/' || o.name"
        " FROM objects o LEFT JOIN changes c ON c.version = o.version ORDER BY place",
        [&](const Statement& row) { return decoder.add(row); }));
    return decoder.decode();
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
    "INSERT INTO segment_rows(segment, type, body) VALUES(?1, ?2, ?3)";

// About what a change and an interval take, for the limit on segments.
constexpr std::int64_t change_bytes = 1024;
constexpr std::int64_t interval_bytes = 128;

Status copy_cursors(Connection& connection, std::int64_t segment) {
    TANDEM_LET(insert, connection.prepared(insert_segment_row));
    return for_rows(connection, "SELECT gateway, epoch, sequence FROM cursors",
                    [&](const Statement& row) {
                        const model::GatewayCursor cursor{.gateway = std::string(row.text(0)),
                                                          .epoch = row.integer(1),
                                                          .sequence = row.integer(2)};
                        const std::string body = codec::encode(cursor);
                        return insert->run(segment, std::string_view("cursor"), Blob{body});
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

Result<core::RecoveredState> read_state(Connection& connection, unsigned threads) {
    core::RecoveredState state;
    TANDEM_LET(meta, read_meta(connection));
    state.meta = meta;
    TANDEM_TRY(read_objects(connection, threads, state));
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
    TANDEM_LET(close,
               connection.prepared("UPDATE segments SET bytes = bytes"
                                   " + (SELECT coalesce(sum(length(inputs)), 0) FROM batches WHERE"
                                   " segment = ?1) + ?2 * max(0, coalesce((SELECT max(version) FROM"
                                   " changes), 0) - first_version) WHERE number = ?1"));
    return close->run(number, change_bytes);
}

Status write_segment(Connection& connection, const model::CoreMeta& meta,
                     std::string_view core_version, const model::LiveMemory* live) {
    TANDEM_TRY(write_places(connection, meta.segment));
    TANDEM_LET(intents, connection.prepared("INSERT INTO segment_rows(segment, type, body)"
                                            " SELECT ?1, 'intent', CAST(body AS BLOB) FROM intents"
                                            " ORDER BY id"));
    TANDEM_TRY(intents->run(meta.segment));
    TANDEM_LET(answers,
               connection.prepared("INSERT INTO segment_rows(segment, type, body)"
                                   " SELECT ?1, 'idempotency', CAST(body AS BLOB) FROM (SELECT"
                                   " max(id), body FROM idempotency"
                                   " WHERE at_ms >= (SELECT time_ms FROM meta) - 86400000"
                                   " GROUP BY subject, key ORDER BY subject, key)"));
    TANDEM_TRY(answers->run(meta.segment));
    TANDEM_LET(intervals, connection.prepared("INSERT INTO segment_intervals SELECT ?1, * FROM"
                                              " open_intervals ORDER BY id"));
    TANDEM_TRY(intervals->run(meta.segment));
    TANDEM_TRY(copy_cursors(connection, meta.segment));
    if (live != nullptr) {
        TANDEM_LET(row, connection.prepared(insert_segment_row));
        const std::string body = codec::encode(*live);
        TANDEM_TRY(row->run(meta.segment, std::string_view("live"), Blob{body}));
    }
    TANDEM_LET(
        segment,
        connection.prepared(
            "INSERT INTO segments VALUES(?1, ?2, ?3, ?4,"
            " (SELECT coalesce(sum(length(body)), 0) FROM segment_rows WHERE segment = ?1)"
            " + ?6 * (SELECT count(*) FROM segment_intervals WHERE segment = ?1), ?5)"));
    return segment->run(meta.segment, core_version, meta.version, meta.time.ms,
                        codec::encode(meta), interval_bytes);
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
    TANDEM_TRY(drop_texts_of_segments(connection, last));
    for (std::string_view sql :
         {"DELETE FROM segment_rows WHERE segment <= ?1",
          "DELETE FROM segment_intervals WHERE segment <= ?1", "DELETE FROM batches WHERE segment <= ?1",
          "DELETE FROM segments WHERE number <= ?1"}) {
        TANDEM_LET(statement, connection.prepared(sql));
        TANDEM_TRY(statement->run(last));
    }
    return {};
}

}  // namespace tandem::store::sqlite
