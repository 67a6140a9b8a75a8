// SPDX-License-Identifier: Apache-2.0
#include "core/state.h"

#include "core/row_digest.h"

namespace tandem::core {

State::State() : book(meta.next_id) {}
State::~State() = default;

StateMark State::mark() {
    StateMark mark;
    std::size_t index = 0;
    each_table([&](auto& table) { mark.tables[index++] = table.mark(); });
    mark.intents = intents.mark();
    mark.idempotency = idempotency.mark();
    mark.cursors = cursors.mark();
    mark.planner = planner.mark();
    mark.book = book.mark();
    index = 0;
    live.each_map([&](auto& map) { mark.live[index++] = map.mark(); });
    mark.recovering = live.recovering;
    mark.look_at_all = live.look_at_all;
    mark.answers = effects.answers.size();
    mark.events = effects.events.size();
    mark.audit = effects.audit.size();
    mark.requests = effects.requests.size();
    mark.grants = effects.grants.size();
    mark.acknowledgements = effects.acknowledgements.size();
    mark.meta = meta;
    return mark;
}

void State::rollback(const StateMark& mark) {
#if !defined(TANDEM_PLANT_UNDO_OF_COMMIT)
    std::size_t index = 0;
    each_table([&](auto& table) { table.rollback(mark.tables[index++]); });
    intents.rollback(mark.intents);
    idempotency.rollback(mark.idempotency);
    cursors.rollback(mark.cursors);
    planner.rollback(mark.planner);
    book.rollback(mark.book);
    index = 0;
    live.each_map([&](auto& map) { map.rollback(mark.live[index++]); });
    live.recovering = mark.recovering;
    live.look_at_all = mark.look_at_all;
    meta = mark.meta;
#endif
    effects.answers.resize(mark.answers);
    effects.events.resize(mark.events);
    effects.audit.resize(mark.audit);
    effects.requests.resize(mark.requests);
    effects.grants.resize(mark.grants);
    effects.acknowledgements.resize(mark.acknowledgements);
}

void State::forget_touched() {
    live.jobs_touched.clear();
    live.services_touched.clear();
}

void State::forget() {
    each_table([](auto& table) { table.forget(); });
    intents.forget();
    idempotency.forget();
    cursors.forget();
    planner.forget();
    book.forget();
    live.each_map([](auto& map) { map.forget(); });
    effects = {};
}

void State::restore_rows(RecoveredState& recovered) {
    meta = recovered.meta;
    // Copied, not moved: copies lie close together, where what was read stands scattered among what reading it took,
    // and would keep all of those pages.
    for (const model::Object& object : recovered.objects)
        std::visit(
            [&]<class T>(const T& row) {
                table<T>().restore(row.meta.id, row);
            },
            object);
    recovered.objects = {};
    for (const model::Intent& intent : recovered.open_intents) intents.restore(intent.id, intent);
    for (const model::GatewayCursor& cursor : recovered.cursors) cursors.restore({cursor.gateway, cursor.epoch}, cursor);
    for (const model::IdempotencyRow& row : recovered.idempotency) idempotency.restore({row.subject, row.key}, row);
}

std::uint64_t State::digest() const {
    Digest digest;
    each_table([&](const auto& table) {
        for (const auto& [id, row] : table.rows()) add_row(digest, row);
    });
    for (const auto& [id, intent] : intents.rows()) {
        digest.add(id.value);
        digest.add(static_cast<std::int64_t>(intent.body.index()));
        digest.add(model::task_of(intent).text());
    }
    for (const auto& [key, row] : idempotency.rows()) digest.add(key.first + "/" + key.second);
    for (const auto& [key, cursor] : cursors.rows()) {
        digest.add(key.first);
        digest.add(cursor.sequence);
    }
    digest.add(meta.next_id);
    digest.add(meta.version);
    digest.add(static_cast<std::int64_t>(planner.digest()));
    digest.add(static_cast<std::int64_t>(book.digest()));
    return digest.value();
}

}  // namespace tandem::core
