// SPDX-License-Identifier: Apache-2.0
// Starts the task's own process: new session and process group, killed when the shim dies, core
// dumps off, limits, pinning, working directory, user, output into a pipe, input from /dev/null.
#pragma once

#include "shim/cgroup.h"
#include "shim/protocol.h"

namespace tandem::shim {

struct Launched {
    pid_t pid = 0;
    int output_fd = -1;  // non-blocking read end of the task's standard output and error
};

// Returns once the command has replaced the child, or says which step failed and why ("cwd /x: No
// such file or directory"); the failed child has then been waited for.
Outcome<Launched> launch(const TaskSpec& spec, const Cgroups& cgroups);

}  // namespace tandem::shim
