// SPDX-License-Identifier: Apache-2.0
// Identities of processes, from /proc.
#include <fcntl.h>

#include <cstdlib>

#include "shim/process_tree.h"
#include "shim/protocol.h"

namespace tandem::shim {

std::string boot_id() {
    std::string text = read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64).value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::optional<ProcessFacts> read_process(pid_t pid) {
    std::string path = "/proc/" + std::to_string(pid) + "/stat";
    std::optional<std::string> text = read_file(AT_FDCWD, path.c_str(), 8192);
    if (!text) return std::nullopt;
    // The command's name may hold blanks and brackets: what follows starts after the last bracket.
    std::size_t at = text->rfind(')');
    if (at == std::string::npos || at + 3 >= text->size()) return std::nullopt;
    const char* cursor = text->c_str() + at + 2;
    ProcessFacts facts{.identity = {.pid = pid}, .parent = 0, .state = *cursor++};
    for (int field = 4; field <= 22; ++field) {
        char* end = nullptr;
        long long value = std::strtoll(cursor, &end, 10);
        if (end == cursor) return std::nullopt;
        cursor = end;
        if (field == 4) facts.parent = static_cast<pid_t>(value);
        if (field == 22) facts.identity.start_ticks = value;
    }
    return facts;
}

std::optional<ProcessIdentity> identify(pid_t pid) {
    std::optional<ProcessFacts> facts = read_process(pid);
    if (!facts) return std::nullopt;
    return facts->identity;
}

bool is_alive(const ProcessIdentity& process) {
    if (process.pid <= 0) return false;
    std::optional<ProcessFacts> facts = read_process(process.pid);
    return facts && facts->identity == process && facts->state != 'Z' && facts->state != 'X';
}

}  // namespace tandem::shim
