// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "core/commands.h"
#include "core/step.h"

namespace tandem::core {
namespace {

// Rows that differ from how the batch found them get the next version each, in order of kind and id.
template <class T>
void number_changes(State& state, Table<T>& table, std::vector<model::Change>& changes) {
    struct Touched {
        RowId id;
        const T* before;
        bool is;
    };
    std::vector<Touched> touched;  // what each_touched shows stays where it is: nothing below adds to the log
    table.each_touched([&](RowId id, const T* before, const T* now) {
        if (!before && !now) return;
        if (before && now && *before == *now) return;
        touched.push_back({id, before, now != nullptr});
    });
    changes.reserve(changes.size() + touched.size());
    for (const Touched& one : touched) {
        const std::int64_t version = ++state.meta.version;
        model::Change& change = changes.emplace_back();
        change.version = version;
        if (one.before) change.old_labels = one.before->meta.labels;
        if (!one.is) {
            change.type = model::ChangeType::deleted;
            // The last state it had, not the one before the batch: how its task ended is told by it.
            const T* last = table.find_erased(one.id);
            T& gone = change.object.template emplace<T>(last ? *last : *one.before);
            gone.meta.version = version;
        } else {
            T& row = table.edit_touched(one.id);
            row.meta.version = version;
            if (!one.before) change.type = model::ChangeType::added;
            change.object.template emplace<T>(row);
        }
    }
}

using GoneVersions = std::map<Uid, std::int64_t>;  // of what this batch has deleted

void fill_version(const State& state, const GoneVersions& gone, model::Outcome& outcome) {
    if (outcome.version > 0) return;  // told before, under the same idempotency key
    const model::Meta* meta = find_meta(state, outcome.key);
    const auto went = gone.find(outcome.uid);
    if (meta && meta->uid == outcome.uid)
        outcome.version = meta->version;
    else if (went != gone.end())
        outcome.version = went->second;
}

// Of the answers, and of what is kept of them: asked again, a request is told the version of then.
void fill_versions(State& state, const std::vector<model::Change>& changes) {
    GoneVersions gone;
    for (const model::Change& change : changes)
        if (change.type == model::ChangeType::deleted)
            gone.emplace(model::meta_of(change.object).uid, change.version);
    for (model::Answer& answer : state.effects.answers)
        for (model::Outcome& outcome : answer.outcomes) fill_version(state, gone, outcome);
    state.idempotency.each_touched([&](const IdempotencyKey& key, const auto*, const auto* now) {
        if (!now) return;
        for (model::Outcome& outcome : state.idempotency.edit_touched(key).outcomes)
            fill_version(state, gone, outcome);
    });
}

void chain_audit(State& state, AuditHasher& hasher) {
    for (model::AuditRecord& row : state.effects.audit) {
        row.hash = hasher.hash(state.meta.audit_head, row);
        state.meta.audit_head = row.hash;
    }
}

template <class Map, class Row>
void gather_put(const Map& map, std::vector<Row>& rows) {
    map.each_touched([&](const auto&, const auto*, const auto* now) {
        if (now) rows.push_back(*now);
    });
}

}  // namespace

model::BatchRecord close_batch(Turn& turn, const model::Tick& tick, std::vector<model::Input> inputs,
                               AuditHasher& hasher) {
    State& state = turn.state;
    model::BatchRecord record;
    state.each_table([&](auto& table) { number_changes(state, table, record.changes); });
    fill_versions(state, record.changes);
    chain_audit(state, hasher);
    state.intents.each_touched([&](RowId id, const model::Intent* before, const model::Intent* now) {
        if (!before && now) record.intents_opened.push_back(*now);
        if (before && !now) record.intents_closed.push_back(id);
    });
    gather_put(state.cursors, record.cursors);
    gather_put(state.idempotency, record.idempotency);
    ledger::BookChanges book = state.book.drain();
    record.usage = std::move(book.closed);
    record.open_intervals_put = std::move(book.open_put);
    record.open_intervals_gone = std::move(book.open_gone);
    record.events = std::move(state.effects.events);
    record.audit = std::move(state.effects.audit);
    record.requests = std::move(state.effects.requests);
    // Taken, not copied: a rollback of the batch cuts them back to nothing anyway.
    state.effects.events.clear();
    state.effects.audit.clear();
    state.effects.requests.clear();
    state.meta.batch += 1;
    state.meta.time = std::max(state.meta.time, turn.now);
    state.meta.restored = false;
    record.meta = state.meta;
    record.tick = tick;
    record.inputs = std::move(inputs);
    return record;
}

}  // namespace tandem::core
