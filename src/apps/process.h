// SPDX-License-Identifier: Apache-2.0
// Processes of this installation: started detached, found again by pid + start time + boot id (a
// pid alone may be somebody else's by now), told to stop.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tandem::apps {

struct RunRecord {
    std::int64_t pid = 0;
    std::int64_t start_ticks = 0;
    std::string boot_id{};
    std::string url{};  // what it listens on
    std::string version{};
    std::vector<std::string> options{};  // that it was started with, as words
};

RunRecord record_of_self(std::string url, std::string version, std::vector<std::string> options);
Status write_record(const std::string& path, const RunRecord& record);
// The record, if that very process still lives.
std::optional<RunRecord> find_running(const std::string& path);

// Runs `arguments` in a session of its own, output appended to `log`. Returns its pid.
Result<pid_t> start_detached(const std::vector<std::string>& arguments, const std::string& log);
// TERM, then waits; false when it still lives at the deadline.
// A child of this process: asked to end, and killed when it does not in time.
void end_child(pid_t child, Duration deadline);
bool stop_process(const std::string& record_path, Duration deadline);

std::string own_path();  // of this program's file

// TERM and INT are waited for by the main thread alone. Blocks them, and ignores PIPE: before any
// thread is started.
void block_signals();
void wait_for_signal();

// No core files, not readable by others' debuggers: memory holds secrets.
void forbid_core_dumps();

}  // namespace tandem::apps
