// SPDX-License-Identifier: Apache-2.0
// Verdict: what the planner knows of one waiting workload: why it waits, who is before it, what would help.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "model/reason.h"

namespace tandem::model {

struct Verdict {
    RowId workload{};
    Reason reason{};
    std::int64_t position = 0;        // 1 = next in its queue
    std::vector<Reason> remedies{};   // what would change it, with numbers
};

}  // namespace tandem::model
