// SPDX-License-Identifier: Apache-2.0
#include "executor/local/loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/assert.h"
#include "base/digest.h"

namespace tandem::executor {

namespace fs = std::filesystem;

namespace {

std::int64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// One folder of control groups per installation, told apart by its home.
std::string cgroup_name(const std::string& home) {
    Digest digest;
    digest.add(home);
    char text[32];
    std::snprintf(text, sizeof text, "tandem-%016llx",
                  static_cast<unsigned long long>(digest.value()));
    return text;
}

}  // namespace

std::int64_t monotonic_ms() {
    return read_clock(CLOCK_MONOTONIC);
}
std::int64_t wall_ms() {
    return read_clock(CLOCK_REALTIME);
}

Worker::Worker() : thread_([this] { run(); }) {}

Worker::~Worker() {
    {
        std::lock_guard lock(mutex_);
        ending_ = true;
    }
    news_.notify_all();
    thread_.join();
}

bool Worker::post(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    if (jobs_.size() >= jobs_max) return false;
    jobs_.push_back(std::move(job));
    news_.notify_one();
    return true;
}

void Worker::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        news_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        if (ending_) return;
        std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

LocalExecutor::Loop::Loop(LocalOptions options, LocalHooks hooks, core::InputSink sink,
                          telemetry::Log log, TaskFolders folders)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      sink_(std::move(sink)),
      log_(std::move(log)),
      folders_(std::move(folders)),
      started_wall_ms_(wall_ms()) {
    if (options_.use_cgroups) cgroups_ = make_cgroup_roots(cgroup_name(options_.home));
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    TANDEM_ASSERT(epoll_fd_ >= 0 && wake_fd_ >= 0, "no descriptors left for the executor");
    epoll_event event{.events = EPOLLIN, .data = {.fd = wake_fd_}};
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event);
}

LocalExecutor::Loop::~Loop() {
    ending_ = true;
    eventfd_write(wake_fd_, 1);
    if (thread_.joinable()) thread_.join();
    for (auto& [name, task] : tasks_) {
        if (task.spawner_fd >= 0) close(task.spawner_fd);
    }
    close(epoll_fd_);
    close(wake_fd_);
    remove_cgroup_roots(cgroups_);  // stays while a task lives in it
}

void LocalExecutor::Loop::start(std::int64_t generation) {
    TANDEM_ASSERT(!thread_.joinable(), "the executor is started once");
    generation_ = generation;
    thread_ = std::thread([this] { run(); });
}

void LocalExecutor::Loop::post(Request request) {
    {
        // Bounded by its caller: at most one request an open intent or ended task.
        std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
    }
    eventfd_write(wake_fd_, 1);
}

void LocalExecutor::Loop::run() {
    list_all();
    while (wait_and_serve()) {
        take_requests();
        spawn_queued();
        if (monotonic_ms() >= next_tick_ms_) tick();
        clear_lost();
        if (monotonic_ms() >= next_list_ms_) list_again();
    }
}

int LocalExecutor::Loop::wait_ms() const {
    std::int64_t left = std::max<std::int64_t>(next_tick_ms_ - monotonic_ms(), 0);
    return static_cast<int>(restless_.empty() ? left : std::min<std::int64_t>(left, 50));
}

bool LocalExecutor::Loop::wait_and_serve() {
    epoll_event events[256];
    int count = epoll_wait(epoll_fd_, events, 256, wait_ms());
    for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == wake_fd_) {
            eventfd_t ignored = 0;
            eventfd_read(wake_fd_, &ignored);
        } else {
            serve(events[i].data.fd);
        }
    }
    return !ending_;
}

void LocalExecutor::Loop::serve(int fd) {
    auto owner = by_fd_.find(fd);
    if (owner == by_fd_.end()) return;  // closed by an event before this one
    auto task = tasks_.find(owner->second);
    if (task == tasks_.end()) return;
    if (fd == task->second.spawner_fd) {
        on_spawner(task->second);
    } else {
        on_link(task->second);
    }
}

