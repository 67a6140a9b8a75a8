// SPDX-License-Identifier: Apache-2.0
// Which task of the world is meant by "the output of this job"? Reads State, so only inside CoreThread::query.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/state.h"

namespace tandem::server {

struct TaskWanted {
    model::ObjectKey key{};      // of a job, service or replica
    std::string role{};          // empty: any
    std::int64_t rank = -1;      // -1: the first there is
    std::int64_t epoch = 0;      // 0: the newest
};
// Of a service without a replica that was started: the newest that ended unasked, also by that
// one's name. Error not_found: says whether the object, the rank or role, or a start is missing.
Result<model::TaskName> find_task(const core::State& state, const TaskWanted& wanted);

// What a restore has left to an operator: replicas that are unknown, and tasks that no row means.
struct OldTask {
    std::string task{};              // its name in the world
    std::optional<model::ObjectKey> replica{};
    std::string node{};
    std::string handle{};            // empty: its executor has none that lives
    std::vector<model::DeviceShare> devices{};  // which it has, and keeps from others
};
std::vector<OldTask> find_old_tasks(const core::State& state);

}  // namespace tandem::server
