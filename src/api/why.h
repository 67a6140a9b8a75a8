// SPDX-License-Identifier: Apache-2.0
// Why a job or service is as it is: reason, what binds, who holds it, what would change it, and what happened
// last. Reads the published view and the starts expected last; a job that is over is told by its
// row.
#pragma once

#include "api/call.h"
#include "api/foresight.h"

namespace tandem::api {

void why(const Parts& parts, StartTimes& start_times, Call call, model::Kind kind);

// KIND/PROJECT/NAMESPACE/NAME of live work; empty where the caller may not see it.
std::string visible_name(const server::WorkView& view, const Call& call, RowId workload);

}  // namespace tandem::api
