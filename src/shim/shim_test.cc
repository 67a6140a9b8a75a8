// SPDX-License-Identifier: Apache-2.0
// The real binary, in temporary task folders.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "shim/protocol.h"

namespace tandem::shim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{20};

bool eventually(auto condition) {
    for (auto until = Clock::now() + patience; Clock::now() < until;) {
        if (condition()) return true;
        poll(nullptr, 0, 5);
    }
    return condition();
}

class Folder {
  public:
    Folder() {
        std::string name = testing::TempDir() + "shim-XXXXXX";
        path = mkdtemp(name.data());
        fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    ~Folder() {
        close(fd);
        std::filesystem::remove_all(path);
    }
    std::string file(const char* name) const { return path + "/" + name; }
    std::optional<TaskStatus> record(const char* name) const {
        auto text = read_file(fd, name, 1 << 20);
        auto fields = text ? decode(*text) : std::nullopt;
        return fields ? status_of(*fields) : std::nullopt;
    }
    TaskStatus await_exit() const {
        EXPECT_TRUE(eventually([&] { return record(exit_file).has_value(); }));
        return record(exit_file).value_or(TaskStatus{});
    }
    std::string output() const { return read_output(fd, 0, 1 << 20).data; }
    TaskSpec script(const std::string& text) const {
        TaskSpec spec;
        spec.name = "task-1";
        spec.args = {"sh", "-c", text};
        spec.env = {"PATH=/usr/bin:/bin", "TANDEM_TASK=task-1"};
        spec.cwd = path;
        spec.grace_ms = 5'000;
        return spec;
    }

    std::string path;
    int fd = -1;
};

int start(const Folder& folder, const TaskSpec& spec) {
    std::ofstream(folder.file(spec_file)) << encode_spec(spec);
    std::string binary = TANDEM_SHIM_PATH;
    std::string where = folder.path;
    char* args[] = {binary.data(), where.data(), nullptr};
    pid_t pid = 0;
    if (posix_spawn(&pid, binary.c_str(), nullptr, nullptr, args, environ) != 0) return -1;
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Asker {
  public:
    explicit Asker(const Folder& folder) {
        fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.fd,
                 socket_file);
        connected = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    ~Asker() { close(fd_); }

    void send(Fields fields) {
        std::string bytes = frame(fields);
        ASSERT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    Fields receive() {
        while (true) {
            auto message = take_frame(buffer_);
            if (!message) return {};
            if (*message) return **message;
            pollfd wait{fd_, POLLIN, 0};
            char part[4096];
            if (poll(&wait, 1, 20'000) <= 0) return {};
            ssize_t got = read(fd_, part, sizeof part);
            if (got <= 0) return {};
            buffer_.append(part, static_cast<std::size_t>(got));
        }
    }
    Fields ask(Fields fields) {
        send(std::move(fields));
        return receive();
    }
    TaskStatus status() { return status_of(ask({{"type", "status"}})).value_or(TaskStatus{}); }

    bool connected = false;

  private:
    int fd_ = -1;
    std::string buffer_;
};

pid_t number_in(const std::string& path) {
    pid_t number = 0;
    std::ifstream(path) >> number;
    return number;
}

TEST(Protocol, fields_any_bytes_come_back) {
    Fields fields{{"a", std::string("x\0\n=:", 5)}, {"b", ""}, {"a", "2"}};
    EXPECT_EQ(decode(encode(fields)), fields);
    EXPECT_EQ(text_of(fields, "a").size(), 5u);
}

TEST(Protocol, fields_damaged_are_refused) {
    for (std::string_view text : {"a", "a=", "a=1", "a=1:", "a=1:xy", "a=5:x\n", "=1:x\n",
                                  "a=x:1\n", "a=99999999999999999999:x\n", "a=-1:x\n"}) {
        EXPECT_FALSE(decode(text)) << text;
    }
}

TEST(Protocol, frame_arriving_in_parts_is_taken_once_whole) {
    std::string bytes = frame({{"type", "hello"}}) + frame({{"type", "kill"}});
    std::string buffer;
    std::vector<std::string> types;
    for (char byte : bytes) {
        buffer += byte;
        auto message = take_frame(buffer);
        ASSERT_TRUE(message);
        if (*message) types.emplace_back(text_of(**message, "type"));
    }
    EXPECT_EQ(types, (std::vector<std::string>{"hello", "kill"}));
    std::string huge = "\xff\xff\xff\xff";
    EXPECT_FALSE(take_frame(huge));
}

TEST(Protocol, spec_comes_back_and_bad_values_are_named) {
    TaskSpec spec;
    spec.name = "n";
    spec.args = {"a", "b c"};
    spec.env = {"X=1\n2"};
    spec.cwd = "/";
    spec.cpus = {0, 3};
    spec.limits = {{"nofile", 100}};
    spec.cgroups = {"/sys/fs/cgroup/x"};
    spec.nice = -5;
    EXPECT_EQ(decode_spec(encode_spec(spec)), spec);
    spec.nice = 40;
    EXPECT_EQ(decode_spec(encode_spec(spec)).error(), "nice: must be -20..19, is 40");
    spec.nice = 0;
    spec.cwd = "here";
    EXPECT_TRUE(decode_spec(encode_spec(spec)).error().starts_with("cwd: "));
}

TEST(Shim, command_ends_well_exit_record_and_output_are_there) {
    Folder folder;
    TaskSpec spec = folder.script("echo out; echo err >&2; pwd; echo $TANDEM_TASK");
    spec.port = 4711;
    ASSERT_EQ(start(folder, spec), 0);
    TaskStatus status = folder.await_exit();
    EXPECT_EQ(status.state, TaskState::exited);
    EXPECT_EQ(status.exit_code, 0);
    EXPECT_FALSE(status.signal);
    EXPECT_EQ(status.port, 4711);
    EXPECT_EQ(status.name, "task-1");
    EXPECT_EQ(status.boot, boot_id());
    EXPECT_GE(status.gone_ms, status.ended_ms);
    EXPECT_EQ(folder.output(), "out\nerr\n" + folder.path + "\ntask-1\n");
    EXPECT_EQ(status.output_bytes, static_cast<std::int64_t>(folder.output().size()));
    EXPECT_EQ(folder.record(identity_file)->task, status.task);
}

TEST(Shim, command_fails_code_or_signal_is_recorded) {
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("exit 7")), 0);
    EXPECT_EQ(folder.await_exit().exit_code, 7);
    Folder other;
    ASSERT_EQ(start(other, other.script("kill -SEGV $$")), 0);
    TaskStatus status = other.await_exit();
    EXPECT_EQ(status.signal, SIGSEGV);
    EXPECT_FALSE(status.exit_code);
}

TEST(Shim, start_impossible_reason_is_told) {
    Folder folder;
    TaskSpec spec = folder.script("");
    spec.args = {"no-such-command"};
    EXPECT_EQ(start(folder, spec), static_cast<int>(StartCode::failed));
    EXPECT_EQ(folder.await_exit().start_error,
              "command no-such-command: No such file or directory");
    Folder second;
    std::ofstream(second.file("plain")) << "text";
    spec.args = {second.file("plain")};
    EXPECT_EQ(start(second, spec), static_cast<int>(StartCode::failed));
    EXPECT_NE(second.await_exit().start_error.find("Permission denied"), std::string::npos);
    Folder third;
    spec = third.script("true");
    spec.cwd = "/no/such/folder";
    EXPECT_EQ(start(third, spec), static_cast<int>(StartCode::failed));
    EXPECT_EQ(third.await_exit().start_error,
              "working directory /no/such/folder: No such file or directory");
}

TEST(Shim, spec_bad_is_refused_before_anything_starts) {
    Folder folder;
    TaskSpec spec = folder.script("true");
    spec.args.clear();
    EXPECT_EQ(start(folder, spec), static_cast<int>(StartCode::bad_spec));
    EXPECT_FALSE(folder.record(identity_file));
}

TEST(Shim, folder_used_once_is_never_started_again) {
    Folder folder;
    TaskSpec spec = folder.script("echo started; sleep 60");
    ASSERT_EQ(start(folder, spec), 0);
    EXPECT_EQ(start(folder, spec), static_cast<int>(StartCode::busy));
    Asker(folder).ask({{"type", "kill"}});
    folder.await_exit();
    EXPECT_TRUE(
        eventually([&] { return start(folder, spec) == static_cast<int>(StartCode::used); }));
    EXPECT_EQ(folder.output(), "started\n");
}

TEST(Shim, stop_obeyed_within_grace_ends_by_the_tasks_own_code) {
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("trap 'echo saved; exit 3' TERM; echo ready; "
                                          "while :; do sleep 0.05; done")),
              0);
    Asker asker(folder);
    ASSERT_TRUE(eventually([&] { return folder.output() == "ready\n"; }));
    EXPECT_EQ(text_of(asker.ask({{"type", "stop"}}), "type"), "ok");
    TaskStatus status = folder.await_exit();
    EXPECT_EQ(status.exit_code, 3);
    EXPECT_TRUE(status.stop_requested);
    EXPECT_TRUE(folder.output().ends_with("saved\n")) << folder.output();
}

TEST(Shim, stop_ignored_kills_the_whole_tree_after_grace) {
    Folder folder;
    // The grandchild leaves the group and the session, and ignores TERM as well.
    ASSERT_EQ(start(folder,
                    folder.script("trap '' TERM; (setsid sh -c 'echo $$ > far; exec sleep 600' &); "
                                  "echo $$ > near; while :; do sleep 0.05; done")),
              0);
    ASSERT_TRUE(eventually(
        [&] { return number_in(folder.file("far")) && number_in(folder.file("near")); }));
    auto far = identify(number_in(folder.file("far")));
    ASSERT_TRUE(far);
    auto begun = Clock::now();
    Asker(folder).ask({{"type", "stop"}, {"graceMs", "300"}});
    TaskStatus status = folder.await_exit();
    EXPECT_GE(Clock::now() - begun, std::chrono::milliseconds(300));
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_FALSE(is_alive(*far));
    EXPECT_FALSE(is_alive(status.task));
}

TEST(Shim, main_process_ends_leftovers_are_killed_before_the_record) {
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("(setsid sh -c 'echo $$ > far; exec sleep 600' &) ; "
                                          "while [ ! -s far ]; do sleep 0.01; done; exit 0")),
              0);
    TaskStatus status = folder.await_exit();
    EXPECT_EQ(status.exit_code, 0);
    EXPECT_EQ(identify(number_in(folder.file("far"))), std::nullopt);
}

