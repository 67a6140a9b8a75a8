// SPDX-License-Identifier: Apache-2.0
#include "executor/local/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

namespace tandem::executor {

namespace {

constexpr std::size_t environment_max = 4 << 20;

// Name of the task that a process belongs to; empty: none, or not readable.
std::string task_carried_by(pid_t pid) {
    std::string path = "/proc/" + std::to_string(pid) + "/environ";
    std::string text = shim::read_file(AT_FDCWD, path.c_str(), environment_max).value_or("");
    std::string key = std::string(shim::name_variable) + "=";
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.find('\0', at);
        if (end == std::string::npos) end = text.size();
        if (text.compare(at, key.size(), key) == 0) {
            return text.substr(at + key.size(), end - at - key.size());
        }
        at = end + 1;
    }
    return {};
}

// A process that the null signal still reaches owned its number when its environment was read.
void kill_if_still(pid_t pid, const std::string& task) {
    int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) return;
    if (task_carried_by(pid) == task && syscall(SYS_pidfd_send_signal, fd, 0, nullptr, 0) == 0) {
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
    }
    close(fd);
}

bool group_has_processes(const std::string& group) {
    std::string procs = group + "/cgroup.procs";
    return !shim::read_file(AT_FDCWD, procs.c_str(), 1 << 20).value_or("").empty();
}

void kill_group(const std::string& group) {
    int fd = open((group + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    [[maybe_unused]] ssize_t put = write(fd, "1", 1);
    close(fd);
}

std::set<std::string> kill_carriers(const std::set<std::string>& names) {
    std::set<std::string> alive;
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return names;  // nothing can be proved
    while (dirent* entry = readdir(processes)) {
        pid_t pid = static_cast<pid_t>(std::atol(entry->d_name));
        if (pid <= 0) continue;
        std::string task = task_carried_by(pid);
        if (task.empty() || !names.contains(task)) continue;
        alive.insert(task);
        kill_if_still(pid, task);
    }
    closedir(processes);
    return alive;
}

}  // namespace

std::vector<std::string> kill_leftovers(const std::vector<LostTask>& lost,
                                        const CgroupRoots& roots) {
    std::string boot = shim::boot_id();
    std::set<std::string> suspects;
    for (const LostTask& task : lost) {
        if (task.last.boot == boot) suspects.insert(task.name);
    }
    std::set<std::string> alive;
    for (const std::string& name : suspects) {
        for (const std::string& group : cgroups_of(roots, name, true, true)) {
            kill_group(group);
            if (group_has_processes(group)) alive.insert(name);
        }
    }
    if (!suspects.empty()) alive.merge(kill_carriers(suspects));
    std::vector<std::string> gone;
    for (const LostTask& task : lost) {
        if (alive.contains(task.name)) continue;
        if (suspects.contains(task.name) && shim::is_alive(task.last.task)) continue;
        for (const std::string& group : cgroups_of(roots, task.name, true, true))
            rmdir(group.c_str());
        gone.push_back(task.name);
    }
    return gone;
}

}  // namespace tandem::executor
