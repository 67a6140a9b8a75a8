// SPDX-License-Identifier: Apache-2.0
// Turn: what every step function is handed: the state, the batch's time, its randomness, and short names for
// the moves that all of them make. One lives for one batch.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "core/state.h"

namespace tandem::core {

struct Turn {
    State& state;
    Instant now;
    Random& random;
    std::optional<model::Preview> preview{};  // that the command at hand asked for
    std::set<RowId> running_now{};  // replicas that came to run in this batch; charged so at its end
    std::set<RowId> growing{};  // elastic jobs that start once the planner was asked for more
    std::set<RowId> asked_for_more{};  // they were, in this batch

    template <class T>
    Table<T>& table() { return state.table<T>(); }

    void note(const model::ObjectKey& about, const Uid& uid, model::Reason reason) {
        TANDEM_ASSERT(reason.code != model::ReasonCode::none, "an event must say what happened");
        state.effects.events.push_back(
            {.id = state.next_id(), .at = now, .about = about, .uid = uid, .reason = std::move(reason)});
    }
    RowId open_intent(model::IntentBody body) {
        const RowId id = state.next_id();
        state.intents.insert(id, {.id = id, .body = std::move(body), .opened = now});
        return id;
    }
};

// The workload is looked at again before the batch ends.
void touch(Turn& turn, model::Kind kind, RowId workload);
// The same for every workload that is not over.
void touch_all(Turn& turn);
// Asserts that the table of phases has this edge; touches the owner.
void move_replica(Turn& turn, RowId id, model::Phase to);
void close_intents(Turn& turn, const model::TaskName& task);
// When to look at a workload again if nothing else happens; absent: never.
void set_wake(Live& live, RowId workload, std::optional<Instant> at);

// reason_of(code, {{"queue", name}, {"needed", "3"}})
inline model::Reason reason_of(model::ReasonCode code, std::initializer_list<model::ReasonParam> params = {}) {
    return {.code = code, .params = params};
}

template <class T>
model::ObjectKey key_of_row(const T& row) {
    return {T::kind, row.meta.project, row.meta.name_space, row.meta.name};
}

}  // namespace tandem::core
