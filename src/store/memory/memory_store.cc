// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <algorithm>
#include <ranges>
#include <set>

namespace tandem::store {
namespace {

constexpr Duration idempotency_age_max = hours(24);
constexpr Duration sweep_period = minutes(1);

template <class Map>
auto values_of(const Map& map) {
    const auto values = map | std::views::values;
    return std::vector<typename Map::mapped_type>(values.begin(), values.end());
}

core::RecoveredState state_of(const MemoryRows& rows) {
    core::RecoveredState state{.meta = rows.meta,
                               .objects = values_of(rows.objects),
                               .open_intents = values_of(rows.intents),
                               .open_intervals = values_of(rows.open_intervals),
                               .cursors = values_of(rows.cursors),
                               .idempotency = values_of(rows.idempotency)};
    std::erase_if(state.idempotency,
                  [&](const auto& row) { return row.at < rows.meta.time - idempotency_age_max; });
    return state;
}

// What a database's constraints would refuse. A batch that breaks one is a programmer's error of
// core.
bool fits(const MemoryRows& rows, const model::BatchRecord& record) {
    // Names are freed before they are taken: one batch may delete an object and make another of its
    // name.
    std::set<model::ObjectKey> freed;
    for (const model::Change& change : record.changes)
        if (change.type == model::ChangeType::deleted) freed.insert(key_of(change.object));
    std::int64_t version = rows.meta.version;
    for (const model::Change& change : record.changes) {
        const RowId id = meta_of(change.object).id;
        const bool exists = rows.objects.contains(id);
        if (change.version <= version || exists == (change.type == model::ChangeType::added))
            return false;
        version = change.version;
        const model::ObjectKey key = key_of(change.object);
        if (change.type == model::ChangeType::added && rows.names.contains(key) &&
            !freed.contains(key))
            return false;
    }
    const auto known = [](const auto& map) {
        return [&map](const auto& row) { return map.contains(row.id); };
    };
    return std::ranges::none_of(record.intents_opened, known(rows.intents)) &&
           std::ranges::none_of(record.usage, known(rows.usage)) &&
           std::ranges::none_of(record.events, known(rows.events)) &&
           std::ranges::none_of(record.requests, [&](const model::RequestUsage& row) {
               return rows.requests.contains({row.gateway, row.epoch, row.sequence});
           });
}

void apply_changes(MemoryRows& rows, const model::BatchRecord& record) {
    for (const model::Change& change : record.changes) {
        if (change.type != model::ChangeType::deleted) continue;
        rows.names.erase(key_of(change.object));
        rows.objects.erase(meta_of(change.object).id);
    }
    for (const model::Change& change : record.changes) {
        if (change.type != model::ChangeType::deleted) {
            rows.names.insert_or_assign(key_of(change.object), meta_of(change.object).id);
            rows.objects.insert_or_assign(meta_of(change.object).id, change.object);
        }
        rows.changes.push_back(
            {.change = change, .batch = record.meta.batch, .at = record.tick.now});
    }
}

void apply_rows(MemoryRows& rows, const model::BatchRecord& record) {
    for (const model::Intent& row : record.intents_opened)
        rows.intents.insert_or_assign(row.id, row);
    for (RowId id : record.intents_closed) rows.intents.erase(id);
    for (const model::EventRecord& row : record.events) rows.events.insert_or_assign(row.id, row);
    for (const model::UsageRecord& row : record.usage) rows.usage.insert_or_assign(row.id, row);
    for (const model::RequestUsage& row : record.requests)
        rows.requests.insert_or_assign({row.gateway, row.epoch, row.sequence}, row);
    for (const model::GatewayCursor& row : record.cursors)
        rows.cursors.insert_or_assign({row.gateway, row.epoch}, row);
    for (const model::IdempotencyRow& row : record.idempotency)
        rows.idempotency.insert_or_assign({row.subject, row.key}, row);
    for (const model::UsageRecord& row : record.open_intervals_put)
        rows.open_intervals.insert_or_assign(row.id, row);
    for (RowId id : record.open_intervals_gone) rows.open_intervals.erase(id);
    rows.audit.insert(rows.audit.end(), record.audit.begin(), record.audit.end());
    rows.meta = record.meta;
}

void forget_old(MemoryRows& rows, const MemoryOptions& options, Instant now, Instant& swept) {
    while (!rows.changes.empty() && (rows.changes.size() > options.change_rows_max ||
                                     rows.changes.front().at < now - options.change_age_max)) {
        rows.changes_floor = rows.changes.front().change.version;
        rows.changes.pop_front();
    }
    if (now < swept + sweep_period) return;
    swept = now;
    std::erase_if(rows.idempotency,
                  [&](const auto& row) { return row.second.at < now - idempotency_age_max; });
}

}  // namespace

Result<core::RecoveredState> MemoryStore::recover() {
    const std::scoped_lock lock(disk_->mutex_);
    return state_of(disk_->rows_);
}

Status MemoryStore::open_segment(const model::CoreMeta& meta, std::string_view core_version,
                                 const model::LiveMemory* live) {
    const std::scoped_lock lock(disk_->mutex_);
    if (dead_) return fail(ErrorCode::unavailable, "the store has failed before");
    disk_->rows_.meta = meta;
    if (disk_->options_.keep_history)
        disk_->rows_.segments.push_back({.number = meta.segment,
                                         .core_version = std::string(core_version),
                                         .start = state_of(disk_->rows_)});
    if (disk_->options_.keep_history && live != nullptr)
        disk_->rows_.segments.back().start.live = *live;
    return {};
}

bool MemoryStore::segment_is_full() const {
    const std::scoped_lock lock(disk_->mutex_);
    const auto& segments = disk_->rows_.segments;
    return !segments.empty() &&
           segments.back().batches.size() >= disk_->options_.segment_batches_max;
}

core::CommitOutcome MemoryStore::commit(const model::BatchRecord& record) {
    const std::scoped_lock lock(disk_->mutex_);
    const CommitFault fault =
        dead_ ? CommitFault::none : std::exchange(disk_->armed_, CommitFault::none);
    if (fault != CommitFault::none) ++disk_->faults_fired_;
    if (fault == CommitFault::full) return core::CommitOutcome::full;
    MemoryRows& rows = disk_->rows_;
    if (dead_ || fault == CommitFault::fatal_before_write || !fits(rows, record)) {
        dead_ = true;
        return core::CommitOutcome::fatal;
    }
    apply_changes(rows, record);
    apply_rows(rows, record);
    forget_old(rows, disk_->options_, record.tick.now, disk_->swept_);
    if (!rows.segments.empty())
        rows.segments.back().batches.push_back({.sequence = record.meta.batch,
                                                .tick = record.tick,
                                                .inputs = record.inputs,
                                                .digest = record.digest});
    dead_ = fault == CommitFault::fatal_after_write;
    return dead_ ? core::CommitOutcome::fatal : core::CommitOutcome::committed;
}

}  // namespace tandem::store
