// SPDX-License-Identifier: Apache-2.0
#include "probe/prober.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "net/http/server.h"

namespace tandem::probe {
namespace {

struct Reports {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<model::ReplicaProbed> seen;

    void add(model::ReplicaProbed report) {
        const std::lock_guard lock(mutex);
        seen.push_back(std::move(report));
        changed.notify_all();
    }
    bool wait_ready() {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, std::chrono::seconds(10),
                                [&] { return !seen.empty() && seen.back().ready; });
    }
};

const model::TaskName task{.generation = 1, .uid = Uid{{1}}, .epoch = 1, .rank = 0};

TEST(prober, loading_server_is_not_ready_until_it_generates_a_token) {
    std::atomic<int> calls = 0;
    std::string seen_key;
    auto server =
        http::Server::start({.tcp = {{}}}, [&](http::Request request, http::Responder responder) {
            seen_key = std::string(request.headers.get_or("Authorization"));
            if (++calls < 3) return responder.respond(503, R"({"error":"loading"})");
            responder.respond(200, R"({"choices":[{"text":"b"}]})");
        });
    ASSERT_TRUE(server);
    Reports reports;
    auto prober =
        Prober::make([&](model::ReplicaProbed report) { reports.add(std::move(report)); });
    ASSERT_TRUE(prober);
    (*prober)->probe({.task = task,
                      .endpoint = "127.0.0.1:" + std::to_string((*server)->port()),
                      .model = "m",
                      .timeout = {}},
                     Secret("k"));
    ASSERT_TRUE(reports.wait_ready());
    EXPECT_EQ(seen_key, "Bearer k");
    EXPECT_GE(calls, 3);
    EXPECT_FALSE(reports.seen.front().ready);
    EXPECT_NE(reports.seen.front().detail.find("503"), std::string::npos);
}

TEST(prober, cancelled_replica_is_asked_no_more) {
    Reports reports;
    auto prober =
        Prober::make([&](model::ReplicaProbed report) { reports.add(std::move(report)); });
    ASSERT_TRUE(prober);
    (*prober)->probe({.task = task, .endpoint = "127.0.0.1:1", .model = "m", .timeout = {}},
                     Secret("k"));
    (*prober)->cancel(task);
    prober->reset();
    const std::lock_guard lock(reports.mutex);
    for (const model::ReplicaProbed& report : reports.seen) EXPECT_FALSE(report.ready);
}

}  // namespace
}  // namespace tandem::probe
