// SPDX-License-Identifier: Apache-2.0
// The folders of tasks below an installation's home, and what their files say:
//   tasks/NAME   live tasks, and ended ones whose end may not be committed yet
//   ended/NAME   settled ones, kept for their logs
// A task's workdir/ (default working directory) and outputs/ (TANDEM_OUTPUT_DIR) are in its folder.
// Thread rule: const functions from any thread; the others from the executor's loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/input.h"
#include "shim/protocol.h"

namespace tandem::executor {

// An open folder.
class FolderHandle {
  public:
    explicit FolderHandle(const std::string& path);
    ~FolderHandle();
    FolderHandle(FolderHandle&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    FolderHandle& operator=(FolderHandle&&) = delete;
    explicit operator bool() const { return fd_ >= 0; }
    int fd() const { return fd_; }

  private:
    int fd_ = -1;
};

struct LogSlice {
    std::int64_t offset = 0;  // of text[0]; later than asked for when older output was overwritten
    std::int64_t end = 0;     // offset after the last byte there is
    bool live = false;        // more may come
    std::string text{};
};

class TaskFolders {
  public:
    // Makes the folders; the error names what can't be made.
    static Result<TaskFolders> open(const std::string& home);

    std::string path_of(const model::TaskName& task) const { return tasks_ + "/" + task.text(); }
    std::string checkpoints_of(const Uid& owner) const {
        return home_ + "/checkpoints/" + owner.text();
    }
    // Where the task's folder is, live or settled; empty: nowhere.
    std::string find(const model::TaskName& task) const;
    std::vector<model::TaskName> list() const;  // of tasks/, in order of names
    // Settled ones of installations before `generation`, in order of names.
    std::vector<model::TaskName> list_settled_before(std::int64_t generation) const;

    Status make(const model::TaskName& task);
    // Leaves an exit record for a task that is not to run (again): it can't be started from here
    // any more.
    Status bury(const model::TaskName& task, std::string why);
    // It ended without a record: nothing more is written there.
    void mark_lost(const model::TaskName& task);
    void settle(const model::TaskName& task);
    // Removes the oldest settled folders beyond `most`.
    void prune(std::size_t most);

    Result<LogSlice> read_log(const model::TaskName& task, std::int64_t offset,
                              std::size_t max) const;

  private:
    TaskFolders() = default;
    std::string home_;
    std::string tasks_;
    std::string ended_;
};

std::optional<shim::TaskStatus> read_record(int folder_fd, const char* file);
// Somebody holds the lock: a shim lives here (or is starting).
bool is_locked(int folder_fd);

std::string handle_of(const shim::TaskStatus& status);    // "pid 12 start 345 boot 6f…"
std::string endpoint_of(const shim::TaskStatus& status);  // "127.0.0.1:PORT", or empty
// `server_start_ms`: ends before it were seen by no server.
model::TaskExit exit_of(const shim::TaskStatus& status, std::int64_t server_start_ms);

// mkdir -p. The error names the folder.
Status make_folders(const std::string& path, unsigned mode = 0700);

}  // namespace tandem::executor
