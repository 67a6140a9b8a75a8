// SPDX-License-Identifier: Apache-2.0
// tandem-shim FOLDER: runs the one task that FOLDER/spec describes, and outlives whoever started
// it. Returns once the task is started (0), or says on standard error why it is not; see StartCode.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/supervisor.h"

namespace {

using namespace tandem::shim;

int refuse(StartCode code, const char* what, const char* why) {
    dprintf(2, "tandem-shim: %s: %s\n", what, why);
    return static_cast<int>(code);
}

void protect_self() {
    umask(077);
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    // A task that eats all memory must not take its witness with it. Needs root; without, no harm.
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    [[maybe_unused]] ssize_t put = write(fd, "-900", 4);
    close(fd);
}

void detach_output() {
    int nothing = open("/dev/null", O_RDONLY);
    int log = open(log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    if (nothing > 2) close(nothing);
    if (log > 2) close(log);
}

// The starter's side: waits for one byte, the start code. None: the child died.
int await_start(int fd) {
    char code = static_cast<char>(StartCode::failed);
    pollfd wait{fd, POLLIN, 0};
    while (poll(&wait, 1, 90'000) < 0 && errno == EINTR) {
    }
    if (wait.revents == 0 || read(fd, &code, 1) != 1) code = static_cast<char>(StartCode::failed);
    return code;
}

int supervise(int folder, TaskSpec spec, int report_fd) {
    detach_output();
    Supervisor supervisor(folder, std::move(spec));
    char code = static_cast<char>(supervisor.start());
    [[maybe_unused]] ssize_t put = write(report_fd, &code, 1);
    close(report_fd);
    if (code == static_cast<char>(StartCode::started)) supervisor.run();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return refuse(StartCode::bad_spec, "usage", "tandem-shim FOLDER");
    syscall(SYS_close_range, 3, ~0U, 0);
    int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fchdir(folder) != 0) {
        return refuse(StartCode::bad_spec, argv[1], strerror(errno));
    }
    protect_self();
    int lock = open(lock_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
        return refuse(StartCode::busy, argv[1], "another shim is at work here");
    }
    if (faccessat(folder, identity_file, F_OK, 0) == 0) {
        return refuse(StartCode::used, argv[1], "its task was started before");
    }
    Outcome<TaskSpec> spec =
        decode_spec(read_file(folder, spec_file, spec_bytes_max).value_or(std::string()));
    if (!spec) return refuse(StartCode::bad_spec, argv[1], spec.error().c_str());
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return refuse(StartCode::failed, "pipe", strerror(errno));
    setsid();
    pid_t child = fork();
    if (child < 0) return refuse(StartCode::failed, "fork", strerror(errno));
    if (child > 0) {
        close(report[1]);
        return await_start(report[0]);
    }
    close(report[0]);
    return supervise(folder, std::move(*spec), report[1]);
}
