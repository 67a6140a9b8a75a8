// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "executor/local/loop.h"

namespace tandem::executor {

namespace {

constexpr int spawning_max = 32;
constexpr std::int64_t spawn_patience_ms = 120'000;
constexpr std::int64_t listing_patience_ms = 3'000;
constexpr const char* start_log = "start.log";

Status write_spec(const std::string& folder, const shim::TaskSpec& spec) {
    std::string path = folder + "/" + shim::spec_file;
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    std::string text = shim::encode_spec(spec);
    bool written =
        fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    int error = errno;
    if (fd >= 0) close(fd);
    if (written) return {};
    return fail(error == ENOSPC ? ErrorCode::storage_full : ErrorCode::internal,
                path + ": " + std::strerror(error));
}

// Starts the shim with nothing of this process but its standard error, which goes to a file.
Result<pid_t> spawn_shim(const std::string& shim, const std::string& folder) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    std::string log = folder + "/" + start_log;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char* args[] = {const_cast<char*>(shim.c_str()), const_cast<char*>(folder.c_str()), nullptr};
    char* no_env[] = {nullptr};
    pid_t pid = 0;
    int error = posix_spawn(&pid, shim.c_str(), &actions, &attributes, args, no_env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error == 0) return pid;
    return fail(ErrorCode::unavailable, shim + ": " + std::strerror(error));
}

Result<int> free_loopback_port() {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bool known = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                 getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (fd >= 0) close(fd);
    if (!known)
        return fail(ErrorCode::unavailable, std::string("no free port: ") + std::strerror(errno));
    return ntohs(address.sin_port);
}

std::string variable_of(const shim::TaskSpec& spec, const std::string& key) {
    for (const std::string& variable : spec.env) {
        if (variable.starts_with(key + "=")) return variable.substr(key.size() + 1);
    }
    return {};
}

Status check_checkpoint_folder(const std::string& path) {
    if (Status made = make_folders(path); !made)
        return in_context("checkpoint.directory", made.error());
    if (access(path.c_str(), W_OK | X_OK) == 0) return {};
    return fail(ErrorCode::invalid,
                "checkpoint.directory: " + path + ": can't be written: " + std::strerror(errno));
}

}  // namespace

// Their ends were told long ago, but perhaps after the backup that this installation is of.
void LocalExecutor::Loop::list_settled(model::TasksListed& listed) {
    for (const model::TaskName& name : folders_.list_settled_before(generation_)) {
        FolderHandle folder(folders_.find(name));
        const auto record = read_record(folder.fd(), shim::exit_file);
        if (!record) continue;
        listed.tasks.push_back({.task = name,
                                .handle = handle_of(*record),
                                .endpoint = endpoint_of(*record),
                                .exit = exit_of(*record, started_wall_ms_),
                                .start_error = record->start_error});
    }
}

void LocalExecutor::Loop::list_all() {
    listing_ = true;
    model::TasksListed listed{.executor = "local"};
    for (const model::TaskName& name : folders_.list()) {
        FolderHandle folder(folders_.path_of(name));
        if (std::optional<shim::TaskStatus> record = read_record(folder.fd(), shim::exit_file)) {
            listed.tasks.push_back({.task = name,
                                    .handle = handle_of(*record),
                                    .endpoint = endpoint_of(*record),
                                    .exit = exit_of(*record, started_wall_ms_),
                                    .start_error = record->start_error,
                                    .last_output = last_output(name, *record)});
            unsettled_[name] = monotonic_ms() + options_.settle_after.ms;
            continue;
        }
#if !defined(TANDEM_PLANT_SKIP_ADOPTION)
        if (read_record(folder.fd(), shim::identity_file) || is_locked(folder.fd())) adopt(name);
#endif
    }
    list_settled(listed);
    auto waiting = [this] {
        return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& each) {
            return each.second.state == LiveTask::State::asked;
        });
    };
    next_tick_ms_ = monotonic_ms() + listing_patience_ms;
    while (waiting() && monotonic_ms() < next_tick_ms_ && wait_and_serve()) {
    }
    for (auto& [name, task] : tasks_) {
        if (task.status.task.pid == 0) {
            FolderHandle folder(task.folder);
            task.status = read_record(folder.fd(), shim::identity_file).value_or(task.status);
        }
        listed.tasks.push_back({.task = name,
                                .handle = handle_of(task.status),
                                .endpoint = endpoint_of(task.status),
                                .node = options_.node,
                                .devices = task.devices});
        task.reported = true;
    }
    next_tick_ms_ = 0;
    listing_ = false;
    sink_(model::NodeReported{.name = options_.node,
                              .status = {.ready = true,
                                         .executor = "local",
                                         .cpu_milli = options_.cpu_milli,
                                         .memory_bytes = options_.memory_bytes,
                                         .devices = options_.devices,
                                         .facts = options_.facts}});
    log_.info("tasks listed", {{"tasks", static_cast<std::int64_t>(listed.tasks.size())},
                               {"live", static_cast<std::int64_t>(tasks_.size())}});
    sink_(std::move(listed));
    next_list_ms_ = monotonic_ms() + options_.relist_period.ms;
}

