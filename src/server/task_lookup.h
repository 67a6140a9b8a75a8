// SPDX-License-Identifier: Apache-2.0
// Which task of the world is meant by "the output of this job"? Reads State, so only inside CoreThread::query.
#pragma once

#include <optional>

#include "core/state.h"

namespace tandem::server {

struct TaskWanted {
    model::ObjectKey key{};      // of a job, service or replica
    std::int64_t rank = -1;      // -1: the first there is
    std::int64_t epoch = 0;      // 0: the newest
};
// Absent when it does not exist or was never started.
std::optional<model::TaskName> find_task(const core::State& state, const TaskWanted& wanted);

}  // namespace tandem::server
