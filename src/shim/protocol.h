// SPDX-License-Identifier: Apache-2.0
// What tandem-shim and those who start it or ask it agree on: the task folder, its files, and the
// messages. std and POSIX only, so that a server of any later version can speak to a shim of this
// one.
//
// One shim runs one task out of one folder, once:
//   spec         TaskSpec, written by the starter before it starts the shim
//   shim.lock    held (flock) for as long as the shim lives
//   shim.sock    unix stream socket of frames: u32 little endian length, then that many bytes of
//   Fields identity     TaskStatus, created before the task is started: a folder that has one is
//   never started again exit         TaskStatus with state exited, written (fsync, rename) only
//   once the whole process tree is gone output.0 .1  ring of standard output and error; offsets
//   count from the first byte ever written
// Files and messages are Fields: lines `key=LENGTH:value\n`; unknown keys are skipped, keys may
// repeat.
//
// Messages carry "type". Asked: hello{min,max} status subscribe{everyMs} stop{graceMs} kill
// read{offset,max} release. Answered: hello{version,name} status{...} output{offset,end,data} ok
// unsupported{of} error{text}. Each answer repeats the asker's "id". A subscriber gets status
// pushes without "id": on each change of state, and on output at most each everyMs (0: only on
// change of state). Times named Ms are Unix milliseconds, durations are milliseconds of the
// monotonic clock. Thread rule: free functions without state; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::shim {

inline constexpr int protocol_min = 1;
inline constexpr int protocol_max = 1;
inline constexpr std::size_t frame_bytes_max = 1 << 20;
inline constexpr std::size_t read_bytes_max = 256 << 10;
inline constexpr std::size_t spec_bytes_max = 4 << 20;

inline constexpr const char* spec_file = "spec";
inline constexpr const char* lock_file = "shim.lock";
inline constexpr const char* socket_file = "shim.sock";
inline constexpr const char* identity_file = "identity";
inline constexpr const char* exit_file = "exit";
inline constexpr const char* log_file = "shim.log";  // the shim's own complaints, if any
// Every process of a task carries this variable: how its leftovers are found when its shim is dead.
inline constexpr const char* name_variable = "TANDEM_TASK";

// What `tandem-shim FOLDER` returns once the task is started, or can't be.
enum class StartCode : int { started = 0, bad_spec = 2, busy = 3, used = 4, failed = 5 };

template <class T>
using Outcome = std::expected<T, std::string>;  // the text says what is wrong

// ---- Fields
// ----------------------------------------------------------------------------------------

struct Field {
    std::string key;
    std::string value;
    bool operator==(const Field&) const = default;
};
using Fields = std::vector<Field>;

void put(Fields& fields, std::string_view key, std::string_view value);
void put(Fields& fields, std::string_view key, std::int64_t value);
std::string_view text_of(const Fields& fields, std::string_view key);  // first of that key, or ""
std::int64_t number_of(const Fields& fields, std::string_view key, std::int64_t otherwise = 0);

std::string encode(const Fields& fields);
std::optional<Fields> decode(std::string_view text);  // absent: not the format

std::string frame(const Fields& fields);
// Takes one whole frame off the front of `buffer`. Absent and buffer unchanged: more bytes are
// needed. The error: this stream is not ours, or a frame is longer than frame_bytes_max.
Outcome<std::optional<Fields>> take_frame(std::string& buffer);

// ---- The task
// --------------------------------------------------------------------------------------

struct ResourceLimit {
    std::string name;  // "nofile", "nproc", "as", "fsize", "stack", "memlock"
    std::uint64_t value = 0;
    bool operator==(const ResourceLimit&) const = default;
};

