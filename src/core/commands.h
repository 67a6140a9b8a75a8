// SPDX-License-Identifier: Apache-2.0
// Commands: idempotency, authorisation, validity, change, audit and answer, all in one batch. All actions of a
// command are done, or none.
#pragma once

#include "core/turn.h"

namespace tandem::core {

void apply_command(Turn& turn, const model::Command& command);

// Answers get their resourceVersions when the batch is closed; this finds the row an outcome speaks of.
const model::Meta* find_meta(const State& state, const model::ObjectKey& key);

inline constexpr Duration idempotency_kept = hours(24);
void drop_old_idempotency(State& state, Instant now);

}  // namespace tandem::core
