// SPDX-License-Identifier: Apache-2.0
// Killing every descendant of this process, and nobody else. Called by the shim alone, which is a
// subreaper: a descendant whose parent dies becomes its child, so "no child is left to wait for"
// proves the tree gone. A signal goes through a pidfd whose process was checked after it was
// opened: a reused number can't be hit.
#pragma once

#include <optional>

#include "shim/protocol.h"

namespace tandem::shim {

struct ProcessFacts {
    ProcessIdentity identity;
    pid_t parent = 0;
    char state = '?';
};
std::optional<ProcessFacts> read_process(pid_t pid);

// Sends SIGKILL to all present descendants of `ancestor`; the number of those that were found
// alive. Processes may fork meanwhile: call again until nothing is left.
int kill_descendants(pid_t ancestor);

}  // namespace tandem::shim
