// SPDX-License-Identifier: Apache-2.0
// Exporting the history: chunks of lines are read in slices, and handed out with no transaction
// open.
#include <algorithm>

#include "codec/record.h"
#include "store/query/history_lines.h"
#include "store/sqlite/sqlite_reader.h"
#include "store/sqlite/texts.h"
#include "store/sqlite/usage_rows.h"

namespace tandem::store::sqlite {
namespace {

using Lines = std::vector<std::string>;
constexpr std::size_t chunk_bytes_max = 1 << 20;

// Where the export stands. A segment that is dropped meanwhile ends it early, which the reader sees
// as a gap.
struct Progress {
    std::int64_t segment = 0;
    std::int64_t changes_kept_after = 0;
    std::int64_t row = 0;       // of segment_rows
    std::int64_t interval = 0;  // of segment_intervals
    std::int64_t batch = 0;
    std::int64_t version = 0;  // of the last change line
    bool rows_done = false;
};

// Lines of a row that lists objects.
Status read_objects(Connection& connection, std::string_view packed, Lines& lines,
                    std::size_t& bytes) {
    TANDEM_LET(text, connection.prepared("SELECT body, internal FROM changes WHERE version = ?1"));
    TANDEM_LET(list, unpack_places(packed));
    for (const PlacedText& one : list) {
        text->start(one.version);
        TANDEM_LET(found, text->step());
        if (!found) return fail(ErrorCode::internal, "a segment's object has lost its text");
        lines.push_back(render_object_line(KindNumbers::id_of(one.place), text->text(0),
                                           text->text(1)));
        bytes += lines.back().size();
    }
    text->reset();
    return {};
}

// False: no further segment.
Result<bool> next_segment(ReaderPool& pool, Progress& progress, Lines& lines) {
    TANDEM_LET(snapshot, pool.begin());
    TANDEM_LET(
        row,
        snapshot.connection().prepared(
            "SELECT number, core_version, first_version, meta, (SELECT changes_floor FROM meta)"
            " FROM segments WHERE number > ?1 ORDER BY number LIMIT 1"));
    row->start(progress.segment);
    TANDEM_LET(found, row->step());
    if (!found) return false;
    const std::int64_t kept_after = std::max(row->integer(2), row->integer(4));
    progress = {
        .segment = row->integer(0), .changes_kept_after = kept_after, .version = kept_after};
    lines.push_back(render_segment_line({.number = progress.segment,
                                         .core_version = row->text(1),
                                         .changes_kept_after = kept_after,
                                         .meta = row->text(3)}));
    return true;
}

// The last of a segment's state rows.
Status read_intervals(ReaderPool::Snapshot& snapshot, Progress& progress, Lines& lines,
                      std::size_t bytes) {
    TANDEM_LET(rows, snapshot.connection().prepared(
                         "SELECT id, state, from_ms, to_ms, milli, node, device, flavor, pool,"
                         " queue, project, namespace, owner_kind, owner_name, owner_uid, replica,"
                         " epoch, server_absent FROM segment_intervals"
                         " WHERE segment = ?1 AND id > ?2 ORDER BY id"));
    rows->start(progress.segment, progress.interval);
    while (bytes < chunk_bytes_max && !snapshot.is_over()) {
        TANDEM_LET(found, rows->step());
        if (!found) {
            progress.rows_done = true;
            return {};
        }
        TANDEM_LET(interval, read_usage(*rows));
        progress.interval = interval.id.value;
        lines.push_back(render_row_line("interval", codec::encode(interval)));
        bytes += lines.back().size();
    }
    return {};
}

Status read_rows(ReaderPool::Snapshot& snapshot, Progress& progress, Lines& lines) {
    TANDEM_LET(rows, snapshot.connection().prepared(
                         "SELECT id, type, body FROM segment_rows"
                         " WHERE segment = ?1 AND id > ?2 ORDER BY id"));
    rows->start(progress.segment, progress.row);
    for (std::size_t bytes = 0; bytes < chunk_bytes_max && !snapshot.is_over();) {
        TANDEM_LET(found, rows->step());
        if (!found) return read_intervals(snapshot, progress, lines, bytes);
        progress.row = rows->integer(0);
        if (rows->text(1) == "objects") {
            TANDEM_TRY(read_objects(snapshot.connection(), rows->text(2), lines, bytes));
            continue;
        }
        lines.push_back(render_row_line(rows->text(1), rows->text(2)));
        bytes += lines.back().size();
    }
    return {};
}

// The changes of one batch; they are few, so that a batch is never cut in two.
Status read_changes(ReaderPool::Snapshot& snapshot, Progress& progress, Lines& lines,
                    std::size_t& bytes) {
    TANDEM_LET(rows, snapshot.connection().prepared(
                         "SELECT version, type, at_ms, body, batch FROM changes WHERE version > ?1"
                         " ORDER BY version"));
    rows->start(progress.version);
    while (true) {
        TANDEM_LET(found, rows->step());
        if (!found || rows->integer(4) > progress.batch) break;
        progress.version = rows->integer(0);
        lines.push_back(render_change_line(progress.version, rows->text(1),
                                           Instant{rows->integer(2)}, rows->text(3)));
        bytes += lines.back().size();
    }
    rows->reset();
    return {};
}

// False: the segment has no further batch.
Result<bool> read_batches(ReaderPool::Snapshot& snapshot, Progress& progress, Lines& lines) {
    TANDEM_LET(rows, snapshot.connection().prepared(
                         "SELECT sequence, now_ms, seed, digest, inputs FROM batches"
                         " WHERE sequence > ?1 AND segment = ?2 ORDER BY sequence"));
    rows->start(progress.batch, progress.segment);
    for (std::size_t bytes = 0; bytes < chunk_bytes_max && !snapshot.is_over();) {
        TANDEM_LET(found, rows->step());
        if (!found) return false;
        progress.batch = rows->integer(0);
        lines.push_back(render_batch_line({.sequence = progress.batch,
                                           .now = Instant{rows->integer(1)},
                                           .seed = rows->text(2),
                                           .digest = static_cast<std::uint64_t>(rows->integer(3)),
                                           .inputs = rows->text(4)}));
        bytes += lines.back().size();
        TANDEM_TRY(read_changes(snapshot, progress, lines, bytes));
    }
    return true;
}

// False: nothing further.
Result<bool> read_chunk(ReaderPool& pool, Progress& progress, Lines& lines) {
    if (progress.segment != 0) {
        TANDEM_LET(snapshot, pool.begin());
        if (!progress.rows_done) {
            TANDEM_TRY(read_rows(snapshot, progress, lines));
            return true;
        }
        TANDEM_LET(more, read_batches(snapshot, progress, lines));
        if (more) return true;
    }
    return next_segment(pool, progress, lines);
}

}  // namespace

Status SqliteReader::export_history(const std::function<bool(std::string_view line)>& sink) {
    for (Progress progress;;) {
        Lines lines;
        TANDEM_LET(more, read_chunk(*pool_, progress, lines));
        for (const std::string& line : lines)
            if (!sink(line)) return {};
        if (!more) return {};
    }
}

}  // namespace tandem::store::sqlite
