// SPDX-License-Identifier: Apache-2.0
// Control groups of one task: made, limited, joined, killed and removed, in version 1 and version 2
// mounts. Used by the shim; each folder is optional: what can't be made or limited is told in the
// notice.
#pragma once

#include <string>
#include <vector>

#include "shim/protocol.h"

namespace tandem::shim {

class Cgroups {
  public:
    // Makes the folders and sets memory and process limits. What could not be enforced is added to
    // `notice`.
    Cgroups(const TaskSpec& spec, std::string& notice);

    void join() const;  // the calling process; in the child, before it changes user
    void kill() const;  // everything in it at once, where the kernel offers that
    bool oom_killed() const;
    void remove() const;

  private:
    std::vector<std::string> folders_;
};

}  // namespace tandem::shim
