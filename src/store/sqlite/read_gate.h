// SPDX-License-Identifier: Apache-2.0
// ReadGate: lets short reads in, and keeps new ones out for the moment in which the log is cut back to zero.
// Readers enter for one slice of at most 20 ms; the writer shuts the gate, waits for those inside, and opens it.
// Every wait has a deadline. Thread rule: any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tandem::store::sqlite {

class ReadGate {
  public:
    // False: the gate stayed shut until the deadline.
    bool enter(std::chrono::milliseconds wait) {
        std::unique_lock lock(mutex_);
        if (!moved_.wait_for(lock, wait, [&] { return !shut_; })) return false;
        ++inside_;
        return true;
    }
    void leave() {
        const std::scoped_lock lock(mutex_);
        if (--inside_ == 0) moved_.notify_all();
    }
    // Shuts the gate; true when all readers have left in time. open() must follow in both cases.
    bool shut(std::chrono::milliseconds wait) {
        std::unique_lock lock(mutex_);
        shut_ = true;
        return moved_.wait_for(lock, wait, [&] { return inside_ == 0; });
    }
    void open() {
        const std::scoped_lock lock(mutex_);
        shut_ = false;
        moved_.notify_all();
    }

  private:
    std::mutex mutex_{};
    std::condition_variable moved_{};
    std::int64_t inside_ = 0;
    bool shut_ = false;
};

}  // namespace tandem::store::sqlite
