// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/batch_writer.h"

#include <algorithm>

#include "codec/manifest.h"
#include "codec/record.h"
#include "model/selector.h"
#include "store/query/labels_text.h"
#include "store/sqlite/texts.h"
#include "store/sqlite/usage_rows.h"

namespace tandem::store::sqlite {
namespace {

constexpr std::string_view insert_object =
    "INSERT INTO objects VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)";
constexpr std::string_view update_object =
    "UPDATE objects SET version = ?2, generation = ?3, phase = ?4, queue = ?5, owner = ?6, labels "
    "= ?7 WHERE place = ?1";
// Before the object's own row is written: it still tells the version before.
constexpr std::string_view insert_change =
    "INSERT INTO changes VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,"
    "coalesce((SELECT version FROM objects WHERE place = ?11), 0),?12,?13)";
constexpr std::string_view insert_audit =
    "INSERT INTO audit VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)";
constexpr std::string_view insert_event = "INSERT INTO events VALUES(?1,?2,?3,?4,?5,?6,?7,?8)";
constexpr std::string_view update_meta =
    "UPDATE meta SET generation = ?1, segment = ?2, batch = ?3, next_id = ?4, version = ?5, "
    "audit_sequence = ?6,"
    " audit_head = ?7, time_ms = ?8, epoch_base = ?9, restored = ?10 WHERE id = 1";
constexpr std::string_view put_idempotency =
    "INSERT INTO idempotency(subject, key, at_ms, body) VALUES(?1, ?2, ?3, ?4)";

// Rows are in order of time, so that the oldest are the first; at most ?2 of them go at once. While the first
// is young, nothing is looked through.
constexpr std::string_view oldest_change =
    "SELECT at_ms, version FROM changes WHERE version > (SELECT changes_floor FROM meta)"
    " ORDER BY version LIMIT 1";
constexpr std::string_view oldest_idempotency =
    "SELECT at_ms FROM idempotency ORDER BY id LIMIT 1";
constexpr std::string_view oldest_event = "SELECT at_ms FROM events ORDER BY id LIMIT 1";
constexpr std::string_view newest_forgotten_change =
    "SELECT max(version) FROM (SELECT version, at_ms FROM changes"
    " WHERE version > (SELECT changes_floor FROM meta) ORDER BY version LIMIT ?2)"
    " WHERE at_ms < ?1 OR version <= ?3";
constexpr std::string_view forget_idempotency =
    "DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency ORDER BY id LIMIT ?2) AND "
    "at_ms < ?1";
constexpr std::string_view forget_events =
    "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?2) AND at_ms < ?1";
constexpr std::int64_t sweep_rows = 1000;
constexpr Duration sweep_period = seconds(1);

constexpr std::int64_t count_of(const auto& rows) {
    return static_cast<std::int64_t>(rows.size());
}

}  // namespace

Status BatchWriter::require_one_row(const model::Change& change) {
    if (connection_->changed_rows() == 1) return {};
    return fail(ErrorCode::internal, "no stored row for " +
                                         std::string(model::name_of(change.type)) + " object " +
                                         std::to_string(meta_of(change.object).id.value));
}

Status BatchWriter::write_object(const model::Change& change) {
    const model::Meta& meta = meta_of(change.object);
    const std::int64_t place = kinds_->place_of(kind_of(change.object), meta.id);
    const model::SelectableFields fields = selectable_fields_of(change.object);
    const std::string labels = render_labels(meta.labels);
    if (change.type == model::ChangeType::added)
        return run(insert_object, place, kinds_->number_of(kind_of(change.object)), meta.project,
                   meta.name_space, meta.name, Blob{bytes_of(meta.uid)}, meta.version,
                   meta.generation, fields.phase, fields.queue, fields.owner, Blob{labels});
    TANDEM_TRY(run(update_object, place, meta.version, meta.generation, fields.phase, fields.queue,
                   fields.owner, Blob{labels}));
    return require_one_row(change);
}

Status BatchWriter::delete_object(const model::Change& change) {
    TANDEM_TRY(run("DELETE FROM objects WHERE place = ?1",
                   kinds_->place_of(kind_of(change.object), meta_of(change.object).id)));
    return require_one_row(change);
}

Status BatchWriter::write_change(const model::BatchRecord& record, std::size_t index) {
    const model::Change& change = record.changes[index];
    const model::Kind kind = kind_of(change.object);
    const model::Meta& meta = meta_of(change.object);
    const std::string labels = render_labels(meta.labels);
    const std::string old_labels = render_labels(change.old_labels);
    return run(insert_change, change.version, record.meta.batch, record.tick.now.ms,
               model::name_of(change.type), kinds_->number_of(kind), meta.project, meta.name_space,
               meta.name, Blob{labels}, Blob{old_labels}, kinds_->place_of(kind, meta.id),
               codec::render_internal(change.object), codec::change_text(record, index));
}

Status BatchWriter::write_changes(const model::BatchRecord& record) {
    // Names are freed before they are taken: one batch may delete an object and make another of its
    // name.
    const auto is_deleted = [&](std::size_t i) {
        return record.changes[i].type == model::ChangeType::deleted;
    };
    for (std::size_t i = 0; i < record.changes.size(); ++i) {
        if (!is_deleted(i)) continue;
        TANDEM_TRY(write_change(record, i));
        TANDEM_TRY(delete_object(record.changes[i]));
    }
    for (std::size_t i = 0; i < record.changes.size(); ++i) {
        if (is_deleted(i)) continue;
        TANDEM_TRY(write_change(record, i));
        TANDEM_TRY(write_object(record.changes[i]));
    }
    return {};
}

Status BatchWriter::write_work(const model::BatchRecord& record) {
    for (const model::Intent& intent : record.intents_opened)
        TANDEM_TRY(run("INSERT INTO intents VALUES(?1, ?2)", intent.id.value,
                       codec::encode_intent(intent)));
    for (RowId id : record.intents_closed)
        TANDEM_TRY(run("DELETE FROM intents WHERE id = ?1", id.value));
    for (const model::EventRecord& event : record.events)
        TANDEM_TRY(run(insert_event, event.id.value, event.at.ms,
                       kinds_->number_of(event.about.kind), event.about.project,
                       event.about.name_space, event.about.name, Blob{bytes_of(event.uid)},
                       codec::encode(event.reason)));
    for (const model::AuditRecord& row : record.audit)
        TANDEM_TRY(run(insert_audit, row.sequence, row.at.ms, row.caller.subject, row.caller.key_id,
                       row.caller.request_id, row.action, row.object, std::int64_t{row.allowed},
                       row.rule, row.count, row.hash));
    for (const model::IdempotencyRow& row : record.idempotency)
        TANDEM_TRY(run(put_idempotency, row.subject, row.key, row.at.ms, codec::encode(row)));
    return {};
}

Status BatchWriter::write_accounts(const model::BatchRecord& record) {
    TANDEM_LET(usage, connection_->prepared(insert_usage));
    for (const model::UsageRecord& row : record.usage) TANDEM_TRY(write_usage(*usage, row));
    TANDEM_LET(interval, connection_->prepared(put_open_interval));
    for (const model::UsageRecord& row : record.open_intervals_put)
        TANDEM_TRY(write_usage(*interval, row));
    for (RowId id : record.open_intervals_gone)
        TANDEM_TRY(run("DELETE FROM open_intervals WHERE id = ?1", id.value));
    TANDEM_LET(request, connection_->prepared(insert_request));
    for (const model::RequestUsage& row : record.requests) TANDEM_TRY(write_request(*request, row));
    for (const model::GatewayCursor& row : record.cursors)
        TANDEM_TRY(run("INSERT OR REPLACE INTO cursors VALUES(?1, ?2, ?3)", row.gateway, row.epoch,
                       row.sequence));
    return {};
}

Status BatchWriter::write_log(const model::BatchRecord& record) {
    std::string inputs;  // one a line: JSON has no raw line feed, and each is read back under its
                         // own limits
    for (const model::Input& input : record.inputs) {
        if (!inputs.empty()) inputs += '\n';
        inputs += codec::encode_input(input);
    }
    if (segment_log_.rows == 0) segment_log_.begun = record.tick.now;  // its age is that of its log
    segment_log_.rows += 1;
    segment_log_.bytes += std::ssize(inputs);
    segment_log_.newest = record.tick.now;
    const std::string_view seed(reinterpret_cast<const char*>(record.tick.seed.data()),
                                record.tick.seed.size());
    return run("INSERT INTO batches VALUES(?1, ?2, ?3, ?4, ?5, ?6)", record.meta.batch,
               record.meta.segment, record.tick.now.ms, Blob{seed},
               static_cast<std::int64_t>(record.digest), inputs);
}

Status BatchWriter::write_meta(const model::CoreMeta& meta) {
    return run(update_meta, meta.generation, meta.segment, meta.batch, meta.next_id, meta.version,
               meta.audit_sequence, meta.audit_head, meta.time.ms, meta.epoch_base,
               std::int64_t{meta.restored});
}

Result<bool> BatchWriter::begins_before(std::string_view oldest, Instant before) {
    TANDEM_LET(first, connection_->prepared(oldest));
    first->start();
    TANDEM_LET(found, first->step());
    const bool old = found && first->integer(0) < before.ms;
    first->reset();
    return old;
}

Status BatchWriter::forget_changes(Instant before, std::int64_t version, std::int64_t rows_max) {
    TANDEM_LET(first, connection_->prepared(oldest_change));
    first->start();
    TANDEM_LET(found, first->step());
    const bool old = found && (first->integer(0) < before.ms || first->integer(1) <= version);
    first->reset();
    if (!old) return {};
    TANDEM_LET(newest, connection_->prepared(newest_forgotten_change));
    newest->start(before.ms, rows_max, version);
    TANDEM_TRY(newest->step());
    const bool some = !newest->is_null(0);
    const std::int64_t floor = newest->integer(0);
    newest->reset();
    if (!some) return {};
    TANDEM_TRY(drop_superseded(*connection_, floor));
    return run("UPDATE meta SET changes_floor = ?1 WHERE id = 1", floor);
}

Status BatchWriter::forget_old(const model::BatchRecord& record) {
    const Instant now = record.tick.now;
    rows_since_sweep_ +=
        count_of(record.changes) + count_of(record.events) + count_of(record.idempotency);
    if (rows_since_sweep_ < sweep_rows && now < swept_ + sweep_period) return {};
    const std::int64_t rows_max = 2 * rows_since_sweep_ + sweep_rows / 10;
    TANDEM_TRY(forget_changes(now - retention_.change_age_max,
                              record.meta.version - retention_.change_rows_max, rows_max));
    const Instant answers_from = now - retention_.idempotency_age_max;
    TANDEM_LET(old_answers, begins_before(oldest_idempotency, answers_from));
    if (old_answers) TANDEM_TRY(run(forget_idempotency, answers_from.ms, rows_max));
    const Instant events_from = now - retention_.event_age_max;
    TANDEM_LET(old_events, begins_before(oldest_event, events_from));
    if (old_events) TANDEM_TRY(run(forget_events, events_from.ms, rows_max));
    swept_ = now;
    rows_since_sweep_ = 0;
    return {};
}

Status BatchWriter::write(const model::BatchRecord& record) {
    TANDEM_TRY(write_changes(record));
    TANDEM_TRY(write_work(record));
    TANDEM_TRY(write_accounts(record));
    TANDEM_TRY(write_log(record));
    TANDEM_TRY(write_meta(record.meta));
    return forget_old(record);
}

}  // namespace tandem::store::sqlite