struct TaskSpec {
    std::string name;
    std::vector<std::string> args;  // args[0] is looked up in the PATH of `env`
    std::vector<std::string> env;   // whole environment, "KEY=value"
    std::string cwd;                // absolute
    std::int64_t ring_bytes = 64 << 20;
    std::int64_t grace_ms = 30'000;  // between TERM and KILL
    std::int64_t max_run_ms = 0;     // 0: no limit
    std::int64_t memory_bytes = 0;   // 0: no limit; needs a memory cgroup
    std::int64_t pids_max = 0;       // 0: no limit; needs a pids cgroup
    std::vector<int> cpus;           // pinned to these; empty: all
    std::vector<ResourceLimit> limits;
    std::vector<std::string>
        cgroups;            // folders to make, join and remove; each where it can be written
    std::int64_t uid = -1;  // -1: as the shim
    std::int64_t gid = -1;
    int nice = 0;
    int port = 0;               // told back in the status, not used here
    std::string progress_file;  // told back in the status: first 256 bytes and time of change
    // For a server that adopts the task; not used here.
    std::string node;                  // where it was placed; empty: written by an older server
    std::vector<std::string> devices;  // what it has of that node: "INDEX:MILLI"
    std::int64_t watch_ms = 0;         // its progress and output are told that soon; 0: at leisure
    bool operator==(const TaskSpec&) const = default;
};

std::string encode_spec(const TaskSpec& spec);
// Checks ranges as well; the error names the key.
Outcome<TaskSpec> decode_spec(std::string_view text);

enum class TaskState : std::uint8_t { starting, running, stopping, exited };
std::string_view name_of(TaskState state);

// A process, told apart from later ones that reuse its number.
struct ProcessIdentity {
    pid_t pid = 0;
    std::int64_t start_ticks = 0;  // field 22 of /proc/PID/stat
    bool operator==(const ProcessIdentity&) const = default;
};
std::string boot_id();                               // of this machine's running kernel
std::optional<ProcessIdentity> identify(pid_t pid);  // absent: no such process
bool is_alive(const ProcessIdentity& process);       // that very process, and not a zombie

struct TaskStatus {
    TaskState state = TaskState::starting;
    std::string name;
    std::string boot;
    ProcessIdentity task;  // pid 0: never started
    ProcessIdentity shim;
    std::int64_t started_ms = 0;
    std::int64_t ended_ms = 0;  // the task's own process ended
    std::int64_t gone_ms = 0;   // its whole tree was proved gone
    std::int64_t ran_ms = 0;    // from start to end
    std::optional<int> exit_code;
    std::optional<int> signal;
    std::string start_error;  // why the command could not be started
    bool oom_killed = false;
    bool timed_out = false;       // ended because of max_run_ms
    bool stop_requested = false;  // ended because it was asked to
    std::string notice;           // what of the spec could not be enforced
    int port = 0;
    std::int64_t output_bytes = 0;    // offset after the last byte
    std::int64_t output_at_ms = 0;    // 0: nothing yet
    std::int64_t output_dropped = 0;  // bytes the disk did not take
    std::string progress;
    std::int64_t progress_at_ms = 0;
    bool operator==(const TaskStatus&) const = default;
};
void put_status(Fields& fields, const TaskStatus& status);
std::optional<TaskStatus> status_of(const Fields& fields);

// ---- Files
// -----------------------------------------------------------------------------------------

// Reads a whole small file under `folder_fd`; absent when missing, unreadable or longer than `max`.
std::optional<std::string> read_file(int folder_fd, const char* name, std::size_t max);
// Write to a temporary name, fsync, rename, fsync the folder. False: errno says why.
bool write_durably(int folder_fd, const char* name, std::string_view content);

struct OutputSlice {
    std::int64_t offset = 0;  // of data[0]; later than asked for when the ring has wrapped
    std::int64_t end = 0;     // offset after the last byte there is
    std::string data;
};
// Reads the ring of a live or ended task. offset < 0 counts from the end.
OutputSlice read_output(int folder_fd, std::int64_t offset, std::size_t max);

}  // namespace tandem::shim