TEST(Shim, run_time_over_without_any_server_is_stopped) {
    Folder folder;
    TaskSpec spec = folder.script("trap '' TERM; while :; do sleep 0.05; done");
    spec.max_run_ms = 200;
    spec.grace_ms = 200;
    ASSERT_EQ(start(folder, spec), 0);
    TaskStatus status = folder.await_exit();
    EXPECT_TRUE(status.timed_out);
    EXPECT_FALSE(status.stop_requested);
    EXPECT_GE(status.ran_ms, 400);
    EXPECT_EQ(status.signal, SIGKILL);
}

TEST(Shim, shim_killed_takes_its_task_with_it) {
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("while :; do sleep 0.05; done")), 0);
    TaskStatus status = Asker(folder).status();
    ASSERT_TRUE(is_alive(status.task));
    ASSERT_EQ(kill(status.shim.pid, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] { return !is_alive(status.task); }));
    EXPECT_FALSE(folder.record(exit_file));
}

TEST(Shim, stranger_is_never_killed) {
    pid_t stranger = fork();
    if (stranger == 0) {
        setpgid(0, 0);
        pause();
        _exit(0);
    }
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("sleep 600 & sleep 600 & wait")), 0);
    Asker(folder).ask({{"type", "kill"}});
    folder.await_exit();
    EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0);
    kill(stranger, SIGKILL);
    waitpid(stranger, nullptr, 0);
}

