// SPDX-License-Identifier: Apache-2.0
// Ticker: one thread that calls long-lived answers (watches, followed logs) now and then. A tick
// returns false when it is done. Ticks must not block for long. Thread rule: add() from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace tandem::api {

class Ticker {
  public:
    using Tick = std::move_only_function<bool()>;
    Ticker();
    ~Ticker();
    void add(Duration period, Tick tick);

  private:
    struct Entry {
        std::int64_t due_ms = 0;
        Duration period{};
        Tick tick{};
    };
    void run();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::list<Entry> entries_;
    std::list<Entry> fresh_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace tandem::api
