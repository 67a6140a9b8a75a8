// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "executor/local/checkpoints.h"
#include "executor/local/last_lines.h"
#include "executor/local/leftovers.h"
#include "executor/local/loop.h"

namespace tandem::executor {

namespace {

constexpr std::int64_t push_every_ms = 1'000;
constexpr std::int64_t answer_patience_ms = 10'000;
constexpr std::int64_t reconnect_after_ms = 100;
constexpr std::int64_t prune_every_ms = 600'000;

std::string start_complaint(const std::string& folder) {
    std::ifstream file(folder + "/start.log");
    std::string line;
    std::getline(file, line);
    return line.empty() ? "its shim could not be started" : line;
}

}  // namespace

// Decides by what is in the folder and who listens there: ended, alive, being started, lost, or
// never started.
void LocalExecutor::Loop::look(LiveTask& task) {
    FolderHandle folder(task.folder);
    if (auto record = read_record(folder.fd(), shim::exit_file)) return end(task, *record);
    read_spec(task);
    const std::int64_t push_ms =
        task.watch_ms > 0 ? std::min(task.watch_ms, push_every_ms) : push_every_ms;
    if (task.link.open(folder.fd(), push_ms)) {
        task.state = task.reported ? LiveTask::State::live : LiveTask::State::asked;
        task.ask_until_ms = monotonic_ms() + answer_patience_ms;
        restless_.erase(task.name);
        if (!task.reported) restless_.insert(task.name);
        watch(task.link.fd(), task.name);
        return tell_stop(task);
    }
    restless_.insert(task.name);
    task.quiet_until_ms = monotonic_ms() + reconnect_after_ms;
    if (is_locked(folder.fd())) return;
    // The record is written before the lock is let go: now it is there, or never will be.
    if (auto record = read_record(folder.fd(), shim::exit_file)) return end(task, *record);
    if (!read_record(folder.fd(), shim::identity_file)) {
        return fail_start(model::TaskName(task.name), start_complaint(task.folder));
    }
    task.state = LiveTask::State::lost;
    log_.warn("a shim died", {{"task", task.name.text()}});
}

void LocalExecutor::Loop::on_link(LiveTask& task) {
    std::vector<shim::Fields> messages;
    int fd = task.link.fd();
    bool open = task.link.receive(messages);
    model::TaskName name = task.name;
    for (const shim::Fields& message : messages) {
        if (shim::text_of(message, "type") != "status") continue;
        if (auto status = shim::status_of(message)) on_status(task, *status);
        if (!tasks_.contains(name)) return;
    }
    if (open) return;
    unwatch(fd);
    task.link.close();
    look(task);
}

void LocalExecutor::Loop::on_status(LiveTask& task, const shim::TaskStatus& status) {
    task.status = status;
    if (status.port > 0) ports_[status.port] = task.name;
    if (status.state == shim::TaskState::exited) {
        task.link.send({{"type", "release"}});
        return end(task, status);
    }
    task.output_ms = std::max(status.output_at_ms, status.started_ms);
    if (task.state == LiveTask::State::asked) {
        task.state = LiveTask::State::live;
        restless_.erase(task.name);
        if (!listing_) report_started(task);
    }
    if (task.watch_ms > 0 && task.reported && output_due(task)) report_progress(task);
}

// Output is news now and then; what is watched closely tells it as soon as its period allows.
bool LocalExecutor::Loop::output_due(const LiveTask& task) const {
    if (task.watch_ms == 0)
        return task.output_ms >= task.told_output_ms + options_.output_period.ms;
    return task.output_ms > task.told_output_ms &&
           monotonic_ms() >= task.told_at_ms + task.watch_ms;
}

void LocalExecutor::Loop::report_started(LiveTask& task) {
    if (task.reported) return;
    task.reported = true;
    if (task.watch_ms > 0) next_tick_ms_ = std::min(next_tick_ms_, monotonic_ms() + task.watch_ms);
    sink_(model::TaskStarted{.task = task.name,
                             .handle = handle_of(task.status),
                             .endpoint = endpoint_of(task.status),
                             .at = {task.status.started_ms}});
}

void LocalExecutor::Loop::report_end(const model::TaskName& name, const shim::TaskStatus& status) {
    sink_(model::TaskExited{.task = name,
                            .exit = exit_of(status, started_wall_ms_),
                            .start_error = status.start_error,
                            .last_output = last_output(name, status)});
    unsettled_[name] = monotonic_ms() + options_.settle_after.ms;
}

// Of a model server that ended badly. Other work's output is its owner's business alone.
std::string LocalExecutor::Loop::last_output(const model::TaskName& name,
                                             const shim::TaskStatus& status) const {
    const bool bad = status.signal.has_value() || status.exit_code.value_or(0) != 0;
    if (status.port == 0 || !bad) return {};
    const auto max = static_cast<std::size_t>(model::output_tail_max);
    const Result<LogSlice> tail =
        folders_.read_log(name, -static_cast<std::int64_t>(4 * max), 4 * max);
    return tail ? last_lines(tail->text, max) : std::string();
}

void LocalExecutor::Loop::end(LiveTask& task, const shim::TaskStatus& status) {
    // That it ran, and what it did last, is told before its end.
    if (status.start_error.empty()) {
        task.status = status;
        if (!listing_) report_started(task);
        read_progress(task);
        read_checkpoints(task);
        if (task.progress_news) report_progress(task);
    }
    model::TaskName name = task.name;
    drop(name);
    report_end(name, status);
}

void LocalExecutor::Loop::drop(const model::TaskName& name) {
    auto found = tasks_.find(name);
    if (found == tasks_.end()) return;
    LiveTask& task = found->second;
    unwatch(task.link.fd());
    unwatch(task.spawner_fd);
    if (task.spawner_fd >= 0) close(task.spawner_fd);
    if (task.spawner > 0) --spawning_;
    std::erase_if(ports_, [&](const auto& each) { return each.second == name; });
    restless_.erase(name);
    tasks_.erase(found);
}

void LocalExecutor::Loop::tell_stop(LiveTask& task) {
    if (!task.stop_grace_ms || !task.link.is_open()) return;
    shim::Fields message{{"type", *task.stop_grace_ms > 0 ? "stop" : "kill"}};
    shim::put(message, "graceMs", *task.stop_grace_ms);
    // Not taken: the link's end will be seen and the shim asked again, or the next tick repeats it.
    if (task.link.send(message)) task.stop_grace_ms.reset();
}

void LocalExecutor::Loop::tick() {
    const std::int64_t now = monotonic_ms();
    const bool all = now >= next_poll_ms_;
    if (all) next_poll_ms_ = now + options_.poll_period.ms;
    std::int64_t pause_ms = std::max<std::int64_t>(next_poll_ms_ - now, 1);
    for (auto& [name, task] : tasks_) {
        // Our own child, not waited for: the number is its own. Its end then shows what came of it.
        if (task.spawner > 0 && monotonic_ms() >= task.ask_until_ms) ::kill(task.spawner, SIGKILL);
        if (task.state != LiveTask::State::live) continue;
        if (task.watch_ms > 0) pause_ms = std::min(pause_ms, task.watch_ms);
        if (!all && (task.watch_ms == 0 || now < task.next_look_ms)) continue;
        task.next_look_ms = now + task.watch_ms;
        tell_stop(task);
        read_progress(task);
        if (all) read_checkpoints(task);
        if (task.reported && (task.progress_news || output_due(task))) report_progress(task);
    }
    settle_due();
    next_tick_ms_ = now + pause_ms;
}

void LocalExecutor::Loop::read_spec(LiveTask& task) {
    if (task.spec_read) return;
    task.spec_read = true;
    FolderHandle folder(task.folder);
    auto text = shim::read_file(folder.fd(), shim::spec_file, shim::spec_bytes_max);
    auto spec = text ? shim::decode_spec(*text) : std::unexpected(std::string());
    if (!spec) {
        // It may have any of them.
        for (const model::Device& device : options_.devices)
            task.devices.push_back({device.index, 1000});
        return;
    }
    task.devices = devices_of(*spec, options_.devices);
    task.watch_ms = spec->watch_ms;
    if (task.name.rank != 0) return;
    constexpr std::string_view key = "TANDEM_CHECKPOINT_DIR=";
    for (const std::string& variable : spec->env) {
        if (variable.starts_with(key)) task.checkpoints = variable.substr(key.size());
    }
}

void LocalExecutor::Loop::read_progress(LiveTask& task) {
    std::string path = task.folder + "/progress";
    struct stat facts{};
    if (stat(path.c_str(), &facts) != 0) return;
    std::int64_t mtime_ns =
        static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec;
    if (mtime_ns == task.progress_mtime_ns) return;
    task.progress_mtime_ns = mtime_ns;
    task.beat_ms = mtime_ns / 1'000'000;
    task.step = std::max(
        task.step, parse_progress(shim::read_file(AT_FDCWD, path.c_str(), 4096).value_or("")));
    task.progress_news = true;
}

void LocalExecutor::Loop::read_checkpoints(LiveTask& task) {
    if (task.checkpoints.empty()) return;
    std::optional<CompleteCheckpoint> found =
        find_checkpoint(task.checkpoints, task.checkpoint_step);
    if (!found) return;
    Result<std::string> digest = fail(ErrorCode::internal, "no digest");
    if (hooks_.digest_of) digest = hooks_.digest_of(found->manifest);
    if (hooks_.digest_of && !digest) return;  // taken away while it was looked at
    task.checkpoint_step = found->step;
    sink_(model::CheckpointSeen{.task = task.name,
                                .checkpoint = {.step = found->step,
                                               .path = found->path,
                                               .digest = digest.value_or(""),
                                               .at = {found->at_ms}}});
}

void LocalExecutor::Loop::report_progress(LiveTask& task) {
    model::TaskProgress progress{.task = task.name, .step = task.step, .output = {task.output_ms}};
    if (task.beat_ms > 0) progress.beat = Instant{task.beat_ms};
    task.progress_news = false;
    task.told_output_ms = task.output_ms;
    task.told_at_ms = monotonic_ms();
    sink_(progress);
}

// Those that need another look: not answering yet, cut off from a living shim, or lost.
void LocalExecutor::Loop::clear_lost() {
    std::vector<LostTask> lost;
    std::int64_t now = monotonic_ms();
    for (const model::TaskName& name : std::set<model::TaskName>(restless_)) {
        auto found = tasks_.find(name);
        if (found == tasks_.end()) {
            restless_.erase(name);
            continue;
        }
        LiveTask& task = found->second;
        if (task.state == LiveTask::State::lost) {
            if (now < task.quiet_until_ms) continue;
            task.quiet_until_ms = now + reconnect_after_ms;
            FolderHandle folder(task.folder);
            lost.push_back(
                {name.text(), read_record(folder.fd(), shim::identity_file).value_or(task.status)});
        } else if (task.link.is_open()) {
            if (now >= task.ask_until_ms) give_up_waiting(task);
        } else if (task.spawner > 0) {
            on_spawner(task);
        } else if (now >= task.quiet_until_ms) {
            look(task);
        }
    }
    if (lost.empty()) return;
    for (const std::string& gone : kill_leftovers(lost, cgroups_)) {
        std::optional<model::TaskName> name = model::TaskName::parse(gone);
        if (!name) continue;
        drop(*name);
        folders_.mark_lost(*name);
        unsettled_[*name] = now + options_.settle_after.ms;
        sink_(model::TaskGone{.task = *name, .detail = "its shim died; nothing of it is left"});
    }
}

// Alive but silent (a stopped shim): what it wrote about itself is enough to report it.
void LocalExecutor::Loop::give_up_waiting(LiveTask& task) {
    FolderHandle folder(task.folder);
    std::optional<shim::TaskStatus> identity = read_record(folder.fd(), shim::identity_file);
    task.ask_until_ms = monotonic_ms() + answer_patience_ms;
    if (!identity || identity->task.pid == 0) return;
    task.status = *identity;
    task.state = LiveTask::State::live;
    restless_.erase(task.name);
    report_started(task);
}

void LocalExecutor::Loop::settle_due() {
    std::int64_t now = monotonic_ms();
    for (auto each = unsettled_.begin(); each != unsettled_.end();) {
        if (now < each->second) {
            ++each;
            continue;
        }
        folders_.settle(each->first);
        each = unsettled_.erase(each);
    }
    if (now < next_prune_ms_) return;
    next_prune_ms_ = now + prune_every_ms;
    worker_.post([this] { folders_.prune(static_cast<std::size_t>(options_.settled_max)); });
}

}  // namespace tandem::executor
