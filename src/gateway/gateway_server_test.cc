// SPDX-License-Identifier: Apache-2.0
// A gateway and its server: waking, holding, limits by lease, life without the server, restarts.
#include <future>

#include "gateway/test_world.h"

namespace tandem::gateway {
namespace {

const std::string answer =
    R"({"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}})";
void answers(http::Request, http::Responder responder) {
    responder.respond(200, answer);
}
const std::string ask = R"({"model":"tiny"})";

TEST_F(GatewayTest, request_for_a_sleeping_service_is_held_and_wakes_it) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {})});
    start();
    auto waiting = std::async(std::launch::async, [&] { return send(call(ask)); });
    EXPECT_TRUE(eventually([&] { return played_.most_waiting() == 1; }))
        << "the server hears of it at once";
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    publish({service("tiny", {engine.endpoint()})});
    EXPECT_EQ(waiting.get().status, 200);
}

TEST_F(GatewayTest, held_requests_are_released_only_as_replicas_have_room) {
    std::mutex mutex;
    std::vector<http::Responder> open;
    std::size_t most = 0;
    ScriptedEngine engine([&](http::Request, http::Responder responder) {
        const std::lock_guard lock(mutex);
        open.push_back(std::move(responder));
        most = std::max(most, open.size());
    });
    publish({service("tiny", {}, 2)});
    start();
    std::vector<std::future<int>> calls;
    for (int i = 0; i < 7; ++i)
        calls.push_back(std::async(std::launch::async, [&] {
            auto own = http::Client::make(
                {.server = *http::parse_url("http://" + gateway_->endpoint().text())});
            const auto response = (*own)->send(call(ask));
            return response ? response->status : 0;
        }));
    EXPECT_TRUE(eventually([&] { return played_.most_waiting() == 7; }));
    publish({service("tiny", {engine.endpoint()}, 2)});
    for (std::size_t done = 0; done < 7;) {
        ASSERT_TRUE(eventually([&] {
            const std::lock_guard lock(mutex);
            return !open.empty();
        }));
        const std::lock_guard lock(mutex);
        open.back().respond(200, answer);
        open.pop_back();
        ++done;
    }
    for (auto& one : calls) EXPECT_EQ(one.get(), 200);
    EXPECT_LE(most, 2u);
}

TEST_F(GatewayTest, request_whose_only_replica_died_waits_for_the_next_one) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {"127.0.0.1:1"})});
    start();
    auto waiting = std::async(std::launch::async, [&] { return send(call(ask)); });
    EXPECT_TRUE(eventually([&] { return played_.most_waiting() == 1; }));
    auto next = service("tiny", {engine.endpoint()});
    next.replicas[0].uid = uid_of(7);
    publish({next});
    EXPECT_EQ(waiting.get().status, 200);
}

TEST_F(GatewayTest, unreachable_replica_is_asked_again_only_when_no_other_has_room) {
    ScriptedEngine engine(answers);
    auto two = service("tiny", {"127.0.0.1:1", engine.endpoint()});
    publish({two});
    start();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(send(call(ask)).status, 200);
    EXPECT_EQ(engine.calls(), 20u);
}

TEST_F(GatewayTest, hold_ends_at_its_deadline_with_a_time_to_come_back) {
    options_.hold_max = milliseconds(100);
    publish({service("tiny", {})});
    start();
    const auto response = send(call(ask));
    EXPECT_EQ(response.status, 503);
    EXPECT_NE(response.headers.get_or("retry-after"), "");
    EXPECT_EQ(rows(1).at(0).status, 503);
}

TEST_F(GatewayTest, draining_replica_gets_nothing_new) {
    ScriptedEngine old_one(answers);
    ScriptedEngine new_one(answers);
    auto both = service("tiny", {old_one.endpoint(), new_one.endpoint()});
    both.replicas[0].draining = true;
    publish({both});
    start();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(send(call(ask)).status, 200);
    EXPECT_EQ(old_one.calls(), 0u);
}

TEST_F(GatewayTest, rate_is_spent_by_lease_and_refused_with_a_time_to_come_back) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()})}, 3, 10);
    start();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(send(call(ask)).status, 200);
    const auto refused = send(call(ask));
    EXPECT_EQ(refused.status, 429);
    EXPECT_NE(refused.body.find("rate_limit_exceeded"), std::string::npos);
    EXPECT_GT(std::stoi(std::string(refused.headers.get_or("retry-after", "0"))), 50);
    EXPECT_EQ(engine.calls(), 3u);
}

TEST_F(GatewayTest, two_gateways_together_stay_within_the_keys_limits) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()}, 100)}, 20, 50);
    start();
    auto second_options = options_;
    second_options.name = "gw2";
    second_options.home = home_ + "/second";
    second_options.listen = {};
    auto second = Gateway::start(second_options, {}, metrics_);
    ASSERT_TRUE(second);
    ASSERT_TRUE(eventually([&] { return (*second)->connected(); }));
    auto other =
        http::Client::make({.server = *http::parse_url("http://" + (*second)->endpoint().text())});
    for (int i = 0; i < 30; ++i) {
        send(call(ask));
        ASSERT_TRUE((*other)->send(call(ask)));
    }
    EXPECT_LE(engine.calls(), 20u);
    EXPECT_GE(engine.calls(), 19u) << "and what is allowed can be used";
}

TEST_F(GatewayTest, life_goes_on_without_the_server_and_usage_arrives_once_afterwards) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()})}, 1000, 10);
    start();
    EXPECT_EQ(send(call(ask)).status, 200);
    rows(1);
    const auto port = played_.port();
    played_.go_down();
    ASSERT_TRUE(eventually([&] { return !gateway_->connected(); }));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(send(call(ask)).status, 200) << "by the standing share";
    EXPECT_EQ(played_.rows().size(), 1u);
    played_.come_up(port);
    EXPECT_EQ(rows(6).size(), 6u);
    EXPECT_TRUE(eventually([&] { return gateway_->unshipped_rows() == 0; }));
}

TEST_F(GatewayTest, restarted_gateway_serves_alone_from_what_it_kept) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()})});
    start();
    EXPECT_EQ(send(call(ask)).status, 200);
    rows(1);
    client_.reset();
    gateway_.reset();
    played_.go_down();
    options_.server.clear();
    start();
    EXPECT_EQ(send(call(ask)).status, 200);
    EXPECT_TRUE(eventually([&] { return gateway_->unshipped_rows() == 1; }));
}

TEST_F(GatewayTest, keys_are_not_believed_for_ever) {
    options_.staleness_max = milliseconds(150);
    publish({service("tiny", {})});
    start();
    EXPECT_TRUE(eventually([&] { return get("/v1/models").status == 503; }));
}

}  // namespace
}  // namespace tandem::gateway
