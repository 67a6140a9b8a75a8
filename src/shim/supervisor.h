// SPDX-License-Identifier: Apache-2.0
// The life of one task: started, watched, stopped (TERM to its group, grace, KILL of its tree),
// reaped to the last descendant, recorded. Needs no server: maximum run time and grace are kept
// here.
//
// Order of facts on disk: `identity` exists before the task does; `exit` exists only after its last
// process is gone. Whoever finds the first without the second and no shim holding the lock knows
// that the shim died. One thread, one poll loop, monotonic time.
#pragma once

#include <functional>
#include <optional>

#include "shim/cgroup.h"
#include "shim/door.h"
#include "shim/output_ring.h"
#include "shim/protocol.h"

namespace tandem::shim {

class Supervisor {
  public:
    // `folder_fd` is the task folder and the current working folder; its lock is held by the
    // caller.
    Supervisor(int folder_fd, TaskSpec spec);

    // Starts the task. On anything but `started` an exit record tells why, where one can be
    // written.
    StartCode start();
    void run();  // returns when the exit record is written and told, or release came

  private:
    bool claim_folder();
    TaskStatus current() const;
    void answer(Client& client, const Fields& message);
    void answer_read(Client& client, const Fields& message, Fields reply);
    void push(bool state_changed);
    void wait(std::int64_t timeout_ms);
    std::int64_t next_timeout() const;
    void read_signals();
    void read_output_pipe(int rounds);
    void reap();
    void note_main_exit(int wait_status);
    void begin_stop(std::int64_t grace_ms);
    void keep_deadlines();
    void kill_everything();
    void finish();
    bool done() const;

    int folder_fd_;
    TaskSpec spec_;
    TaskStatus status_;
    Cgroups cgroups_;
    OutputRing ring_;
    Door door_;
    int signal_fd_ = -1;
    int output_fd_ = -1;
    bool tree_gone_ = false;
    bool main_ended_ = false;
    bool released_ = false;
    std::int64_t started_at_ = 0;  // monotonic, as all that end in _at_
    std::optional<std::int64_t> kill_at_;
    std::int64_t kill_again_ms_ = 10;
    std::optional<std::int64_t> leave_at_;
};

std::int64_t monotonic_ms();
std::int64_t wall_ms();

}  // namespace tandem::shim
