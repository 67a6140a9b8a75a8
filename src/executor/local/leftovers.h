// SPDX-License-Identifier: Apache-2.0
// Tasks whose shim died without leaving an exit record. Their own process dies with the shim; what
// it forked may live on, and is found by the task's control group and by the variable that every
// process of a task carries. Used by the executor's loop; one look at /proc serves any number of
// tasks.
#pragma once

#include <string>
#include <vector>

#include "executor/local/cgroup_roots.h"
#include "shim/protocol.h"

namespace tandem::executor {

struct LostTask {
    std::string name{};
    shim::TaskStatus last{};  // from its identity file
};

// Sends KILL to all that is left of `lost` and returns the names of those of which nothing was
// found: proved gone. Call again for the others. A process is killed only while it carries the name
// of a lost task.
std::vector<std::string> kill_leftovers(const std::vector<LostTask>& lost,
                                        const CgroupRoots& roots);

}  // namespace tandem::executor
