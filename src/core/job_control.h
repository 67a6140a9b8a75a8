// SPDX-License-Identifier: Apache-2.0
// What people ask of a job besides applying and deleting it (model::JobAct). The caller is
// authorised for the act; whether it fits the job's phase is judged here.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// The event of spec.suspend that changes, by whatever way.
void note_suspend(Turn& turn, const model::Caller& caller, const model::Job& job, bool wanted);

// Returns whether anything changed. `may_release_all`: also the holds of others.
Result<bool> act_on_job(Turn& turn, const model::Caller& caller, const model::ActOnJob& act,
                        RowId id, bool may_release_all);

}  // namespace tandem::core
