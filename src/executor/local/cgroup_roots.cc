// SPDX-License-Identifier: Apache-2.0
#include "executor/local/cgroup_roots.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace tandem::executor {

namespace {

struct Mount {
    std::string path{};
    std::string type{};
    std::string options{};
};

std::vector<Mount> cgroup_mounts() {
    std::vector<Mount> mounts;
    std::ifstream file("/proc/self/mounts");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string device;
        Mount mount;
        words >> device >> mount.path >> mount.type >> mount.options;
        if (mount.type.starts_with("cgroup")) mounts.push_back(mount);
    }
    return mounts;
}

bool holds(const std::string& list, const std::string& word) {
    return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// This process's own group in the hierarchy of a controller; "" is version 2.
std::string own_group(const std::string& controller) {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        std::size_t first = line.find(':');
        std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string controllers = line.substr(first + 1, second - first - 1);
        bool same = controller.empty() ? controllers.empty() : holds(controllers, controller);
        std::string path = line.substr(second + 1);
        if (same) return path == "/" ? "" : path;
    }
    return {};
}

std::string make_root(const Mount& mount, const std::string& controller, const std::string& name) {
    std::string path = mount.path + own_group(controller) + "/" + name;
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return {};
    if (access((path + "/cgroup.procs").c_str(), W_OK) == 0) return path;
    rmdir(path.c_str());
    return {};
}

}  // namespace

CgroupRoots make_cgroup_roots(const std::string& name) {
    CgroupRoots roots;
    for (const Mount& mount : cgroup_mounts()) {
        if (mount.type == "cgroup2" && roots.kill.empty()) {
            roots.kill = make_root(mount, "", name);
        } else if (holds(mount.options, "memory")) {
            roots.memory = make_root(mount, "memory", name);
        } else if (holds(mount.options, "pids")) {
            roots.pids = make_root(mount, "pids", name);
        }
    }
    return roots;
}

void remove_cgroup_roots(const CgroupRoots& roots) {
    for (const std::string& root : {roots.kill, roots.memory, roots.pids}) {
        if (!root.empty()) rmdir(root.c_str());
    }
}

std::vector<std::string> cgroups_of(const CgroupRoots& roots, const std::string& task, bool memory,
                                    bool pids) {
    std::vector<std::string> groups;
    if (!roots.kill.empty()) groups.push_back(roots.kill + "/" + task);
    if (memory && !roots.memory.empty()) groups.push_back(roots.memory + "/" + task);
    if (pids && !roots.pids.empty()) groups.push_back(roots.pids + "/" + task);
    return groups;
}

}  // namespace tandem::executor
