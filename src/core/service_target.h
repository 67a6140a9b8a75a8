// SPDX-License-Identifier: Apache-2.0
// What the replicas of a service should be: of which version of its model, and started by which
// revision of its spec and runtime. Both change by the same rollout: new ones take over from old
// ones, or are given up.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// The version that its spec asks for; null: there is none.
const model::ModelVersion* find_version(const State& state, const model::Service& service);

// Fingerprint of all that its replicas are started by besides the version; equal ones need no new
// replicas.
std::string revision_of(const model::Service& service, const model::Runtime& runtime);

// New replicas are to take over from those that serve.
bool is_updating(const model::Service& service);

// The replica is as its service's target says. One that an older server started has no revision and
// counts as such.
bool is_of_target(const model::Service& service, const model::Replica& replica);

// Sets the target. Without replicas it simply takes over. False: nothing can be started.
bool choose_target(Turn& turn, RowId service);

// The target was not reached: what serves stays, and the target is not tried again until another is
// wanted.
void give_up_target(Turn& turn, RowId service, const model::Reason& why);

// The target is what serves now, and an event says so.
void complete_target(Turn& turn, RowId service);

}  // namespace tandem::core
