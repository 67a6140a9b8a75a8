// SPDX-License-Identifier: Apache-2.0
#include "shim/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace tandem::shim {

namespace {

bool write_file(const std::string& path, std::string_view text) {
    int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t put = write(fd, text.data(), text.size());
    close(fd);
    return put == static_cast<ssize_t>(text.size());
}

bool write_any(const std::string& folder, std::initializer_list<const char*> names,
               std::int64_t value) {
    for (const char* name : names) {
        if (write_file(folder + "/" + name, std::to_string(value))) return true;
    }
    return false;
}

std::string read_text(const std::string& path) {
    return read_file(AT_FDCWD, path.c_str(), 64 << 10).value_or("");
}

}  // namespace

Cgroups::Cgroups(const TaskSpec& spec, std::string& notice) {
    bool memory = false;
    bool pids = false;
    for (const std::string& folder : spec.cgroups) {
        if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) continue;
        folders_.push_back(folder);
        if (spec.memory_bytes > 0 &&
            write_any(folder, {"memory.max", "memory.limit_in_bytes"}, spec.memory_bytes)) {
            // Swap would let the limit slip; where it isn't accounted these files do not exist.
            if (!write_any(folder, {"memory.swap.max"}, 0)) {
                write_any(folder, {"memory.memsw.limit_in_bytes"}, spec.memory_bytes);
            }
            memory = true;
        }
        if (spec.pids_max > 0 && write_any(folder, {"pids.max"}, spec.pids_max)) pids = true;
    }
    if (spec.memory_bytes > 0 && !memory) notice += "memory limit not enforced: no memory cgroup; ";
    if (spec.pids_max > 0 && !pids) notice += "process limit not enforced: no pids cgroup; ";
}

void Cgroups::join() const {
    for (const std::string& folder : folders_) write_file(folder + "/cgroup.procs", "0");
}

void Cgroups::kill() const {
    for (const std::string& folder : folders_) write_file(folder + "/cgroup.kill", "1");
}

bool Cgroups::oom_killed() const {
    for (const std::string& folder : folders_) {
        for (const char* name : {"/memory.events", "/memory.oom_control"}) {
            std::string text = read_text(folder + name);
            std::size_t at = text.find("oom_kill ");
            if (at != std::string::npos && std::atoll(text.c_str() + at + 9) > 0) return true;
        }
    }
    return false;
}

void Cgroups::remove() const {
    for (const std::string& folder : folders_) rmdir(folder.c_str());
}

}  // namespace tandem::shim
