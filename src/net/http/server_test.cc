// SPDX-License-Identifier: Apache-2.0
// The server as its peers see it: exchanges, late answers, streams, stop. server_limits_test.cc:
// what it refuses.
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "net/http/test_server.h"

namespace tandem::http {
namespace {

void echo(Request request, Responder responder) {
    Response response;
    response.headers.add("X-Path", request.path);
    response.body = request.method + " " + request.body;
    responder.respond(std::move(response));
}

TEST(server, keep_alive_answers_several_requests_on_one_connection) {
    auto server = start_server(echo);
    RawSocket peer(server->port());
    for (int i = 0; i < 3; ++i) {
        peer.send("POST /a%20b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nX-Request-Id: id." +
                  std::to_string(i) + "\r\n\r\nhi");
        std::string answer = peer.read_answer();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << answer;
        EXPECT_NE(answer.find("X-Request-Id: id." + std::to_string(i) + "\r\n"), answer.npos)
            << answer;
        EXPECT_NE(answer.find("X-Path: /a b\r\n"), answer.npos);
        EXPECT_EQ(answer.find("Connection:"), answer.npos);
        EXPECT_TRUE(answer.ends_with("\r\n\r\nPOST hi"));
    }
    EXPECT_EQ(server->stats().requests, 3u);
    EXPECT_EQ(server->stats().connections, 1);
}

TEST(server, head_arriving_byte_by_byte_is_one_request) {
    auto server = start_server(echo);
    RawSocket peer(server->port());
    for (char c : std::string("\r\nPOST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"))
        peer.send({&c, 1});
    EXPECT_TRUE(peer.read_answer().ends_with("POST abc"));
}

TEST(server, empty_chunked_body_arriving_byte_by_byte_is_one_request) {
    auto server = start_server(echo);
    RawSocket peer(server->port());
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (char c : std::string("0\r\n\r\n")) {
        peer.send({&c, 1});
        ::poll(nullptr, 0, 5);  // so that the server takes each byte alone
    }
    EXPECT_TRUE(peer.read_answer().ends_with("POST "));
}

TEST(server, pipelined_requests_are_answered_in_order) {
    std::vector<Responder> held;
    std::mutex mutex;
    Signal came;
    auto server = start_server([&](Request request, Responder responder) {
        if (request.path != "/slow") return echo(std::move(request), std::move(responder));
        std::scoped_lock lock(mutex);
        held.push_back(std::move(responder));
        came.raise();
    });
    RawSocket peer(server->port());
    peer.send(
        "GET /slow HTTP/1.1\r\nHost: h\r\n\r\nPOST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
        "chunked\r\n\r\n"
        "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(came.wait());
    EXPECT_EQ(server->stats().requests, 1u);  // the next waits for its turn
    {
        std::scoped_lock lock(mutex);
        held[0].respond(200, "slow");
        held.clear();
    }
    EXPECT_TRUE(peer.read_answer().ends_with("slow"));
    EXPECT_TRUE(peer.read_answer().ends_with("POST abcde"));
    EXPECT_TRUE(peer.read_answer().ends_with("GET "));
}

TEST(server, thousand_pipelined_requests_with_large_answers_all_arrive) {
    auto server = start_server(
        [](Request, Responder responder) { responder.respond(200, std::string(20'000, 'x')); });
    RawSocket peer(server->port());
    std::thread writer([&] {
        for (int i = 0; i < 1000; ++i) peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    });
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(peer.read_answer().find("HTTP/1.1 200 OK"), 0u) << i;
    writer.join();
}

TEST(server, answer_from_another_thread_arrives) {
    std::thread later;
    auto server = start_server([&](Request, Responder responder) {
        later = std::thread(
            [responder = std::move(responder)]() mutable { responder.respond(201, "late"); });
    });
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(peer.read_answer().ends_with("late"));
    later.join();
}

TEST(server, dropped_responder_answers_500) {
    auto server = start_server([](Request, Responder) {});
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    std::string answer = peer.read_answer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
    EXPECT_NE(answer.find("application/problem+json"), answer.npos);
}

TEST(server, throwing_handler_answers_500_and_serves_on) {
    auto server = start_server([](Request request, Responder responder) {
        if (request.path == "/bad") throw std::runtime_error("x");
        responder.respond(200, "fine");
    });
    RawSocket peer(server->port());
    peer.send("GET /bad HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(peer.read_answer().starts_with("HTTP/1.1 500 "));
    EXPECT_TRUE(peer.read_answer().ends_with("fine"));
}

TEST(server, responder_that_outlives_its_server_does_nothing) {
    Responder kept;
    Signal came;
    {
        auto server = start_server([&](Request, Responder responder) {
            kept = std::move(responder);
            came.raise();
        });
        RawSocket peer(server->port());
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        ASSERT_TRUE(came.wait());
    }
    kept.respond(200, "nobody");
}

TEST(server, head_gives_the_length_without_the_body) {
    auto server = start_server(echo);
    RawSocket peer(server->port());
    peer.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET /x HTTP/1.0\r\n\r\n");
    EXPECT_NE(peer.read_to("\r\n\r\n").find("Content-Length: 5\r\n"), std::string::npos);
    std::string rest = peer.read_all();  // HTTP/1.0 without keep-alive closes
    EXPECT_TRUE(rest.starts_with("HTTP/1.1 200 OK")) << rest;
    EXPECT_NE(rest.find("Connection: close\r\n"), rest.npos);
}

TEST(server, header_values_of_handlers_cannot_split_the_answer) {
    auto server = start_server([](Request, Responder responder) {
        responder.respond({.status = 200,
                           .headers = {{"X", "a\r\nSet-Cookie: b"}, {"Content-Length", "7"}},
                           .body = "ok"});
    });
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    std::string answer = peer.read_answer();
    EXPECT_EQ(answer.find("\r\nSet-Cookie"), answer.npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\nok"));
}

TEST(server, stream_arrives_in_pieces_and_the_connection_lives_on) {
    Stream stream;
    Signal came;
    auto server = start_server([&](Request request, Responder responder) {
        if (request.path != "/s") return echo(std::move(request), std::move(responder));
        stream = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
        came.raise();
    });
    RawSocket peer(server->port());
    peer.send("GET /s HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(came.wait());
    EXPECT_NE(peer.read_to("\r\n\r\n").find("Transfer-Encoding: chunked\r\n"), std::string::npos);
    EXPECT_TRUE(stream.write("data: 1\n\n"));
    EXPECT_EQ(peer.read_to("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
    EXPECT_TRUE(stream.write("data: 22\n\n"));
    EXPECT_EQ(peer.read_to("\n\n\r\n"), "a\r\ndata: 22\n\n\r\n");
    Signal closed;
    stream.on_closed([&] { closed.raise(); });
    stream = Stream();  // the last handle closes it
    EXPECT_EQ(peer.read_to("0\r\n\r\n"), "0\r\n\r\n");
    EXPECT_TRUE(closed.wait());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(peer.read_answer().ends_with("GET "));
}

TEST(server, stream_whose_peer_leaves_is_closed) {
    Signal closed;
    Stream stream;
    Signal came;
    auto server = start_server([&](Request, Responder responder) {
        stream = responder.start_stream(200, {});
        stream.on_closed([&] { closed.raise(); });
        came.raise();
    });
    {
        RawSocket peer(server->port());
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        ASSERT_TRUE(came.wait());
        peer.read_to("\r\n\r\n");
    }
    EXPECT_TRUE(closed.wait());
    EXPECT_FALSE(stream.write("x"));
    EXPECT_EQ(stream.room(), 0u);
}

TEST(server, slow_reader_of_a_stream_is_dropped) {
    Signal closed;
    std::atomic<int> written = 0;
    Stream stream;
    Signal came;
    auto server = start_server([&](Request, Responder responder) {
        stream = responder.start_stream(200, {});
        stream.on_closed([&] { closed.raise(); });
        came.raise();
    });
    RawSocket peer(server->port(), 4096);
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(came.wait());
    std::string piece(64 * 1024, 'x');
    while (written < 10'000 && stream.write(piece)) ++written;
    EXPECT_LT(written, 10'000);
    EXPECT_TRUE(closed.wait());
    EXPECT_EQ(server->stats().streams_dropped, 1u);
    std::string all = peer.read_all();
    EXPECT_EQ(all.find("\r\n0\r\n\r\n"), all.npos);  // must not look whole
}

TEST(server, writer_that_waits_for_room_loses_nothing) {
    constexpr std::size_t total = 8 * 1024 * 1024;
    std::thread writer;
    auto server = start_server([&](Request, Responder responder) {
        writer = std::thread([stream = responder.start_stream(200, {})] {
            for (std::size_t sent = 0; sent < total;) {
                std::size_t size = std::min({stream.room(), total - sent, std::size_t{50'000}});
                if (size > 0 && !stream.write(std::string(size, 'y'))) return;
                sent += size;
                if (size > 0) continue;
                Signal drained;
                stream.on_drained([&] { drained.raise(); });
                if (!drained.wait()) return;
            }
            stream.close();
        });
    });
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.0\r\n\r\n");  // no chunks, so that the bytes can be counted
    peer.read_to("\r\n\r\n");
    EXPECT_EQ(peer.read_all().size(), total);
    writer.join();
}

TEST(server, expect_continue_is_answered_before_the_body) {
    auto server = start_server(echo);
    RawSocket peer(server->port());
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(peer.read_to("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    peer.send("abc");
    EXPECT_TRUE(peer.read_answer().ends_with("POST abc"));
}

TEST(server, large_body_arrives_whole) {
    Limits limits;
    limits.body_max = 32 * 1024 * 1024;
    auto server = start_server(
        [](Request request, Responder responder) {
            bool right = request.body == std::string(request.body.size(), 'b');
            responder.respond(200, right ? std::to_string(request.body.size()) : "mixed up");
        },
        limits);
    RawSocket peer(server->port());
    peer.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000000\r\n\r\n" +
              std::string(20'000'000, 'b'));
    EXPECT_TRUE(peer.read_answer().ends_with("\r\n\r\n20000000"));
    peer.send("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 20; ++i) peer.send("30d40\r\n" + std::string(200'000, 'b') + "\r\n");
    peer.send("0\r\n\r\n");
    EXPECT_TRUE(peer.read_answer().ends_with("\r\n\r\n4000000"));
}

TEST(server, unix_socket_and_tcp_serve_at_once) {
    std::string folder = testing::TempDir() + "srvXXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::string path = folder + "/s";
    ServerOptions options;
    options.tcp.push_back({});
    options.unix_sockets.push_back(path);
    options.threads = 2;
    auto server = Server::start(std::move(options), [](Request request, Responder responder) {
                      responder.respond(200, request.over_unix_socket ? request.peer : "tcp");
                  }).value();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    RawSocket local(path);
    local.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(local.read_answer().ends_with("\r\n\r\nunix"));
    RawSocket remote(server->port());
    remote.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(remote.read_answer().ends_with("\r\n\r\ntcp"));

    ServerOptions second;
    second.unix_sockets.push_back(path);
    auto refused = Server::start(std::move(second), echo);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    server.reset();
    EXPECT_NE(::stat(path.c_str(), &info), 0);
    ::rmdir(folder.c_str());
}

TEST(server, stale_socket_file_is_replaced_and_other_files_are_not) {
    std::string folder = testing::TempDir() + "srvXXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::string path = folder + "/s";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(dead);
    ServerOptions options;
    options.unix_sockets.push_back(path);
    EXPECT_TRUE(
        Server::start(options.unix_sockets.empty() ? ServerOptions{} : std::move(options), echo));
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    ServerOptions again;
    again.unix_sockets.push_back(path);
    EXPECT_EQ(Server::start(std::move(again), echo).error().code, ErrorCode::conflict);
    ::rmdir(path.c_str());
    ::rmdir(folder.c_str());
}

TEST(server, port_in_use_and_wrong_address_are_errors) {
    auto server = start_server(echo);
    ServerOptions options;
    options.tcp.push_back({.port = server->port()});
    auto second = Server::start(std::move(options), echo);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, "127.0.0.1:" + std::to_string(server->port()) + " is in use");
    ServerOptions named;
    named.tcp.push_back({.address = "example"});
    EXPECT_EQ(Server::start(std::move(named), echo).error().code, ErrorCode::invalid);
}

TEST(server, stop_waits_for_running_requests_and_closes_streams) {
    std::thread later;
    Signal came, go, closed;
    Stream stream;
    auto server = start_server([&](Request request, Responder responder) {
        if (request.path == "/s") {
            stream = responder.start_stream(200, {});
            stream.on_closed([&] { closed.raise(); });
        } else {
            later = std::thread([&, responder = std::move(responder)]() mutable {
                go.wait();
                responder.respond(200, "done");
            });
        }
        came.raise();
    });
    RawSocket streaming(server->port()), waiting(server->port()), idle(server->port());
    streaming.send("GET /s HTTP/1.1\r\nHost: h\r\n\r\n");
    waiting.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(came.wait(2));
    std::thread stopper([&] { server->stop(seconds(10)); });
    EXPECT_TRUE(streaming.read_all().ends_with("0\r\n\r\n"));
    EXPECT_TRUE(closed.wait());
    EXPECT_EQ(idle.read_all(), "");
    streaming.close();
    idle.close();
    go.raise();
    std::string answer = waiting.read_all();
    EXPECT_TRUE(answer.ends_with("done")) << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), answer.npos);
    waiting.close();
    stopper.join();
    later.join();
    EXPECT_EQ(server->stats().connections, 0);
}

TEST(server, stop_without_grace_cuts_running_requests) {
    Responder kept;
    Signal came;
    auto server = start_server([&](Request, Responder responder) {
        kept = std::move(responder);
        came.raise();
    });
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(came.wait());
    server->stop(Duration{});
    EXPECT_EQ(peer.read_all(), "");
}

}  // namespace
}  // namespace tandem::http