void LocalExecutor::Loop::watch(int fd, const model::TaskName& task) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
    by_fd_[fd] = task;
}

void LocalExecutor::Loop::unwatch(int fd) {
    if (fd < 0) return;
    epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
    by_fd_.erase(fd);
}

void LocalExecutor::Loop::take_requests() {
    std::deque<Request> requests;
    {
        std::lock_guard lock(mutex_);
        requests.swap(requests_);
    }
    for (Request& request : requests) {
        if (auto* intent = std::get_if<model::Intent>(&request)) handle(*intent);
        if (auto* forget = std::get_if<Forget>(&request)) forget_start(forget->intent);
        if (auto* settle = std::get_if<Settle>(&request);
            settle && !tasks_.contains(settle->task)) {
            unsettled_.erase(settle->task);
            folders_.settle(settle->task);
        }
    }
}

void LocalExecutor::Loop::handle(const model::Intent& intent) {
    if (auto* start = std::get_if<model::StartTask>(&intent.body)) begin(intent.id, *start);
    if (auto* stop_task = std::get_if<model::StopTask>(&intent.body)) stop(*stop_task);
    if (auto* wanted = std::get_if<model::CollectOutputs>(&intent.body)) collect(*wanted);
}

// Only what waits for its turn can be called off; what is being started is stopped by a StopTask.
void LocalExecutor::Loop::forget_start(RowId intent) {
    for (auto& [name, task] : tasks_) {
        if (task.start_intent != intent || task.state != LiveTask::State::queued) continue;
        std::erase(queue_, name);
        return drop(model::TaskName(name));
    }
}

namespace {

// The file below `folder` that `relative` names, not following it out of there.
Result<std::string> output_file(const std::string& folder, const model::JobOutput& output) {
    std::error_code error;
    fs::path base = fs::weakly_canonical(folder, error);
    fs::path path = fs::canonical(base / output.path, error);
    if (error)
        return fail(ErrorCode::not_found,
                    "output " + output.name + ": " + output.path + " was not written");
    auto [end, ignored] = std::mismatch(base.begin(), base.end(), path.begin(), path.end());
    if (end != base.end() || !fs::is_regular_file(path, error)) {
        return fail(ErrorCode::invalid, "output " + output.name + ": " + output.path +
                                            " must be a file in TANDEM_OUTPUT_DIR");
    }
    return path.string();
}

}  // namespace

void LocalExecutor::Loop::collect(const model::CollectOutputs& wanted) {
    {
        // Asked again while it is at work: one answer is enough.
        std::lock_guard lock(mutex_);
        if (!collecting_.insert(wanted.task).second) return;
    }
    std::string folder = folders_.find(wanted.task);
    auto work = [this, wanted, folder] {
        model::OutputStored stored{.task = wanted.task};
        for (const model::JobOutput& output : wanted.outputs) {
            Result<std::string> path = output_file(folder + "/outputs", output);
            Result<model::OutputRecord> kept =
                fail(ErrorCode::internal, "outputs can't be kept here");
            if (path && hooks_.keep_output) kept = hooks_.keep_output(output.name, *path);
            if (!path) kept = pass_on(path.error());
            if (kept) {
                stored.outputs.push_back(*kept);
            } else if (stored.error.empty()) {
                stored.error = kept.error().message;
            }
        }
        {
            // Before the answer: who asks on hearing it is answered too.
            std::lock_guard lock(mutex_);
            collecting_.erase(wanted.task);
        }
        sink_(std::move(stored));
    };
    if (!worker_.post(std::move(work))) {
        {
            std::lock_guard lock(mutex_);
            collecting_.erase(wanted.task);
        }
        sink_(
            model::OutputStored{.task = wanted.task, .error = "too many outputs wait to be kept"});
    }
}

}  // namespace tandem::executor