// What was told of each task, once more. Those whose start was not told yet have their intent open.
void LocalExecutor::Loop::list_again() {
    next_list_ms_ = monotonic_ms() + options_.relist_period.ms;
    model::TasksListed listed{.executor = "local"};
    for (const auto& [name, task] : tasks_) {
        if (!task.reported) continue;
        listed.tasks.push_back({.task = name,
                                .handle = handle_of(task.status),
                                .endpoint = endpoint_of(task.status),
                                .node = options_.node,
                                .devices = task.devices});
    }
    for (const auto& [name, due] : unsettled_) {
        FolderHandle folder(folders_.path_of(name));
        std::optional<shim::TaskStatus> record = read_record(folder.fd(), shim::exit_file);
        if (!record) continue;
        listed.tasks.push_back({.task = name,
                                .handle = handle_of(*record),
                                .endpoint = endpoint_of(*record),
                                .exit = exit_of(*record, started_wall_ms_),
                                .start_error = record->start_error,
                                .last_output = last_output(name, *record)});
    }
    sink_(std::move(listed));
}

void LocalExecutor::Loop::adopt(const model::TaskName& name) {
    LiveTask& task = tasks_[name];
    task.name = name;
    task.folder = folders_.path_of(name);
    task.state = LiveTask::State::spawning;  // by an earlier server
    look(task);
}

// True when the disk knows the task: it was reported again, or adopted.
bool LocalExecutor::Loop::answer_from_disk(const model::TaskName& name) {
    std::string path = folders_.find(name);
    if (path.empty()) return false;
    FolderHandle folder(path);
    if (auto record = read_record(folder.fd(), shim::exit_file)) {
        report_end(name, *record);
    } else if (path != folders_.path_of(name)) {
        sink_(model::TaskGone{.task = name, .detail = "its shim died; nothing of it is left"});
    } else if (read_record(folder.fd(), shim::identity_file) || is_locked(folder.fd())) {
        adopt(name);
    } else {
        return false;
    }
    return true;
}

void LocalExecutor::Loop::begin(RowId intent, const model::StartTask& start) {
    if (auto known = tasks_.find(start.task); known != tasks_.end()) {
        known->second.start_intent = intent;
        if (known->second.state == LiveTask::State::live) {
            known->second.reported = false;
            report_started(known->second);
        }
        return;
    }
    if (answer_from_disk(start.task)) return;
    LiveTask& task = tasks_[start.task];
    task.name = start.task;
    task.folder = folders_.path_of(start.task);
    task.start_intent = intent;
    task.start = start;
    queue_.push_back(start.task);
}

void LocalExecutor::Loop::spawn_queued() {
    while (!queue_.empty() && spawning_ < spawning_max) {
        model::TaskName name = queue_.front();
        queue_.pop_front();
        auto task = tasks_.find(name);
        if (task == tasks_.end() || task->second.state != LiveTask::State::queued) continue;
        if (Status begun = spawn(task->second); !begun) fail_start(name, begun.error().message);
    }
}

Status LocalExecutor::Loop::spawn(LiveTask& task) {
    TANDEM_TRY(folders_.make(task.name));
    TANDEM_LET(spec, spec_for(*task.start, task.folder));
    TANDEM_TRY(write_spec(task.folder, spec));
    TANDEM_LET(pid, spawn_shim(options_.shim, task.folder));
    task.spawner = pid;
    task.spawner_fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    task.state = LiveTask::State::spawning;
    task.ask_until_ms = monotonic_ms() + spawn_patience_ms;
    task.status.port = spec.port;
    task.start.reset();
    ++spawning_;
    if (task.spawner_fd >= 0) {
        watch(task.spawner_fd, task.name);
    } else {
        restless_.insert(task.name);  // no descriptors left: asked now and then instead
    }
    return {};
}

