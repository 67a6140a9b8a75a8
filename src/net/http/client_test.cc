// SPDX-License-Identifier: Apache-2.0
// The blocking client against the server and against raw sockets.
#include <atomic>
#include <thread>

#include "net/http/sse.h"
#include "net/http/test_client.h"

namespace tandem::http {
namespace {

// A listening socket that a test answers by hand.
class FakeServer {
  public:
    FakeServer() {
        descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(descriptor_, 8), 0);
        socklen_t length = sizeof address;
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
        url.host = "127.0.0.1";
        url.port = ntohs(address.sin_port);
    }
    ~FakeServer() {
        if (thread_.joinable()) thread_.join();
        ::close(descriptor_);
    }
    // For each text: accept, read a head, send the text, close.
    void answer(std::vector<std::string> texts) {
        thread_ = std::thread([this, texts = std::move(texts)] {
            for (const std::string& text : texts) {
                int peer = ::accept(descriptor_, nullptr, nullptr);
                std::string in;
                char c = 0;
                while (in.find("\r\n\r\n") == in.npos && ::recv(peer, &c, 1, 0) == 1) in += c;
                ::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
                ::shutdown(peer, SHUT_WR);
                while (::recv(peer, &c, 1, 0) > 0) {
                }
                ::close(peer);
            }
        });
    }
    Url url;

  private:
    int descriptor_;
    std::thread thread_;
};

TEST(client, call_gets_status_headers_and_body) {
    auto server = start_server(echo);
    auto client = client_of({.server = url_of(*server)});
    Response response =
        client->send({.method = "POST", .target = "/a?b=c", .body = "hello"}).value();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "POST /a hello");
    EXPECT_TRUE(response.headers.find("date"));
    EXPECT_EQ(client->send({.target = "/missing"}).value().status, 404);
    EXPECT_EQ(client->send({.method = "HEAD"}).value().body, "");
    EXPECT_EQ(server->stats().connections, 1);  // one connection for all
}

TEST(client, call_with_wrong_parts_is_invalid) {
    auto client = client_of({.server = parse_url("http://127.0.0.1:1").value()});
    EXPECT_EQ(client->send({.method = "GE T"}).error().field, "method");
    EXPECT_EQ(client->send({.target = "x"}).error().field, "target");
    EXPECT_EQ(client->send({.target = "/x y"}).error().field, "target");
    EXPECT_EQ(client->send({.headers = {{"A", "b\r\nC: d"}}}).error().field, "headers");
}

TEST(client, closed_port_and_missing_socket_are_unavailable) {
    std::uint16_t port = 0;
    {
        auto server = start_server(echo);
        port = server->port();
    }
    auto tcp = client_of({.server = {.host = "127.0.0.1", .port = port, .path = ""}});
    EXPECT_EQ(tcp->send({}).error().code, ErrorCode::unavailable);
    auto local = client_of({.server = parse_url("unix:/nonexistent/socket").value()});
    EXPECT_EQ(local->send({}).error().code, ErrorCode::unavailable);
}

TEST(client, reused_connection_that_was_closed_is_replaced) {
    Limits limits;
    limits.idle_max = milliseconds(20);
    auto server = start_server(echo, limits);
    auto client = client_of({.server = url_of(*server)});
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(client->send({.method = "POST"}));
        ::poll(nullptr, 0, 60);
    }
}

TEST(client, total_deadline_ends_a_call) {
    Responder kept;
    auto server = start_server([&](Request, Responder responder) { kept = std::move(responder); });
    auto client = client_of({.server = url_of(*server), .total_deadline = milliseconds(50)});
    EXPECT_EQ(client->send({}).error().code, ErrorCode::unavailable);
}

TEST(client, cancel_ends_a_call_from_another_thread) {
    Responder kept;
    Signal came;
    auto server = start_server([&](Request, Responder responder) {
        kept = std::move(responder);
        came.raise();
    });
    auto client = client_of({.server = url_of(*server)});
    Cancel cancel;
    std::thread other([&] {
        came.wait();
        cancel.cancel();
    });
    EXPECT_EQ(client->send({}, &cancel).error().code, ErrorCode::unavailable);
    other.join();
    EXPECT_FALSE(client->send({}, &cancel));
}

TEST(client, answer_beyond_the_bound_is_too_large) {
    auto server = start_server(
        [](Request, Responder responder) { responder.respond(200, std::string(1001, 'x')); });
    auto client = client_of({.server = url_of(*server), .body_max = 1000});
    EXPECT_EQ(client->send({}).error().code, ErrorCode::too_large);
}

