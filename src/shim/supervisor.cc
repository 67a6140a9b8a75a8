// SPDX-License-Identifier: Apache-2.0
#include "shim/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shim/launch.h"
#include "shim/process_tree.h"

namespace tandem::shim {

namespace {

constexpr std::int64_t kill_again_ms_max = 500;
constexpr std::int64_t linger_ms = 10'000;  // after the end, for a server that is still asking

std::int64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

int open_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int number : {SIGCHLD, SIGTERM}) sigaddset(&set, number);
    for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

}  // namespace

std::int64_t monotonic_ms() {
    return read_clock(CLOCK_MONOTONIC);
}
std::int64_t wall_ms() {
    return read_clock(CLOCK_REALTIME);
}

Supervisor::Supervisor(int folder_fd, TaskSpec spec)
    : folder_fd_(folder_fd),
      spec_(std::move(spec)),
      cgroups_(spec_, status_.notice),
      ring_(folder_fd, spec_.ring_bytes) {
    status_.name = spec_.name;
    status_.boot = boot_id();
    status_.shim = identify(getpid()).value_or(ProcessIdentity{});
    status_.port = spec_.port;
}

// Not durable on purpose: it guards against a second start while this machine is up; after a power
// loss there is no process to start twice, and the boot id tells.
bool Supervisor::claim_folder() {
    int fd = openat(folder_fd_, identity_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    Fields fields;
    put_status(fields, status_);
    std::string text = encode(fields);
    ssize_t put = write(fd, text.data(), text.size());
    close(fd);
    return put == static_cast<ssize_t>(text.size());
}

StartCode Supervisor::start() {
    signal_fd_ = open_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (signal_fd_ < 0 || !ring_.ready() || !door_.open()) {
        dprintf(2, "task folder: %s\n", strerror(errno));
        return StartCode::failed;
    }
    if (!claim_folder()) return errno == EEXIST ? StartCode::used : StartCode::failed;
    Outcome<Launched> launched = launch(spec_, cgroups_);
    status_.started_ms = wall_ms();
    started_at_ = monotonic_ms();
    if (!launched) {
        status_.start_error = launched.error();
        main_ended_ = true;
        status_.ended_ms = status_.started_ms;
        finish();
        return StartCode::failed;
    }
    output_fd_ = launched->output_fd;
    status_.task = identify(launched->pid).value_or(ProcessIdentity{.pid = launched->pid});
    status_.state = TaskState::running;
    Fields fields;
    put_status(fields, status_);
    if (!write_durably(folder_fd_, identity_file, encode(fields))) {
        status_.start_error = std::string("writing the task's identity: ") + strerror(errno);
        begin_stop(0);
    }
    return StartCode::started;
}

void Supervisor::run() {
    while (!done()) {
        wait(next_timeout());
        keep_deadlines();
    }
}

bool Supervisor::done() const {
    if (status_.state != TaskState::exited) return false;
    return released_ || door_.clients().empty() || (leave_at_ && monotonic_ms() >= *leave_at_);
}

std::int64_t Supervisor::next_timeout() const {
    std::int64_t now = monotonic_ms();
    std::int64_t next = now + 3'600'000;
    if (kill_at_) next = std::min(next, *kill_at_);
    if (leave_at_) next = std::min(next, *leave_at_);
    if (spec_.max_run_ms > 0 && status_.state == TaskState::running) {
        next = std::min(next, started_at_ + spec_.max_run_ms);
    }
    for (const Client& client : door_.clients()) {
        if (client.every_ms > 0 && client.pushed_bytes != ring_.end()) {
            next = std::min(next, client.pushed_ms + client.every_ms);
        }
    }
    return std::max<std::int64_t>(next - now, 0);
}

void Supervisor::wait(std::int64_t timeout_ms) {
    std::vector<pollfd> fds{{signal_fd_, POLLIN, 0}, {output_fd_, POLLIN, 0}};
    door_.watch(fds);
    if (poll(fds.data(), fds.size(), static_cast<int>(timeout_ms)) <= 0) return;
    if (fds[1].revents != 0) read_output_pipe(4);
    if (fds[0].revents != 0) read_signals();
    door_.serve(&fds[2],
                [this](Client& client, const Fields& message) { answer(client, message); });
}

void Supervisor::read_signals() {
    signalfd_siginfo info{};
    bool asked_to_stop = false;
    while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        asked_to_stop = asked_to_stop || info.ssi_signo == SIGTERM;
    }
    if (asked_to_stop) {
        status_.stop_requested = true;
        begin_stop(spec_.grace_ms);
    }
    reap();
}

