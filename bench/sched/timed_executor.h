// SPDX-License-Identifier: Apache-2.0
// TimedExecutor: an executor without a world behind it. Tasks are notes with an end: the second word of their
// command is how many milliseconds they run (0 or none: until they are stopped). What it knows is kept in a file over
// a restart. Thread rule: execute, forget and settle from any thread; reports are posted by a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/ports.h"

namespace tandem::bench {

struct Cluster {
    std::int64_t nodes = 1;
    std::int64_t devices = 8;  // of each
    std::string flavor = "cpu-slice";
};

class TimedExecutor : public core::Executor {
  public:
    TimedExecutor(Cluster cluster, std::string file, core::InputSink sink);
    ~TimedExecutor() override;

    // Reports the nodes and what runs, and begins to execute.
    void start();
    // Keeps what runs for the next start.
    Status keep();

    void execute(const model::Intent& intent) override;
    void forget(RowId) override {}
    void settle(const model::TaskName&) override {}

  private:
    using Clock = std::chrono::steady_clock;
    struct Running {
        std::string node{};
        std::vector<model::DeviceShare> devices{};
    };

    void run(const std::stop_token& stop);
    void report_nodes();
    void report_tasks();
    void finish_due(Clock::time_point now);  // holding the mutex

    Cluster cluster_;
    std::string file_;
    core::InputSink sink_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<model::TaskName, Running> running_;
    std::multimap<Clock::time_point, std::pair<model::TaskName, std::int64_t>> ends_;  // task, exit code
    std::vector<model::Input> reports_;
    std::jthread thread_;
};

}  // namespace tandem::bench
