// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "net/http/test_client.h"

namespace tandem::http {
namespace {

TEST(async_client, calls_run_side_by_side_and_reuse_connections) {
    auto server = start_server(echo);
    auto client = AsyncClient::make({.calls_max = 8}).value();
    std::atomic<int> good = 0;
    Signal done;
    for (int i = 0; i < 16; ++i)
        client->send({.server = url_of(*server),
                      .call = {.method = "POST", .target = "/x", .body = std::to_string(i)}},
                     [&, i](Result<Response> result) {
                         if (result && result->body == "POST /x " + std::to_string(i)) ++good;
                         done.raise();
                     });
    ASSERT_TRUE(done.wait(16));
    EXPECT_EQ(good, 16);
    EXPECT_TRUE(await(*client, {.server = url_of(*server)}));
    EXPECT_LE(server->stats().connections, 8);
}

TEST(async_client, name_is_looked_up) {
    auto server = start_server(echo);
    auto client = AsyncClient::make({}).value();
    Url url = url_of(*server);
    url.host = "localhost";
    EXPECT_TRUE(await(*client, {.server = url}));
}

TEST(async_client, deadline_refusal_and_bound_are_errors) {
    Responder kept;
    auto server = start_server([&](Request request, Responder responder) {
        if (request.path == "/big")
            responder.respond(200, std::string(2000, 'x'));
        else
            kept = std::move(responder);
    });
    auto client = AsyncClient::make({}).value();
    EXPECT_EQ(await(*client, {.server = url_of(*server), .total_deadline = milliseconds(30)})
                  .error()
                  .code,
              ErrorCode::unavailable);
    EXPECT_EQ(
        await(*client, {.server = url_of(*server), .call = {.target = "/big"}, .body_max = 1000})
            .error()
            .code,
        ErrorCode::too_large);
    EXPECT_EQ(await(*client, {.server = {.host = "127.0.0.1", .port = 1, .path = ""}}).error().code,
              ErrorCode::unavailable);
    EXPECT_EQ(await(*client, {.server = url_of(*server), .call = {.target = "no"}}).error().code,
              ErrorCode::invalid);
    EXPECT_EQ(await(*client, {.server = parse_url("unix:/nonexistent").value()}).error().code,
              ErrorCode::unavailable);
}

TEST(async_client, too_many_calls_are_exhausted_and_waiting_ones_time_out) {
    std::vector<Responder> kept;
    auto server =
        start_server([&](Request, Responder responder) { kept.push_back(std::move(responder)); });
    auto client = AsyncClient::make({.calls_max = 1}).value();
    std::mutex mutex;
    std::vector<ErrorCode> codes;
    Signal done;
    for (int i = 0; i < 3; ++i)
        client->send({.server = url_of(*server), .total_deadline = milliseconds(100)},
                     [&](Result<Response> result) {
                         std::scoped_lock lock(mutex);
                         codes.push_back(result ? ErrorCode::internal : result.error().code);
                         done.raise();
                     });
    ASSERT_TRUE(done.wait(3));
    EXPECT_EQ(codes,
              (std::vector{ErrorCode::exhausted, ErrorCode::unavailable, ErrorCode::unavailable}));
    server->stop(Duration{});
}

TEST(async_client, destructor_ends_running_calls) {
    Responder kept;
    Signal came, ended;
    auto server = start_server([&](Request, Responder responder) {
        kept = std::move(responder);
        came.raise();
    });
    auto client = AsyncClient::make({}).value();
    client->send({.server = url_of(*server)}, [&](Result<Response> result) {
        if (!result) ended.raise();
    });
    ASSERT_TRUE(came.wait());
    client.reset();
    EXPECT_TRUE(ended.wait());
}

TEST(async_client, closed_idle_connection_is_replaced) {
    Limits limits;
    limits.idle_max = milliseconds(20);
    auto server = start_server(echo, limits);
    auto client = AsyncClient::make({}).value();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(await(*client, {.server = url_of(*server), .call = {.method = "POST"}}));
        ::poll(nullptr, 0, 60);
    }
}

}  // namespace
}  // namespace tandem::http
