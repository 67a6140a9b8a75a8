// SPDX-License-Identifier: Apache-2.0
#include "api/errands.h"

namespace tandem::api {

Errands::~Errands() {
    {
        const std::lock_guard lock(mutex_);
        for (Running& one : running_) one.thread.request_stop();
    }
    // Their last word is under the lock, so that they are joined without it.
    for (Running& one : running_) one.thread.join();
}

Status Errands::start(Work&& work) {
    const std::lock_guard lock(mutex_);
    running_.remove_if([](const Running& one) { return one.done; });  // joins at once: it has nothing left to do
    if (running_.size() >= running_max)
        return fail(ErrorCode::unavailable, "backups, checks and exports are at work already; try again when they are done");
    Running& one = running_.emplace_back();
    one.thread = std::jthread([this, &one, work = std::move(work)](const std::stop_token& stop) mutable {
        work(stop);
        work = {};
        const std::lock_guard done(mutex_);
        one.done = true;
    });
    return {};
}

}  // namespace tandem::api
