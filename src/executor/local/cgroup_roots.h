// SPDX-License-Identifier: Apache-2.0
// Where this process may make control groups for its tasks, in version 1 and version 2 mounts.
#pragma once

#include <string>
#include <vector>

namespace tandem::executor {

struct CgroupRoots {
    std::string kill{};    // version 2, offers cgroup.kill; may carry memory and pids as well
    std::string memory{};  // version 1
    std::string pids{};    // version 1
};

// Makes one folder `name` in each hierarchy below this process's own group; empty where that is not
// allowed.
CgroupRoots make_cgroup_roots(const std::string& name);
void remove_cgroup_roots(const CgroupRoots& roots);  // those that are empty

// The groups of one task; memory and pids only when limits are wanted.
std::vector<std::string> cgroups_of(const CgroupRoots& roots, const std::string& task, bool memory,
                                    bool pids);

}  // namespace tandem::executor
