// SPDX-License-Identifier: Apache-2.0
// The executor's inside: one thread that waits (epoll) for requests, shims, spawners and time, and
// one worker for what takes long (keeping outputs, clearing old folders).
//   loop.cc      thread, requests, waiting          starting.cc  listing, starting, stopping
//   watching.cc  status, progress, ends, the lost
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <variant>

#include "executor/local/cgroup_roots.h"
#include "executor/local/local_executor.h"
#include "executor/local/task_spec.h"
#include "executor/local/task_table.h"

namespace tandem::executor {

// Runs jobs in order on one thread; a full queue refuses.
class Worker {
  public:
    static constexpr std::size_t jobs_max = 4096;
    Worker();
    ~Worker();  // what has not begun is dropped
    bool post(std::function<void()> job);

  private:
    void run();
    std::mutex mutex_;
    std::condition_variable news_;
    std::deque<std::function<void()>> jobs_;
    bool ending_ = false;
    std::thread thread_;
};

class LocalExecutor::Loop {
  public:
    struct Forget {
        RowId intent{};
    };
    struct Settle {
        model::TaskName task{};
    };
    using Request = std::variant<model::Intent, Forget, Settle>;

    Loop(LocalOptions options, LocalHooks hooks, core::InputSink sink, telemetry::Log log,
         TaskFolders folders);
    ~Loop();
    void start(std::int64_t generation);
    void post(Request request);
    const TaskFolders& folders() const { return folders_; }

  private:
    using Tasks = std::map<model::TaskName, LiveTask>;

    // loop.cc
    void run();
    bool wait_and_serve();
    int wait_ms() const;
    void take_requests();
    void serve(int fd);
    void watch(int fd, const model::TaskName& task);
    void unwatch(int fd);
    void handle(const model::Intent& intent);
    void collect(const model::CollectOutputs& wanted);
    void forget_start(RowId intent);

    // starting.cc
    void list_all();
    void list_settled(model::TasksListed& listed);
    void list_again();
    void adopt(const model::TaskName& name);
    bool answer_from_disk(const model::TaskName& name);
    void begin(RowId intent, const model::StartTask& start);
    void stop(const model::StopTask& stop);
    void spawn_queued();
    Status spawn(LiveTask& task);
    Result<shim::TaskSpec> spec_for(const model::StartTask& start, const std::string& folder);
    Result<int> pick_port(const model::TaskName& task);
    Result<int> rendezvous_port(const model::TaskName& task);
    std::vector<model::TaskName> siblings_of(const model::TaskName& task) const;
    void fail_start(const model::TaskName& name, const std::string& why);
    void on_spawner(LiveTask& task);

    // watching.cc
    void look(LiveTask& task);
    void on_link(LiveTask& task);
    void on_status(LiveTask& task, const shim::TaskStatus& status);
    void report_started(LiveTask& task);
    void report_end(const model::TaskName& name, const shim::TaskStatus& status);
    void end(LiveTask& task, const shim::TaskStatus& status);
    void drop(const model::TaskName& name);
    void tell_stop(LiveTask& task);
    void tick();
    void read_spec(LiveTask& task);
    void read_progress(LiveTask& task);
    void read_checkpoints(LiveTask& task);
    void report_progress(LiveTask& task);
    bool output_due(const LiveTask& task) const;
    std::string last_output(const model::TaskName& name, const shim::TaskStatus& status) const;
    void give_up_waiting(LiveTask& task);
    void clear_lost();
    void settle_due();

    LocalOptions options_;
    LocalHooks hooks_;
    core::InputSink sink_;
    telemetry::Log log_;
    TaskFolders folders_;
    CgroupRoots cgroups_{};
    std::int64_t started_wall_ms_ = 0;

    std::mutex mutex_;
    std::deque<Request> requests_;
    std::set<model::TaskName> collecting_;  // outputs of these wait for the worker, or are with it
    std::atomic<bool> ending_ = false;

    // The rest belongs to the loop's thread.
    int epoll_fd_ = -1;
    int wake_fd_ = -1;
    Tasks tasks_;
    std::map<int, model::TaskName> by_fd_;
    std::deque<model::TaskName> queue_;
    std::set<model::TaskName> restless_;  // lost, to be connected again, or with a deadline to come
    int spawning_ = 0;
    std::map<model::TaskName, std::int64_t> unsettled_;  // ended: when to settle them unasked
    std::map<int, model::TaskName> ports_;
    std::int64_t next_tick_ms_ = 0;
    std::int64_t next_poll_ms_ = 0;  // a tick that looks at everything
    std::int64_t next_prune_ms_ = 0;
    std::int64_t next_list_ms_ = 0;
    bool listing_ = false;
    std::int64_t generation_ = 0;  // of the installation; 0: not told

    Worker worker_;
    std::thread thread_;
};

std::int64_t monotonic_ms();
std::int64_t wall_ms();

}  // namespace tandem::executor
