// SPDX-License-Identifier: Apache-2.0
#include "shim/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace tandem::shim {

namespace {

enum class Step : int { none, session, output, limit, nice, pinning, cwd, user, command };

struct Failure {
    Step step = Step::none;
    int error = 0;
};

struct KnownLimit {
    const char* name;
    __rlimit_resource resource;
};
constexpr KnownLimit known_limits[] = {
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"as", RLIMIT_AS},
    {"fsize", RLIMIT_FSIZE},   {"stack", RLIMIT_STACK}, {"memlock", RLIMIT_MEMLOCK},
};

bool set_limits(const TaskSpec& spec) {
    rlimit none{0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return false;
    for (const ResourceLimit& limit : spec.limits) {
        bool known = false;
        for (const KnownLimit& each : known_limits) {
            if (limit.name != each.name) continue;
            rlimit value{limit.value, limit.value};
            if (setrlimit(each.resource, &value) != 0) return false;
            known = true;
        }
        errno = EINVAL;
        if (!known) return false;
    }
    return true;
}

bool pin(const std::vector<int>& cpus) {
    if (cpus.empty()) return true;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

bool become(const TaskSpec& spec) {
    if (spec.gid >= 0) {
        if (geteuid() == 0 && setgroups(0, nullptr) != 0) return false;
        if (setgid(static_cast<gid_t>(spec.gid)) != 0) return false;
    }
    return spec.uid < 0 || setuid(static_cast<uid_t>(spec.uid)) == 0;
}

bool redirect(int output_fd) {
    int nothing = open("/dev/null", O_RDONLY);
    return nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output_fd, 1) >= 0 &&
           dup2(output_fd, 2) >= 0;
}

void default_signals() {
    for (int number = 1; number < 65; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Changing the user clears the parent-death signal, so it is set after that; a shim that died
// before then is noticed by the changed parent.
bool die_with(pid_t shim) {
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == shim;
}

void set_badness(const char* value) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    [[maybe_unused]] ssize_t put = write(fd, value, std::strlen(value));
    close(fd);
}

Step prepare(const TaskSpec& spec, const Cgroups& cgroups, int output_fd, pid_t shim) {
    if (setsid() < 0) return Step::session;
    cgroups.join();
    set_badness("0");
    if (!redirect(output_fd)) return Step::output;
    if (!set_limits(spec)) return Step::limit;
    errno = 0;
    if (spec.nice != 0 && nice(spec.nice) == -1 && errno != 0) return Step::nice;
    if (!pin(spec.cpus)) return Step::pinning;
    if (!become(spec)) return Step::user;
    if (chdir(spec.cwd.c_str()) != 0) return Step::cwd;
    if (!die_with(shim)) return Step::session;
    default_signals();
    umask(022);
    return Step::none;
}

[[noreturn]] void run_child(const TaskSpec& spec, const Cgroups& cgroups, int output_fd,
                            int report_fd, pid_t shim) {
    Failure failure{prepare(spec, cgroups, output_fd, shim), errno};
    if (failure.step == Step::none) {
        std::vector<char*> args;
        std::vector<char*> env;
        for (const std::string& arg : spec.args) args.push_back(const_cast<char*>(arg.c_str()));
        for (const std::string& each : spec.env) env.push_back(const_cast<char*>(each.c_str()));
        args.push_back(nullptr);
        env.push_back(nullptr);
        environ = env.data();  // the PATH that counts is the task's own
        syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
        execvp(args[0], args.data());
        failure = {Step::command, errno};
    }
    [[maybe_unused]] ssize_t put = write(report_fd, &failure, sizeof failure);
    _exit(127);
}

std::string describe(const TaskSpec& spec, const Failure& failure) {
    std::string why = std::string(": ") + strerror(failure.error);
    switch (failure.step) {
        case Step::none:
            return "ended before it was started";
        case Step::session:
            return "session" + why;
        case Step::output:
            return "output" + why;
        case Step::limit:
            return "limits" + why;
        case Step::nice:
            return "nice " + std::to_string(spec.nice) + why;
        case Step::pinning:
            return "pinning to its CPUs" + why;
        case Step::cwd:
            return "working directory " + spec.cwd + why;
        case Step::user:
            return "user " + std::to_string(spec.uid) + why;
        case Step::command:
            return "command " + spec.args[0] + why;
    }
    return why;
}

// Waits for the child's exec (end of file) or its report. A child that never gets there (a dead
// network file system under its command) is given up after a minute.
Failure await_exec(int report_fd) {
    Failure failure;
    pollfd wait{report_fd, POLLIN, 0};
    while (poll(&wait, 1, 60'000) < 0 && errno == EINTR) {
    }
    if (wait.revents == 0) return {Step::command, ETIMEDOUT};
    ssize_t got = read(report_fd, &failure, sizeof failure);
    if (got != static_cast<ssize_t>(sizeof failure)) failure = {};
    return failure;
}

}  // namespace

Outcome<Launched> launch(const TaskSpec& spec, const Cgroups& cgroups) {
    int output[2] = {-1, -1};
    int report[2] = {-1, -1};
    if (pipe2(output, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) {
        return std::unexpected(std::string("pipe: ") + strerror(errno));
    }
    pid_t shim = getpid();
    pid_t pid = fork();
    if (pid == 0) run_child(spec, cgroups, output[1], report[1], shim);
    int fork_error = errno;
    close(output[1]);
    close(report[1]);
    Failure failure = pid < 0 ? Failure{} : await_exec(report[0]);
    close(report[0]);
    if (pid > 0 && failure.step == Step::none) {
        fcntl(output[0], F_SETFL, O_NONBLOCK);
        return Launched{.pid = pid, .output_fd = output[0]};
    }
    close(output[0]);
    if (pid < 0) return std::unexpected(std::string("fork: ") + strerror(fork_error));
    ::kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return std::unexpected(describe(spec, failure));
}

}  // namespace tandem::shim
