// SPDX-License-Identifier: Apache-2.0
#include "executor/local/devices.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/quantity.h"

namespace tandem::executor {

namespace {

constexpr std::int64_t tool_patience_ms = 10'000;
constexpr std::size_t tool_output_max = 16 << 20;

std::int64_t monotonic_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

Result<std::string> read_all(int fd) {
    std::string text;
    std::int64_t until = monotonic_ms() + tool_patience_ms;
    while (text.size() < tool_output_max) {
        pollfd wait{fd, POLLIN, 0};
        std::int64_t left = until - monotonic_ms();
        if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) == 0) {
            return fail(ErrorCode::unavailable, "did not answer in time");
        }
        char part[8192];
        ssize_t got = read(fd, part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(part, static_cast<std::size_t>(got));
    }
    return fail(ErrorCode::too_large, "said more than 16 MiB");
}

// Output of a program; not_found when there is no such program.
Result<std::string> run_tool(std::vector<std::string> words) {
    int output[2];
    if (pipe2(output, O_CLOEXEC) != 0) return fail(ErrorCode::internal, "pipe failed");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::vector<char*> args;
    for (std::string& word : words) args.push_back(word.data());
    args.push_back(nullptr);
    pid_t pid = 0;
    int failed = posix_spawnp(&pid, args[0], &actions, nullptr, args.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(output[1]);
    if (failed != 0) {
        close(output[0]);
        return fail(ErrorCode::not_found, words[0] + ": not found");
    }
    Result<std::string> text = read_all(output[0]);
    close(output[0]);
    if (!text) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (text && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
        // 127 is what a spawned child returns when its program is missing.
        bool missing = WIFEXITED(status) && WEXITSTATUS(status) == 127;
        return fail(missing ? ErrorCode::not_found : ErrorCode::unavailable, words[0] + " failed");
    }
    return text;
}

void read_nvidia(const std::string& tool, Discovery& found) {
    Result<std::string> table =
        run_tool({tool, "--query-gpu=" + std::string(nvidia_query), "--format=csv"});
    if (!table) {
        if (table.error().code != ErrorCode::not_found) found.warning = table.error().message;
        return;
    }
    Result<NvidiaReading> reading = parse_nvidia_table(*table);
    if (!reading) {
        found.warning = reading.error().message;
        return;
    }
    found.devices = std::move(reading->devices);
    found.facts = std::move(reading->facts);
    if (found.devices.empty()) return;
    Result<std::string> log = run_tool({tool, "-q", "-x"});
    if (!log) return;
    for (model::Fact& fact : parse_nvidia_log(*log)) found.facts.push_back(std::move(fact));
}

std::int64_t total_memory() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    std::int64_t kibibytes = 0;
    while (file >> key >> kibibytes) {
        if (key == "MemTotal:") return kibibytes * 1024;
        file.ignore(64, '\n');
    }
    return 0;
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    return {};
}

}  // namespace

std::vector<int> usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cores.push_back(cpu);
    }
    return cores;
}

Result<std::vector<model::Device>> make_cpu_slices(const std::vector<int>& cores,
                                                   const DeviceChoice& choice) {
    auto core_count = static_cast<std::int64_t>(cores.size());
    if (choice.over_commit < 1 || choice.over_commit > 4096) {
        return invalid_field("--over-commit", "must be 1..4096 slices a core, is " +
                                                  std::to_string(choice.over_commit));
    }
    std::int64_t most = core_count * choice.over_commit;
    std::int64_t count = choice.cpu_slices == 0 ? most : choice.cpu_slices;
    if (count < 1 || count > most) {
        return invalid_field("--slices", "must be 1.." + std::to_string(most) + " (" +
                                             std::to_string(core_count) + " cores, --over-commit " +
                                             std::to_string(choice.over_commit) + "), is " +
                                             std::to_string(count));
    }
    std::vector<model::Device> slices;
    for (std::int64_t index = 0; index < count; ++index) {
        model::Device slice{.index = index, .flavor = "cpu-slice", .model = "slice of the CPU"};
        slice.uuid = "cpu-slice-" + std::to_string(index);
        slice.over_committed = count > core_count;
        if (slice.over_committed) {
            slice.cores.push_back(cores[static_cast<std::size_t>(index % core_count)]);
        } else {
            for (std::int64_t at = index * core_count / count;
                 at < (index + 1) * core_count / count; ++at) {
                slice.cores.push_back(cores[static_cast<std::size_t>(at)]);
            }
        }
        slices.push_back(std::move(slice));
    }
    return slices;
}

Result<Discovery> discover_devices(const DeviceChoice& choice) {
    Discovery found;
    if (!choice.nvidia_smi.empty()) read_nvidia(choice.nvidia_smi, found);
    std::vector<int> cores = usable_cores();
    found.cpu_milli = static_cast<std::int64_t>(cores.size()) * 1000;
    found.memory_bytes = total_memory();
    if (std::string model = cpu_model(); !model.empty()) {
        found.facts.push_back({.name = "cpu.model", .value = model, .source = "/proc/cpuinfo"});
    }
    if (!found.devices.empty() && choice.cpu_slices == 0 && choice.over_commit == 1) return found;
    TANDEM_LET(slices, make_cpu_slices(cores, choice));
    // Declared slices stand behind the GPUs, with the next free numbers.
    auto first = static_cast<std::int64_t>(found.devices.size());
    for (model::Device& slice : slices) {
        slice.index += first;
        found.devices.push_back(std::move(slice));
    }
    return found;
}

}  // namespace tandem::executor