TEST(Shim, output_beyond_the_ring_keeps_the_newest_at_true_offsets) {
    Folder folder;
    TaskSpec spec =
        folder.script("i=0; while [ $i -lt 4000 ]; do printf '%09d\\n' $i; i=$((i+1)); done");
    spec.ring_bytes = 8192;
    ASSERT_EQ(start(folder, spec), 0);
    TaskStatus status = folder.await_exit();
    EXPECT_EQ(status.output_bytes, 40'000);
    OutputSlice all = read_output(folder.fd, 0, 1 << 20);
    EXPECT_EQ(all.end, 40'000);
    EXPECT_EQ(all.offset + static_cast<std::int64_t>(all.data.size()), 40'000);
    EXPECT_GE(all.data.size(), 4096u);
    EXPECT_LE(all.data.size(), 8192u);
    char expected[16];
    snprintf(expected, sizeof expected, "%09d\n", 3999);
    EXPECT_TRUE(all.data.ends_with(expected));
    std::size_t skip = static_cast<std::size_t>((10 - all.offset % 10) % 10);
    snprintf(expected, sizeof expected, "%09d\n",
             static_cast<int>((all.offset + static_cast<std::int64_t>(skip)) / 10));
    EXPECT_EQ(all.data.substr(skip, 10), expected);
    OutputSlice tail = read_output(folder.fd, -20, 1 << 20);
    EXPECT_EQ(tail.offset, 39'980);
    EXPECT_EQ(tail.data, "000003998\n000003999\n");
    EXPECT_LT(std::filesystem::file_size(folder.file("output.0")), 8192u);
}

TEST(Shim, server_gone_another_finds_the_task_and_its_output) {
    Folder folder;
    pid_t server = fork();
    if (server == 0) {
        _exit(start(folder,
                    folder.script("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two")));
    }
    int status = 0;
    waitpid(server, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 0);
    {
        Asker first(folder);
        EXPECT_EQ(first.status().state, TaskState::running);
    }
    Asker second(folder);
    Fields hello = second.ask({{"type", "hello"}, {"min", "1"}, {"max", "9"}, {"id", "5"}});
    EXPECT_EQ(text_of(hello, "version"), "1");
    EXPECT_EQ(text_of(hello, "name"), "task-1");
    EXPECT_EQ(text_of(hello, "id"), "5");
    EXPECT_EQ(text_of(second.ask({{"type", "subscribe"}, {"everyMs", "10"}}), "type"), "ok");
    std::ofstream(folder.file("go")) << "";
    std::optional<TaskStatus> pushed;
    while (!pushed || pushed->state != TaskState::exited) {
        Fields message = second.receive();
        ASSERT_EQ(text_of(message, "type"), "status");
        pushed = status_of(message);
    }
    EXPECT_EQ(pushed->exit_code, 0);
    Fields output = second.ask({{"type", "read"}, {"offset", "4"}});
    EXPECT_EQ(text_of(output, "data"), "two\n");
    EXPECT_EQ(text_of(second.ask({{"type", "release"}}), "type"), "ok");
    EXPECT_TRUE(eventually([&] { return !is_alive(pushed->shim); }));
}

TEST(Shim, message_unknown_or_damaged_disturbs_nothing) {
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("sleep 600")), 0);
    Asker asker(folder);
    Fields answer = asker.ask({{"type", "dance"}, {"id", "1"}});
    EXPECT_EQ(text_of(answer, "type"), "unsupported");
    EXPECT_EQ(text_of(answer, "of"), "dance");
    EXPECT_EQ(text_of(asker.ask({{"type", "hello"}, {"min", "7"}, {"max", "9"}}), "type"), "error");
    EXPECT_EQ(text_of(asker.ask({{"type", "release"}}), "type"), "error");
    {
        Asker wild(folder);
        wild.send({{"a", "b"}});
        wild.receive();
    }
    EXPECT_EQ(asker.status().state, TaskState::running);
    asker.ask({{"type", "kill"}});
    folder.await_exit();
}

TEST(Shim, limits_and_pinning_are_applied) {
    Folder folder;
    TaskSpec spec =
        folder.script("ulimit -n; ulimit -c; nice; grep Cpus_allowed_list /proc/self/status");
    spec.limits = {{"nofile", 64}};
    spec.nice = 5;
    spec.cpus = {0};
    ASSERT_EQ(start(folder, spec), 0);
    EXPECT_EQ(folder.await_exit().exit_code, 0);
    // Niceness adds to what the starter has.
    const std::string nice = std::to_string(::getpriority(PRIO_PROCESS, 0) + 5);
    EXPECT_EQ(folder.output(), "64\n0\n" + nice + "\nCpus_allowed_list:\t0\n");
}

TEST(Shim, progress_file_is_told_in_the_status) {
    Folder folder;
    TaskSpec spec = folder.script("echo '12 99' > progress; echo ready; sleep 600");
    spec.progress_file = folder.file("progress");
    ASSERT_EQ(start(folder, spec), 0);
    ASSERT_TRUE(eventually([&] { return folder.output() == "ready\n"; }));
    Asker asker(folder);
    TaskStatus status = asker.status();
    EXPECT_EQ(status.progress, "12 99\n");
    EXPECT_GT(status.progress_at_ms, 0);
    asker.ask({{"type", "kill"}});
    folder.await_exit();
}

std::optional<std::string> make_cgroup_root(const char* mount) {
    std::string root = std::string(mount) + "/tandem-test-" + std::to_string(getpid());
    if (mkdir(root.c_str(), 0755) != 0) return std::nullopt;
    return root;
}

TEST(Shim, memory_beyond_the_limit_is_told_as_out_of_memory) {
    auto root = make_cgroup_root("/sys/fs/cgroup/memory");
    if (!root) GTEST_SKIP() << "no writable memory cgroup";
    Folder folder;
    TaskSpec spec = folder.script("x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}");
    spec.memory_bytes = 16 << 20;
    spec.cgroups = {*root + "/task-1"};
    ASSERT_EQ(start(folder, spec), 0);
    TaskStatus status = folder.await_exit();
    EXPECT_TRUE(status.oom_killed);
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_EQ(status.notice, "");
    EXPECT_EQ(rmdir(root->c_str()), 0) << "the task's own folder was not removed";
}

TEST(Shim, memory_limit_without_cgroup_is_told) {
    Folder folder;
    TaskSpec spec = folder.script("true");
    spec.memory_bytes = 1 << 20;
    ASSERT_EQ(start(folder, spec), 0);
    EXPECT_NE(folder.await_exit().notice.find("memory limit not enforced"), std::string::npos);
}

std::int64_t resident_bytes(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    std::int64_t size = 0;
    std::int64_t resident = 0;
    file >> size >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

TEST(Shim, at_rest_is_small) {
    Folder folder;
    ASSERT_EQ(start(folder, folder.script("echo x; exec sleep 600")), 0);
    Asker asker(folder);
    TaskStatus status = asker.status();
    std::int64_t bytes = resident_bytes(status.shim.pid);
    RecordProperty("resident_bytes", static_cast<int>(bytes));
    EXPECT_GT(bytes, 0);
    EXPECT_LE(bytes, 2 << 20);
    EXPECT_LE(std::filesystem::file_size(TANDEM_SHIM_PATH), 2u << 20);
    asker.ask({{"type", "kill"}});
    folder.await_exit();
}

}  // namespace
}  // namespace tandem::shim
