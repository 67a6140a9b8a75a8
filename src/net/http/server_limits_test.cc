// SPDX-License-Identifier: Apache-2.0
// What the server itself refuses: every limit and malformed requests, by raw socket.
#include <atomic>

#include "net/http/test_server.h"

namespace tandem::http {
namespace {

void ok(Request request, Responder responder) {
    responder.respond(200, "len " + std::to_string(request.body.size()));
}

struct Case {
    const char* name;
    std::string bytes;
    int status;
};

std::string with_headers(const std::string& headers) {
    return "POST / HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

std::vector<Case> cases() {
    std::string many;
    for (int i = 0; i < 100; ++i) many += "X: y\r\n";
    return {
        {"length_and_chunked", with_headers("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
         400},
        {"chunked_and_length", with_headers("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
         400},
        {"two_lengths", with_headers("Content-Length: 3\r\nContent-Length: 3\r\n"), 400},
        {"length_list", with_headers("Content-Length: 3, 3\r\n"), 400},
        {"length_negative", with_headers("Content-Length: -1\r\n"), 400},
        {"length_signed", with_headers("Content-Length: +1\r\n"), 400},
        {"length_overflow", with_headers("Content-Length: 99999999999999999999\r\n"), 400},
        {"encoding_twice",
         with_headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
        {"encoding_gzip", with_headers("Transfer-Encoding: gzip, chunked\r\n"), 501},
        {"encoding_in_1_0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"bare_lf_line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
        {"bare_lf_header", "GET / HTTP/1.1\r\nHost: h\n\r\n", 400},
        {"bare_cr", with_headers("X: a\rb\r\n"), 400},
        {"nul_in_value", with_headers(std::string("X: a\0b\r\n", 8)), 400},
        {"folded", with_headers("X: a\r\n b\r\n"), 400},
        {"folded_first", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
        {"underscore", with_headers("X_Y: a\r\n"), 400},
        {"space_before_colon", with_headers("X : a\r\n"), 400},
        {"no_colon", with_headers("X\r\n"), 400},
        {"no_host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"two_hosts", with_headers("Host: i\r\n"), 400},
        {"dot_dot", "GET /a/../b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"encoded_slash", "GET /a%2fb HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"nul_in_path", "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"space_in_target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"version_2", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
        {"garbage", "\x16\x03\x01\x02\r\n\r\n", 400},
        {"empty_lines", "\r\n\r\n\r\n\r\n\r\n\r\n", 400},
        {"connect", "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"content_encoding", with_headers("Content-Encoding: gzip\r\nContent-Length: 3\r\n"), 415},
        {"expect_other", with_headers("Expect: magic\r\n"), 417},
        {"long_line", "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
        {"long_line_unfinished", "GET /" + std::string(9000, 'a'), 414},
        {"long_header", with_headers("X: " + std::string(40'000, 'a') + "\r\n"), 431},
        {"long_header_unfinished", "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a'), 431},
        {"many_headers", with_headers(many), 431},
        {"long_body", with_headers("Content-Length: 2000000\r\n"), 413},
        {"long_chunk", with_headers("Transfer-Encoding: chunked\r\n") + "200000\r\n", 413},
        {"huge_chunk", with_headers("Transfer-Encoding: chunked\r\n") + "fffffffffffffffff\r\n",
         400},
        {"bad_chunk", with_headers("Transfer-Encoding: chunked\r\n") + "xyz\r\n", 400},
        {"chunk_overrun", with_headers("Transfer-Encoding: chunked\r\n") + "1\r\nabc\r\n", 400},
        {"endless_chunk_extension",
         with_headers("Transfer-Encoding: chunked\r\n") + "1;" + std::string(20'000, 'a'), 400},
    };
}

TEST(limits, malformed_requests_are_refused_and_the_connection_closed) {
    std::atomic<int> handled = 0;
    auto server = start_server([&](Request request, Responder responder) {
        ++handled;
        ok(std::move(request), std::move(responder));
    });
    for (const Case& row : cases()) {
        RawSocket peer(server->port());
        peer.send(row.bytes);
        std::string answer = peer.read_all();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(row.status) + " "))
            << row.name << ": " << answer;
        EXPECT_NE(answer.find("Content-Type: application/problem+json\r\n"), answer.npos)
            << row.name;
        EXPECT_NE(answer.find("Connection: close\r\n"), answer.npos) << row.name;
    }
    EXPECT_EQ(handled, 0);
    EXPECT_EQ(server->stats().refused, cases().size());
}

TEST(limits, exactly_at_the_bounds_is_served) {
    auto server = start_server(ok);
    std::string many;
    for (int i = 0; i < 98; ++i) many += "X: y\r\n";
    RawSocket peer(server->port());
    peer.send(with_headers(many + "Content-Length: 1048576\r\n") + std::string(1048576, 'x'));
    EXPECT_TRUE(peer.read_answer().ends_with("len 1048576"));
    std::string line = "GET /" + std::string(8192 - 5 - 10, 'a') + " HTTP/1.1\r\n";
    peer.send(line + "Host: h\r\n\r\n");
    EXPECT_TRUE(peer.read_answer().ends_with("len 0"));
}

TEST(limits, refused_upload_still_gets_its_answer) {
    auto server = start_server(ok);
    RawSocket peer(server->port());
    std::string body(4'000'000, 'x');  // sent in full although it is refused at once
    peer.send(with_headers("Content-Length: 4000000\r\n") + body);
    EXPECT_TRUE(peer.read_all().starts_with("HTTP/1.1 413 "));
}

TEST(limits, truncated_requests_never_reach_the_handler) {
    std::atomic<int> handled = 0;
    auto server = start_server([&](Request request, Responder responder) {
        ++handled;
        ok(std::move(request), std::move(responder));
    });
    for (std::string_view part :
         {"G", "GET / HTTP/1.1\r\nHost: h\r\n",
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc",
          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
        RawSocket peer(server->port());
        peer.send(part);
        peer.end_writing();
        EXPECT_EQ(peer.read_all(), "") << part;
    }
    EXPECT_EQ(handled, 0);
}

TEST(limits, half_closed_peer_still_gets_its_answer) {
    auto server = start_server(ok);
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    peer.end_writing();
    EXPECT_TRUE(peer.read_all().ends_with("len 0"));
}

TEST(limits, gate_raises_the_body_limit_or_refuses) {
    ServerOptions options;
    options.tcp.push_back({});
    options.limits.body_max = 10;
    options.body_gate = [](const Request& request) -> BodyVerdict {
        if (request.headers.get_or("Authorization") != "yes")
            return {.refusal = problem(401, "who are you?")};
        return {.body_max = 20};
    };
    auto server = Server::start(std::move(options), ok).value();
    RawSocket allowed(server->port());
    allowed.send(with_headers("Authorization: yes\r\nContent-Length: 20\r\n") +
                 std::string(20, 'x'));
    EXPECT_TRUE(allowed.read_answer().ends_with("len 20"));
    allowed.send(with_headers("Authorization: yes\r\nContent-Length: 21\r\n"));
    EXPECT_TRUE(allowed.read_answer().starts_with("HTTP/1.1 413 "));
    RawSocket denied(server->port());
    denied.send(with_headers("Expect: 100-continue\r\nContent-Length: 20\r\n"));
    EXPECT_TRUE(denied.read_all().starts_with("HTTP/1.1 401 "));
}

TEST(limits, slow_head_and_slow_body_are_answered_408) {
    Limits limits;
    limits.header_deadline = milliseconds(50);
    limits.body_grace = milliseconds(50);
    auto server = start_server(ok, limits);
    RawSocket head(server->port());
    head.send("GET / HT");
    EXPECT_TRUE(head.read_all().starts_with("HTTP/1.1 408 "));
    RawSocket body(server->port());
    body.send(with_headers("Content-Length: 5\r\n") + "abc");
    EXPECT_TRUE(body.read_all().starts_with("HTTP/1.1 408 "));
}

TEST(limits, body_that_keeps_the_rate_outlives_the_grace) {
    Limits limits;
    limits.body_grace = milliseconds(1);
    limits.body_rate_min = 10;  // 100 bytes earn 10 s
    auto server = start_server(ok, limits);
    RawSocket peer(server->port());
    peer.send(with_headers("Content-Length: 101\r\n") + std::string(100, 'x'));
    EXPECT_EQ(::poll(nullptr, 0, 50), 0);
    peer.send("x");
    EXPECT_TRUE(peer.read_answer().ends_with("len 101"));
}

TEST(limits, idle_connection_is_closed_silently) {
    Limits limits;
    limits.idle_max = milliseconds(50);
    auto server = start_server(ok, limits);
    RawSocket fresh(server->port());
    EXPECT_EQ(fresh.read_all(), "");
    RawSocket used(server->port());
    used.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(used.read_all().ends_with("len 0"));
}

TEST(limits, peer_that_takes_no_answer_is_dropped) {
    Limits limits;
    limits.write_stall_max = milliseconds(50);
    auto server = start_server(
        [](Request, Responder responder) { responder.respond(200, std::string(20'000'000, 'x')); },
        limits);
    RawSocket peer(server->port(), 4096);
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 500 && (server->stats().requests == 0 || server->stats().connections > 0);
         ++i)
        ::poll(nullptr, 0, 20);
    EXPECT_EQ(server->stats().connections, 0);
}

TEST(limits, connection_beyond_the_limit_gets_503) {
    Limits limits;
    limits.connections_max = 1;
    auto server = start_server(ok, limits);
    RawSocket first(server->port());
    first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    first.read_answer();
    RawSocket second(server->port());
    second.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(second.read_all().starts_with("HTTP/1.1 503 "));
}

}  // namespace
}  // namespace tandem::http
