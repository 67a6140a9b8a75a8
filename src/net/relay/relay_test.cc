// SPDX-License-Identifier: Apache-2.0
// Server and upstream pool over loopback: a handler that forwards to an upstream of the test's own,
// clients that are plain blocking sockets. Every wait ends by an event or a receive timeout of 5 s
// that fails the test.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "net/relay/server.h"
#include "net/relay/upstream.h"

namespace tandem::relay {
namespace {

// A blocking socket with a deadline.
class Peer {
  public:
    explicit Peer(int fd) : fd_(fd) {
        const timeval limit{.tv_sec = 5, .tv_usec = 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    static Peer to(std::uint16_t port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        return Peer(fd);
    }
    void send(std::string_view text) {
        while (!text.empty()) {
            const auto n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (n <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    // Reads until `mark` is seen; everything read so far, or "" at the end of the stream.
    std::string read_until(std::string_view mark) {
        while (true) {
            if (const auto at = text_.find(mark); at != std::string::npos) {
                const auto end = at + mark.size();
                auto result = text_.substr(0, end);
                text_.erase(0, end);
                return result;
            }
            char buffer[65536];
            const auto n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
            if (n <= 0) return {};
            text_.append(buffer, static_cast<std::size_t>(n));
        }
    }
    std::string read_to_end() {
        char buffer[65536];
        while (true) {
            const auto n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
            if (n < 0) return "TIMEOUT or reset";
            if (n == 0) return std::exchange(text_, {});
            text_.append(buffer, static_cast<std::size_t>(n));
        }
    }
    // Corked, so that the last bytes and the end leave in one segment.
    void send_and_half_close(std::string_view text) {
        const int on = 1;
        ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
        send(text);
        ::shutdown(fd_.get(), SHUT_WR);
    }
    bool sees_end() { return read_to_end() != "TIMEOUT or reset"; }
    void close() { fd_.reset(); }

  private:
    Fd fd_;
    std::string text_;
};

class Listener {
  public:
    Listener() {
        fd_ = Fd(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd_.get(), 16), 0);
        port_ = *local_port(fd_);
    }
    std::uint16_t port() const { return port_; }
    Peer accept() {
        pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&wait, 1, 5000), 1) << "nobody connected";
        return Peer(::accept(fd_.get(), nullptr, nullptr));
    }
    void close() { fd_.reset(); }

  private:
    Fd fd_;
    std::uint16_t port_ = 0;
};

struct Shared {
    Endpoint upstream;
    CallTimeouts timeouts;
    std::atomic<int> gone{0};
    std::atomic<int> failures{0};
    std::atomic<std::size_t> most_unsent{0};
};

// Forwards a request to the upstream, answers as it answers.
class Forwarding final : public RequestSink, public ResponseSink {
  public:
    Forwarding(Shared& shared, UpstreamPool& pool, Exchange& exchange)
        : shared_(shared), pool_(pool), exchange_(exchange) {}
    void on_body(std::string_view piece) override { body_.append(piece); }
    void on_body_end() override {
        head_ = "POST /x HTTP/1.1\r\nHost: u\r\nContent-Length: " + std::to_string(body_.size()) +
                "\r\n\r\n";
        call_ = pool_.call(shared_.upstream, {head_, body_}, shared_.timeouts, *this);
    }
    void on_drained() override { call_.resume(); }
    void on_client_gone() override {
        ++shared_.gone;
        call_.abort();
    }
    void on_response(const ResponseHead& head) override {
        exchange_.start(
            {.status = head.status,
             .content_length = head.framing == Framing::length ? head.content_length : -1});
    }
    void on_response_body(std::string_view piece) override {
        exchange_.send(piece);
        shared_.most_unsent = std::max(shared_.most_unsent.load(), exchange_.unsent());
        if (exchange_.unsent() > high_water) call_.pause();
    }
    void on_response_end() override {
        call_.clear();
        exchange_.finish();
    }
    void on_upstream_failed(UpstreamFailure failure) override {
        call_.clear();
        ++shared_.failures;
        if (exchange_.started()) return exchange_.abort();
        exchange_.respond({.status = 502}, name_of(failure));
    }

  private:
    Shared& shared_;
    UpstreamPool& pool_;
    Exchange& exchange_;
    std::string head_, body_;
    UpstreamCall call_;
};

class ForwardingHandler final : public Handler {
  public:
    ForwardingHandler(Shared& shared, Loop& loop) : shared_(shared), pool_(loop) {}
    std::unique_ptr<RequestSink> on_request(const RequestHead& head, Exchange& exchange) override {
        if (head.path == "/now") {
            exchange.respond({}, "now");
            return nullptr;
        }
        return std::make_unique<Forwarding>(shared_, pool_, exchange);
    }
    std::int64_t body_bytes_max(const RequestHead&) const override { return 1 << 20; }
    std::string render_refusal(int, std::string_view what) const override {
        return "{\"refused\":\"" + std::string(what) + "\"}";
    }

  private:
    Shared& shared_;
    UpstreamPool pool_;
};

class Relay : public testing::Test {
  protected:
    void serve(ServerLimits limits = {}) {
        shared_.upstream = {.port = upstream_.port()};
        auto started = Server::start({.limits = limits}, [this](Loop& loop, int) {
            return std::make_unique<ForwardingHandler>(shared_, loop);
        });
        ASSERT_TRUE(started) << started.error().message;
        server_ = std::move(*started);
    }
    Peer client() { return Peer::to(server_->endpoint().port); }
    template <class Condition>
    bool eventually(Condition condition) {
        for (int i = 0; i < 500; ++i) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }

    Shared shared_;
    Listener upstream_;
    std::unique_ptr<Server> server_;
};

const std::string post = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";

TEST_F(Relay, request_and_answer_pass_and_connections_are_kept) {
    serve();
    auto client_peer = client();
    client_peer.send(post);
    auto server_peer = upstream_.accept();
    for (int i = 0; i < 3; ++i) {
        if (i) client_peer.send(post);
        EXPECT_TRUE(server_peer.read_until("hello").ends_with("\r\n\r\nhello"));
        server_peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        EXPECT_TRUE(client_peer.read_until("abc").starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

TEST_F(Relay, pipelined_requests_are_answered_in_order) {
    serve();
    auto peer = client();
    peer.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\n" + post +
              "GET /now HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(peer.read_until("now").ends_with("\r\n\r\nnow"));
    auto server_peer = upstream_.accept();
    server_peer.read_until("hello");
    server_peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_TRUE(peer.read_until("abc").ends_with("\r\n\r\nabc"));
    EXPECT_TRUE(peer.read_until("now").ends_with("\r\n\r\nnow"));
}

TEST_F(Relay, chunked_both_ways_keeps_the_bytes) {
    serve();
    auto peer = client();
    peer.send(
        "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
    auto server_peer = upstream_.accept();
    EXPECT_NE(server_peer.read_until("hello"), "");
    server_peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none,\r\n");
    EXPECT_NE(peer.read_until("4\r\none,\r\n"), "") << "the first piece is not held back";
    server_peer.send("3\r\ntwo\r\n0\r\n\r\n");
    EXPECT_EQ(peer.read_until("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
}

TEST_F(Relay, malformed_request_gets_400_and_a_close) {
    serve();
    auto peer = client();
    peer.send(
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n");
    const auto answer = peer.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    EXPECT_NE(answer.find("{\"refused\""), std::string::npos);
    EXPECT_EQ(server_->counters().malformed, 1);
}

TEST_F(Relay, body_over_the_limit_gets_413_before_it_is_read) {
    serve();
    auto peer = client();
    peer.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99000000\r\n\r\nabc");
    EXPECT_TRUE(peer.read_to_end().starts_with("HTTP/1.1 413 "));
}

TEST_F(Relay, client_that_goes_aborts_the_upstream_at_once) {
    serve();
    auto peer = client();
    peer.send(post);
    auto server_peer = upstream_.accept();
    server_peer.read_until("hello");
    server_peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none,\r\n");
    EXPECT_NE(peer.read_until("one,"), "");
    peer.close();
    server_peer.read_to_end();  // returns at the end of the stream, or fails by its timeout
    EXPECT_TRUE(eventually([&] { return shared_.gone == 1; }));
}

TEST_F(Relay, dead_kept_connection_is_replaced_unseen) {
    serve();
    auto peer = client();
    peer.send(post);
    auto first = upstream_.accept();
    first.read_until("hello");
    first.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    peer.read_until("abc");
    peer.send(post);
    first.read_until("hello");
    first.close();  // takes the request and dies without a byte
    auto second = upstream_.accept();
    EXPECT_NE(second.read_until("hello"), "");
    second.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz");
    EXPECT_NE(peer.read_until("xyz"), "");
    EXPECT_EQ(shared_.failures, 0);
}

// The end often comes together with the last bytes, and is told only once: such a connection is not
// kept. The half-closed peer would take a next request and never answer it.
TEST_F(Relay, connection_whose_end_came_with_the_answer_is_not_used_again) {
    serve();
    auto peer = client();
    peer.send(post);
    auto first = upstream_.accept();
    first.read_until("hello");
    first.send_and_half_close("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_NE(peer.read_until("abc"), "");
    peer.send(post);
    auto second = upstream_.accept();
    EXPECT_NE(second.read_until("hello"), "");
    second.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz");
    EXPECT_NE(peer.read_until("xyz"), "");
}

TEST_F(Relay, upstream_failures_are_told_apart) {
    shared_.timeouts.first_byte = milliseconds(50);
    shared_.timeouts.idle = milliseconds(50);
    serve();
    auto peer = client();
    peer.send(post);
    auto silent = upstream_.accept();
    EXPECT_NE(peer.read_until("first_byte_timeout"), "");
    EXPECT_TRUE(silent.sees_end());
    peer.send(post);
    auto closing = upstream_.accept();
    closing.read_until("hello");
    closing.close();
    EXPECT_NE(peer.read_until("closed_early"), "");
    peer.send(post);
    auto garbled = upstream_.accept();
    garbled.send("SMTP hello\r\n\r\n");
    EXPECT_NE(peer.read_until("malformed"), "");
    peer.send(post);
    auto stuck = upstream_.accept();
    stuck.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    EXPECT_NE(peer.read_until("1\r\na\r\n"), "");
    EXPECT_EQ(peer.read_until("0\r\n\r\n"), "") << "an idle stream is cut, not ended properly";
    upstream_.close();
    auto other = client();
    other.send(post);
    EXPECT_NE(other.read_until("unreachable"), "");
}

TEST_F(Relay, slow_reader_holds_its_upstream_back) {
    serve();
    auto peer = client();
    peer.send(post);
    auto server_peer = upstream_.accept();
    server_peer.read_until("hello");
    const std::size_t total = 32 << 20;
    auto sending = std::async(std::launch::async, [&] {
        server_peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(total) +
                         "\r\n\r\n");
        server_peer.send(std::string(total, 'x'));
    });
    EXPECT_EQ(sending.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
    EXPECT_NE(peer.read_until("\r\n\r\n"), "");
    std::size_t got = 0;
    while (got < total) {
        const auto part = peer.read_until("x");
        if (part.empty()) break;
        got += part.size();
        if (got > 1000) break;
    }
    server_->stop(
        milliseconds(0));  // also proves that a blocked exchange does not hold up the stop
    sending.get();
    EXPECT_LE(shared_.most_unsent, high_water + 64 * 1024 + 64);
}

TEST_F(Relay, slow_heads_and_bodies_are_timed_out) {
    serve({.head_timeout = milliseconds(50), .body_grace = milliseconds(50)});
    auto peer = client();
    peer.send("POST /x HT");
    EXPECT_TRUE(peer.read_to_end().starts_with("HTTP/1.1 408 "));
    auto other = client();
    other.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nhel");
    EXPECT_TRUE(other.read_to_end().starts_with("HTTP/1.1 408 "));
}

TEST_F(Relay, requests_per_connection_end_with_a_close) {
    serve({.requests_per_connection = 2});
    auto peer = client();
    peer.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\nGET /now HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(peer.read_until("now").find("close"), std::string::npos);
    EXPECT_NE(peer.read_to_end().find("Connection: close"), std::string::npos);
}

TEST_F(Relay, old_version_gets_an_unframed_stream) {
    serve();
    auto peer = client();
    peer.send("POST /x HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello");
    auto server_peer = upstream_.accept();
    server_peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none,\r\n0\r\n\r\n");
    EXPECT_TRUE(peer.read_to_end().ends_with("\r\n\r\none,"));
}

TEST_F(Relay, expectation_is_met_before_the_body) {
    serve();
    auto peer = client();
    peer.send("POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    peer.send("hello");
    auto server_peer = upstream_.accept();
    EXPECT_NE(server_peer.read_until("hello"), "");
}

TEST_F(Relay, stop_lets_a_running_answer_end) {
    serve();
    auto peer = client();
    peer.send(post);
    auto server_peer = upstream_.accept();
    server_peer.read_until("hello");
    auto stopping = std::async(std::launch::async, [&] { server_->stop(seconds(5)); });
    EXPECT_EQ(stopping.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    server_peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_TRUE(peer.read_to_end().ends_with("abc"));
    stopping.get();
}

TEST(RelayServer, several_loops_share_one_port) {
    Shared shared;
    auto server = Server::start({.threads = 3}, [&](Loop& loop, int) {
        return std::make_unique<ForwardingHandler>(shared, loop);
    });
    ASSERT_TRUE(server);
    for (int i = 0; i < 20; ++i) {
        auto peer = Peer::to((*server)->endpoint().port);
        peer.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_NE(peer.read_until("now"), "");
    }
    EXPECT_EQ((*server)->counters().accepted, 20);
}

}  // namespace
}  // namespace tandem::relay
