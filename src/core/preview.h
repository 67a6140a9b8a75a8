// SPDX-License-Identifier: Apache-2.0
// A pending job looked at as if it were the planner's turn now: where it would start, who would be
// asked to leave. Asked of the planner itself on its own picture, which is then as it was.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// With another priority where one is given. Names of work that `caller` may not see are left out.
Result<model::Preview> preview_job(Turn& turn, const model::Caller& caller, RowId id,
                                   std::optional<std::int64_t> priority);

}  // namespace tandem::core