Result<shim::TaskSpec> LocalExecutor::Loop::spec_for(const model::StartTask& start,
                                                     const std::string& folder) {
    TaskPlace place{.folder = folder,
                    .checkpoints = folders_.checkpoints_of(start.task.uid),
                    .runtimes = options_.runtimes,
                    .python = options_.python,
                    .base_env = options_.base_env,
                    .ring_bytes = options_.ring_bytes,
                    .cgroups = cgroups_};
    if (start.wants_port) {
        TANDEM_LET(port, pick_port(start.task));
        place.port = port;
        if (hooks_.replica_key) place.replica_key = hooks_.replica_key(start.task);
    }
    if (start.wants_rendezvous) {
        TANDEM_LET(port, rendezvous_port(start.task));
        place.rendezvous_port = port;
    }
    if (!start.model_digest.empty()) {
        if (!hooks_.model_path)
            return fail(ErrorCode::unavailable, "model files can't be read here");
        TANDEM_LET(path, hooks_.model_path(start.model_digest));
        place.model_path = path;
    }
    if (start.checkpoint) TANDEM_TRY(check_checkpoint_folder(checkpoint_folder_of(start, place)));
    return make_task_spec(start, place, options_.devices);
}

// The kernel gives a free port; those promised to tasks that have not opened theirs yet are left
// out.
Result<int> LocalExecutor::Loop::pick_port(const model::TaskName& task) {
    for (int attempt = 0; attempt < 64; ++attempt) {
        TANDEM_LET(port, free_loopback_port());
        if (ports_.contains(port)) continue;
        ports_[port] = task;
        return port;
    }
    return fail(ErrorCode::unavailable, "no free port on 127.0.0.1");
}

std::vector<model::TaskName> LocalExecutor::Loop::siblings_of(const model::TaskName& task) const {
    model::TaskName first = task;
    first.rank = std::numeric_limits<std::int64_t>::min();
    std::vector<model::TaskName> siblings;
    for (auto each = tasks_.lower_bound(first); each != tasks_.end(); ++each) {
        model::TaskName name = each->first;
        if (name.generation != task.generation || name.uid != task.uid || name.epoch != task.epoch)
            break;
        if (name != task) siblings.push_back(name);
    }
    return siblings;
}

// The first rank of an epoch picks the port, the others read it from what that one was given: so it
// is the same after a restart in between.
Result<int> LocalExecutor::Loop::rendezvous_port(const model::TaskName& task) {
    for (const model::TaskName& sibling : siblings_of(task)) {
        FolderHandle folder(folders_.path_of(sibling));
        auto text = shim::read_file(folder.fd(), shim::spec_file, shim::spec_bytes_max);
        auto spec = text ? shim::decode_spec(*text) : std::unexpected(std::string());
        if (!spec) continue;
        int port = std::atoi(variable_of(*spec, "MASTER_PORT").c_str());
        if (port > 0) return port;
    }
    return pick_port(task);
}

void LocalExecutor::Loop::fail_start(const model::TaskName& name, const std::string& why) {
    if (Status buried = folders_.bury(name, why); !buried) {
        log_.error("recording a failed start",
                   {{"task", name.text()}, {"error", buried.error().message}});
    }
    shim::TaskStatus status;
    status.start_error = why;
    status.ended_ms = wall_ms();
    drop(name);
    report_end(name, status);
}

void LocalExecutor::Loop::on_spawner(LiveTask& task) {
    int status = 0;
    if (waitpid(task.spawner, &status, WNOHANG) == 0) return;
    unwatch(task.spawner_fd);
    if (task.spawner_fd >= 0) close(task.spawner_fd);
    task.spawner_fd = -1;
    task.spawner = 0;
    --spawning_;
    look(task);
}

void LocalExecutor::Loop::stop(const model::StopTask& stop) {
    auto known = tasks_.find(stop.task);
    if (known == tasks_.end() && answer_from_disk(stop.task)) {
        known = tasks_.find(stop.task);
        if (known == tasks_.end()) return;
    }
    if (known != tasks_.end()) {
        LiveTask& task = known->second;
        if (task.state != LiveTask::State::queued) {
            task.stop_grace_ms = stop.grace.ms;
            return tell_stop(task);
        }
        std::erase(queue_, stop.task);
        drop(stop.task);
    }
    // Nothing was ever started; from now on nothing can be, should the order to start come late.
    if (Status buried = folders_.bury(stop.task, "stopped before it was started"); !buried) {
        log_.error("recording a stop",
                   {{"task", stop.task.text()}, {"error", buried.error().message}});
    }
    sink_(model::TaskGone{.task = stop.task, .detail = "stopped before it was started"});
}

}  // namespace tandem::executor
