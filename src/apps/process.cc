// SPDX-License-Identifier: Apache-2.0
#include "apps/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "apps/home.h"
#include "base/quantity.h"
#include "codec/document.h"
#include "codec/json_writer.h"

namespace tandem::apps {
namespace {

// Field 22 of /proc/PID/stat (proc(5)): start time in clock ticks since boot. The name in field 2
// may hold spaces and brackets, so fields are counted from the last ')'. 0: no such process, or a
// dead one that is not waited for yet.
std::int64_t start_ticks_of(std::int64_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat) return 0;
    std::istringstream fields(stat->substr(stat->rfind(')') + 1));
    std::string word;
    for (int field = 3; field <= 22 && fields >> word; ++field) {
        if (field == 3 && (word == "Z" || word == "X")) return 0;
        if (field == 22) return parse_integer(word).value_or(0);
    }
    return 0;
}

std::string boot_id() {
    std::string text = read_file("/proc/sys/kernel/random/boot_id").value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::int64_t number_of(const codec::Value& document, std::string_view name) {
    const codec::Value* value = document.find(name);
    return value ? parse_integer(value->text_or_empty()).value_or(0) : 0;
}
std::string text_of(const codec::Value& document, std::string_view name) {
    const codec::Value* value = document.find(name);
    return value ? std::string(value->text_or_empty()) : "";
}

bool lives(const RunRecord& record) {
    return record.pid > 0 && record.boot_id == boot_id() &&
           start_ticks_of(record.pid) == record.start_ticks;
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& log) {
    ::setsid();
    const int null = ::open("/dev/null", O_RDONLY);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (null < 0 || out < 0) ::_exit(126);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    std::vector<char*> words;
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(words.front(), words.data());
    ::_exit(127);
}

}  // namespace

RunRecord record_of_self(std::string url, std::string version, std::vector<std::string> options) {
    const std::int64_t pid = ::getpid();
    return {.pid = pid,
            .start_ticks = start_ticks_of(pid),
            .boot_id = boot_id(),
            .url = std::move(url),
            .version = std::move(version),
            .options = std::move(options)};
}

Status write_record(const std::string& path, const RunRecord& record) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("pid");
    writer.number(record.pid);
    writer.key("startTicks");
    writer.number(record.start_ticks);
    writer.key("bootId");
    writer.text(record.boot_id);
    writer.key("url");
    writer.text(record.url);
    writer.key("version");
    writer.text(record.version);
    writer.key("options");
    writer.begin_array();
    for (const std::string& word : record.options) writer.text(word);
    writer.end_array();
    writer.end_object();
    return write_file(path, json + "\n");
}

std::optional<RunRecord> find_running(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return std::nullopt;
    const auto document = codec::parse_json(*text);
    if (!document) return std::nullopt;
    RunRecord record{.pid = number_of(*document, "pid"),
                     .start_ticks = number_of(*document, "startTicks"),
                     .boot_id = text_of(*document, "bootId"),
                     .url = text_of(*document, "url"),
                     .version = text_of(*document, "version")};
    if (!lives(record)) return std::nullopt;
    if (const codec::Value* options = document->find("options"))
        for (const codec::Value& word : options->items)
            record.options.emplace_back(word.text_or_empty());
    return record;
}

Result<pid_t> start_detached(const std::vector<std::string>& arguments, const std::string& log) {
    const pid_t child = ::fork();
    if (child < 0)
        return fail(ErrorCode::unavailable,
                    std::string("starting a process: ") + std::strerror(errno));
    if (child == 0) become(arguments, log);
    return child;
}

void end_child(pid_t child, Duration deadline) {
    ::kill(child, SIGTERM);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline.ms);
    while (::waitpid(child, nullptr, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > end) ::kill(child, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

bool stop_process(const std::string& record_path, Duration deadline) {
    const auto running = find_running(record_path);
    if (!running) return true;
    ::kill(static_cast<pid_t>(running->pid), SIGTERM);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline.ms);
    while (std::chrono::steady_clock::now() < end) {
        ::waitpid(static_cast<pid_t>(running->pid), nullptr, WNOHANG);  // when it is our own child
        // The process itself: it takes its record away before it lets go of the home.
        if (!lives(*running)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

std::string own_path() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

namespace {

sigset_t end_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

}  // namespace

void block_signals() {
    const sigset_t set = end_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

void wait_for_signal() {
    const sigset_t set = end_signals();
    int received = 0;
    ::sigwait(&set, &received);
}

void forbid_core_dumps() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace tandem::apps
