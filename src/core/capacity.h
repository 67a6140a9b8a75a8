// SPDX-License-Identifier: Apache-2.0
// Capacity of one replica, kept the same in its row, the planner's entries and the interval book.
#pragma once

#include "core/turn.h"

namespace tandem::core {

ledger::Attribution attribution_of(const model::Replica& replica);

// The placed replica's claim becomes its own; `kind` claim while victims may still be leaving.
sched::Entry entry_of(const State& state, const model::Replica& replica, sched::EntryKind kind,
                      const std::string& flavor);

// What the planner has just placed is the replica's: a claim while victims leave, else free at once.
void claim(Turn& turn, const model::Replica& replica, const sched::Placement& placement, const std::string& flavor);
// Whoever waits on claims is looked at again.
void touch_claimed(Turn& turn);
// True when the claim of this replica waits for nobody, nor for a task of before a restore; its
// devices are then charged as held.
bool hold_if_free(Turn& turn, const model::Replica& replica);
// Claim or held capacity becomes an allocation (a task is about to start).
void allocate(Turn& turn, const model::Replica& replica);
void charge(Turn& turn, const model::Replica& replica, model::LedgerState state);

// Proved gone, or a claim given up: devices are free again; whoever waits on claims is looked at.
struct Release {
    std::optional<Instant> safe_at{};
    model::LedgerState lost = model::LedgerState::failed_rerun;
};
void release(Turn& turn, const model::Replica& replica, const Release& how);

}  // namespace tandem::core
