// SPDX-License-Identifier: Apache-2.0
#include "shim/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace tandem::shim {

namespace {

struct Kinship {
    pid_t child = 0;
    pid_t parent = 0;
};

std::vector<pid_t> numbers_in(const char* text) {
    std::vector<pid_t> numbers;
    for (char* end = nullptr;; text = end) {
        long value = std::strtol(text, &end, 10);
        if (end == text) return numbers;
        numbers.push_back(static_cast<pid_t>(value));
    }
}

std::vector<pid_t> names_in(const std::string& folder) {
    std::vector<pid_t> numbers;
    DIR* entries = opendir(folder.c_str());
    if (entries == nullptr) return numbers;
    while (dirent* entry = readdir(entries)) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            numbers.push_back(static_cast<pid_t>(std::atol(entry->d_name)));
        }
    }
    closedir(entries);
    return numbers;
}

std::string children_list(pid_t process, pid_t thread) {
    return "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/children";
}

// By the kernel's lists of children, where it keeps them: any thread of a process may have forked.
std::vector<Kinship> descendants_by_lists(pid_t ancestor) {
    std::vector<Kinship> found;
    std::vector<pid_t> parents{ancestor};
    for (std::size_t next = 0; next < parents.size(); ++next) {
        pid_t parent = parents[next];
        for (pid_t thread : names_in("/proc/" + std::to_string(parent) + "/task")) {
            std::string path = children_list(parent, thread);
            std::string list = read_file(AT_FDCWD, path.c_str(), 16 << 20).value_or("");
            for (pid_t child : numbers_in(list.c_str())) {
                found.push_back({child, parent});
                parents.push_back(child);
            }
        }
    }
    return found;
}

std::vector<Kinship> descendants_by_scan(pid_t ancestor) {
    std::vector<Kinship> everyone;
    for (pid_t pid : names_in("/proc")) {
        std::optional<ProcessFacts> facts = read_process(pid);
        if (facts) everyone.push_back({pid, facts->parent});
    }
    std::vector<Kinship> found;
    std::vector<pid_t> parents{ancestor};
    for (std::size_t next = 0; next < parents.size(); ++next) {
        for (const Kinship& each : everyone) {
            if (each.parent != parents[next] || each.child == ancestor) continue;
            found.push_back(each);
            parents.push_back(each.child);
        }
    }
    return found;
}

bool kill_child(const Kinship& target) {
    int fd = static_cast<int>(syscall(SYS_pidfd_open, target.child, 0));
    if (fd < 0) return false;
    std::optional<ProcessFacts> facts = read_process(target.child);
    // Not waited for yet (the null signal reaches it), so it still owned its number when the facts
    // were read.
    bool same = facts && facts->parent == target.parent && facts->state != 'Z' &&
                facts->state != 'X' && syscall(SYS_pidfd_send_signal, fd, 0, nullptr, 0) == 0;
    bool sent = same && syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0;
    close(fd);
    return sent;
}

}  // namespace

int kill_descendants(pid_t ancestor) {
    bool listed = access(children_list(ancestor, ancestor).c_str(), R_OK) == 0;
    std::vector<Kinship> found =
        listed ? descendants_by_lists(ancestor) : descendants_by_scan(ancestor);
    int killed = 0;
    // Youngest first: a process whose parent was killed has another parent and would be skipped.
    for (auto each = found.rbegin(); each != found.rend(); ++each) killed += kill_child(*each);
    return killed;
}

}  // namespace tandem::shim
