// SPDX-License-Identifier: Apache-2.0
#include "executor/local/task_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tandem::executor {

namespace fs = std::filesystem;

namespace {

// In the folder of a task that ended without a record. Only whoever reads its output looks at it:
// after a restart the task is found lost again, and told as gone again.
constexpr const char* lost_file = "lost";

std::vector<model::TaskName> names_in(const std::string& folder) {
    std::vector<model::TaskName> tasks;
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        if (auto task = model::TaskName::parse(each->path().filename().string()))
            tasks.push_back(*task);
    }
    std::sort(tasks.begin(), tasks.end());
    return tasks;
}

}  // namespace

FolderHandle::FolderHandle(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

FolderHandle::~FolderHandle() {
    if (fd_ >= 0) close(fd_);
}

Status make_folders(const std::string& path, unsigned mode) {
    for (std::size_t at = 1; at != std::string::npos;) {
        at = path.find('/', at);
        std::string part = path.substr(0, at);
        if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
            return fail(ErrorCode::invalid, part + ": " + std::strerror(errno));
        }
        if (at != std::string::npos) ++at;
    }
    struct stat facts{};
    if (stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return {};
    return fail(ErrorCode::invalid, path + ": not a folder");
}

Result<TaskFolders> TaskFolders::open(const std::string& home) {
    TaskFolders folders;
    folders.home_ = home;
    folders.tasks_ = home + "/tasks";
    folders.ended_ = home + "/ended";
    TANDEM_TRY(make_folders(folders.tasks_));
    TANDEM_TRY(make_folders(folders.ended_));
    return folders;
}

std::string TaskFolders::find(const model::TaskName& task) const {
    std::error_code ignored;
    for (const std::string& root : {tasks_, ended_}) {
        std::string path = root + "/" + task.text();
        if (fs::is_directory(path, ignored)) return path;
    }
    return {};
}

std::vector<model::TaskName> TaskFolders::list() const {
    return names_in(tasks_);
}

std::vector<model::TaskName> TaskFolders::list_settled_before(std::int64_t generation) const {
    std::vector<model::TaskName> tasks = names_in(ended_);
    std::erase_if(tasks,
                  [&](const model::TaskName& task) { return task.generation >= generation; });
    return tasks;
}

Status TaskFolders::make(const model::TaskName& task) {
    std::string path = path_of(task);
    TANDEM_TRY(make_folders(path + "/workdir"));
    return make_folders(path + "/outputs");
}

Status TaskFolders::bury(const model::TaskName& task, std::string why) {
    std::string path = path_of(task);
    TANDEM_TRY(make_folders(path));
    FolderHandle folder(path);
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    shim::TaskStatus status;
    status.state = shim::TaskState::exited;
    status.name = task.text();
    status.boot = shim::boot_id();
    status.ended_ms = status.gone_ms = static_cast<std::int64_t>(now.tv_sec) * 1000;
    status.start_error = std::move(why);
    shim::Fields fields;
    shim::put_status(fields, status);
    if (folder && shim::write_durably(folder.fd(), shim::exit_file, shim::encode(fields)))
        return {};
    bool full = errno == ENOSPC || errno == EDQUOT;
    return fail(full ? ErrorCode::storage_full : ErrorCode::internal,
                path + ": " + std::strerror(errno));
}

void TaskFolders::mark_lost(const model::TaskName& task) {
    const int fd = ::open((path_of(task) + "/" + lost_file).c_str(),
                          O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

void TaskFolders::settle(const model::TaskName& task) {
    rename(path_of(task).c_str(), (ended_ + "/" + task.text()).c_str());
}

void TaskFolders::prune(std::size_t most) {
    std::vector<std::pair<fs::file_time_type, fs::path>> settled;
    std::error_code error;
    for (fs::directory_iterator each(ended_, error), end; !error && each != end;
         each.increment(error)) {
        std::error_code ignored;
        settled.emplace_back(fs::last_write_time(each->path(), ignored), each->path());
    }
    if (settled.size() <= most) return;
    std::sort(settled.begin(), settled.end());
    settled.resize(settled.size() - most);
    for (const auto& [when, path] : settled) fs::remove_all(path, error);
}

Result<LogSlice> TaskFolders::read_log(const model::TaskName& task, std::int64_t offset,
                                       std::size_t max) const {
    FolderHandle folder(find(task));
    if (!folder) return fail(ErrorCode::not_found, "task " + task.text() + " has no output here");
    LogSlice slice;
    // Asked first: what is written between the two looks is then still announced.
    slice.live = faccessat(folder.fd(), shim::exit_file, F_OK, 0) != 0 &&
                 faccessat(folder.fd(), lost_file, F_OK, 0) != 0;
    shim::OutputSlice read = shim::read_output(folder.fd(), offset, max);
    slice.offset = read.offset;
    slice.end = read.end;
    slice.text = std::move(read.data);
    return slice;
}

std::optional<shim::TaskStatus> read_record(int folder_fd, const char* file) {
    std::optional<std::string> text = shim::read_file(folder_fd, file, 1 << 20);
    std::optional<shim::Fields> fields = text ? shim::decode(*text) : std::nullopt;
    return fields ? shim::status_of(*fields) : std::nullopt;
}

bool is_locked(int folder_fd) {
    int fd = openat(folder_fd, shim::lock_file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

std::string handle_of(const shim::TaskStatus& status) {
    return "pid " + std::to_string(status.task.pid) + " start " +
           std::to_string(status.task.start_ticks) + " boot " + status.boot;
}

std::string endpoint_of(const shim::TaskStatus& status) {
    return status.port > 0 ? "127.0.0.1:" + std::to_string(status.port) : std::string();
}

model::TaskExit exit_of(const shim::TaskStatus& status, std::int64_t server_start_ms) {
    return {.code = status.exit_code.value_or(-1),
            .signal = status.signal.value_or(0),
            .out_of_memory = status.oom_killed,
            .timed_out = status.timed_out,
            .at = {status.ended_ms},
            .server_absent = status.ended_ms < server_start_ms,
            .ran = {status.ran_ms}};
}

}  // namespace tandem::executor