TEST(client, early_refusal_of_a_large_body_is_seen) {
    auto server = start_server(echo);
    auto client = client_of({.server = url_of(*server)});
    EXPECT_EQ(client->send({.method = "PUT", .body = std::string(8'000'000, 'x')}).value().status,
              413);
}

TEST(client, broken_answers_are_errors) {
    struct {
        std::string text;
        ErrorCode code;
    } rows[] = {
        {"", ErrorCode::unavailable},
        {"HTTP/1.1 200 OK\r\n", ErrorCode::unavailable},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ErrorCode::unavailable},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", ErrorCode::unavailable},
        {"SSH-2.0-x\r\n\r\n", ErrorCode::invalid},
        {"HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), ErrorCode::invalid},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ErrorCode::invalid}};
    for (const auto& row : rows) {
        FakeServer server;
        server.answer({row.text});
        auto client = client_of({.server = server.url});
        auto result = client->send({.method = "POST"});
        ASSERT_FALSE(result) << row.text.substr(0, 60);
        EXPECT_EQ(result.error().code, row.code) << result.error().message;
    }
}

TEST(client, interim_answers_are_passed_over_and_end_of_connection_ends_a_body) {
    FakeServer server;
    server.answer(
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.0 202 "
         "OK\r\nC: d\r\n\r\nbody"});
    auto client = client_of({.server = server.url});
    Response response = client->send({}).value();
    EXPECT_EQ(response.status, 202);
    EXPECT_EQ(response.headers.size(), 1u);
    EXPECT_EQ(response.body, "body");
}

TEST(client, stream_gives_events_as_they_come_and_stops_on_cancel) {
    Signal came;
    Stream stream;
    auto server = start_server([&](Request, Responder responder) {
        stream = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
        stream.write(render_sse({.id = "1", .event = "put", .data = "one"}));
        came.raise();
    });
    auto client = client_of({.server = url_of(*server)});
    Cancel cancel;
    SseReader reader;
    std::vector<SseEvent> events;
    int status = 0;
    Status result = client->stream(
        {},
        {.on_head = [&](const Response& head) { return (status = head.status) == 200; },
         .on_chunk =
             [&](std::string_view piece) {
                 auto more = reader.feed(piece).value();
                 events.insert(events.end(), more.begin(), more.end());
                 if (events.size() == 1) stream.write("data: two\n\n");
                 if (events.size() == 2) cancel.cancel();
                 return true;
             }},
        &cancel);
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
    EXPECT_EQ(status, 200);
    EXPECT_EQ(events, (std::vector<SseEvent>{{"1", "put", "one"}, {"1", "message", "two"}}));
}

TEST(client, stream_ends_well_when_the_server_closes_it_or_the_reader_stops) {
    auto server = start_server([](Request request, Responder responder) {
        Stream stream = responder.start_stream(request.path == "/bad" ? 503 : 200, {});
        stream.write("abc");
    });
    auto client = client_of({.server = url_of(*server)});
    std::string got;
    EXPECT_TRUE(client->stream({}, {.on_chunk = [&](std::string_view piece) {
                                   got += piece;
                                   return true;
                               }}));
    EXPECT_EQ(got, "abc");
    EXPECT_TRUE(client->stream({}, {.on_chunk = [](std::string_view) { return false; }}));
    bool chunk = false;
    EXPECT_TRUE(client->stream({.target = "/bad"},
                               {.on_head = [](const Response& head) { return head.status == 200; },
                                .on_chunk = [&](std::string_view) { return chunk = true; }}));
    EXPECT_FALSE(chunk);
}

TEST(client, silent_stream_ends_at_its_idle_deadline) {
    Stream stream;
    auto server = start_server(
        [&](Request, Responder responder) { stream = responder.start_stream(200, {}); });
    auto client = client_of({.server = url_of(*server), .stream_idle_deadline = milliseconds(50)});
    EXPECT_EQ(client->stream({}, {.on_chunk = [](std::string_view) { return true; }}).error().code,
              ErrorCode::unavailable);
}

TEST(client, unix_socket_and_threads_share_one_client) {
    std::string folder = testing::TempDir() + "cliXXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    ServerOptions options;
    options.unix_sockets.push_back(folder + "/s");
    options.threads = 2;
    auto server = Server::start(std::move(options), echo).value();
    auto client = client_of({.server = parse_url("unix:" + folder + "/s").value()});
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                auto response = client->send({.method = "PUT", .body = std::to_string(i)});
                if (response && response->body == "PUT / " + std::to_string(i)) ++good;
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(good, 400);
    server.reset();
    ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace tandem::http
