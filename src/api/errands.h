// SPDX-License-Identifier: Apache-2.0
// Errands: long acts on files (backup, restore, check, export) that must not hold a thread which serves requests.
// Each runs on a thread of its own, a few at a time; more are refused, not queued. The destructor asks all of them
// to stop and waits: an errand looks at its stop token at least every few seconds.
// Thread rule: start() from any thread.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/result.h"

namespace tandem::api {

class Errands {
  public:
    using Work = std::move_only_function<void(const std::stop_token&)>;
    static constexpr std::size_t running_max = 4;

    Errands() = default;
    Errands(const Errands&) = delete;
    Errands& operator=(const Errands&) = delete;
    ~Errands();

    // Error unavailable when enough of them run already; `work` is then untouched.
    Status start(Work&& work);

  private:
    struct Running {
        std::jthread thread{};
        bool done = false;
    };
    std::mutex mutex_;
    std::list<Running> running_;
};

}  // namespace tandem::api
