// SPDX-License-Identifier: Apache-2.0
#include "executor/local/local_executor.h"

#include <unistd.h>

#include "executor/local/loop.h"

namespace tandem::executor {

LocalExecutor::LocalExecutor(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
LocalExecutor::~LocalExecutor() = default;

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::open(LocalOptions options, LocalHooks hooks,
                                                           core::InputSink sink,
                                                           telemetry::Log log) {
    if (!options.home.starts_with('/')) {
        return invalid_field("home", "must be an absolute path, is \"" + options.home + "\"");
    }
    if (access(options.shim.c_str(), X_OK) != 0) {
        return invalid_field("shim", "\"" + options.shim + "\" is not a program that can be run");
    }
    TANDEM_LET(folders, TaskFolders::open(options.home));
    auto loop = std::make_unique<Loop>(std::move(options), std::move(hooks), std::move(sink),
                                       std::move(log), std::move(folders));
    return std::unique_ptr<LocalExecutor>(new LocalExecutor(std::move(loop)));
}

void LocalExecutor::start(std::int64_t generation) {
    loop_->start(generation);
}
void LocalExecutor::execute(const model::Intent& intent) {
    loop_->post(intent);
}
void LocalExecutor::forget(RowId intent) {
    loop_->post(Loop::Forget{intent});
}
void LocalExecutor::settle(const model::TaskName& task) {
    loop_->post(Loop::Settle{task});
}

Result<LogSlice> LocalExecutor::read_log(const model::TaskName& task, std::int64_t offset,
                                         std::size_t max) const {
    return loop_->folders().read_log(task, offset, max);
}

}  // namespace tandem::executor