void Supervisor::read_output_pipe(int rounds) {
    char part[16 << 10];
    for (int round = 0; output_fd_ >= 0 && round < rounds; ++round) {
        ssize_t got = read(output_fd_, part, sizeof part);
        if (got < 0) return;
        if (got == 0) {
            close(output_fd_);
            output_fd_ = -1;
            return;
        }
        ring_.append({part, static_cast<std::size_t>(got)});
        status_.output_at_ms = wall_ms();
    }
}

void Supervisor::reap() {
    while (true) {
        int wait_status = 0;
        pid_t pid = waitpid(-1, &wait_status, WNOHANG | __WALL);
        if (pid > 0 && pid == status_.task.pid && !main_ended_) note_main_exit(wait_status);
        if (pid > 0 || (pid < 0 && errno == EINTR)) continue;
        tree_gone_ = pid < 0 && errno == ECHILD;
        return;
    }
}

void Supervisor::note_main_exit(int wait_status) {
    main_ended_ = true;
    status_.ended_ms = wall_ms();
    status_.ran_ms = monotonic_ms() - started_at_;
    if (WIFEXITED(wait_status)) status_.exit_code = WEXITSTATUS(wait_status);
    if (WIFSIGNALED(wait_status)) status_.signal = WTERMSIG(wait_status);
    // What the task left behind goes at once: the work is over when its own process is.
    kill_at_ = monotonic_ms();
    if (status_.state == TaskState::running) {
        status_.state = TaskState::stopping;
    }
}

void Supervisor::begin_stop(std::int64_t grace_ms) {
    if (main_ended_ || status_.state == TaskState::exited) return;
    std::int64_t kill_at = monotonic_ms() + grace_ms;
    if (status_.state == TaskState::stopping) {
        kill_at_ = std::min(kill_at_.value_or(kill_at), kill_at);
        return;
    }
    status_.state = TaskState::stopping;
    kill_at_ = kill_at;
    if (grace_ms > 0) {
        // Its own process has not been waited for, so the group's number is still the task's.
        ::kill(-status_.task.pid, SIGTERM);
        ::kill(-status_.task.pid, SIGCONT);
    }
    push(true);
}

void Supervisor::keep_deadlines() {
    std::int64_t now = monotonic_ms();
    if (status_.state == TaskState::running && spec_.max_run_ms > 0 &&
        now >= started_at_ + spec_.max_run_ms) {
        status_.timed_out = true;
        begin_stop(spec_.grace_ms);
    }
    if (main_ended_ && tree_gone_ && status_.state != TaskState::exited) finish();
    if (kill_at_ && now >= *kill_at_) kill_everything();
    push(false);
}

void Supervisor::kill_everything() {
    reap();
    if (main_ended_ && tree_gone_) return finish();
    cgroups_.kill();
    kill_descendants(getpid());
    kill_at_ = monotonic_ms() + kill_again_ms_;
    kill_again_ms_ = std::min(kill_again_ms_ * 2, kill_again_ms_max);
}

// The record is the promise that the capacity is free: it is written last, and tried until it is on
// disk.
void Supervisor::finish() {
    if (status_.state == TaskState::exited) return;
    read_output_pipe(1 << 20);
    status_.oom_killed = cgroups_.oom_killed();
    cgroups_.remove();
    status_.gone_ms = wall_ms();
    TaskStatus last = current();
    last.state = TaskState::exited;
    Fields fields;
    put_status(fields, last);
    if (!write_durably(folder_fd_, exit_file, encode(fields))) {
        kill_at_ = monotonic_ms() + 1000;
        return;
    }
    status_.state = TaskState::exited;
    kill_at_.reset();
    leave_at_ = monotonic_ms() + linger_ms;
    push(true);
}

}  // namespace tandem::shim
