// SPDX-License-Identifier: Apache-2.0
// For tests of net/http: a raw socket that speaks whatever bytes it is given, and a server on a
// free port. Every read has a deadline of 10 s; a test that needs longer has failed.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "net/http/server.h"

namespace tandem::http {

class RawSocket {
  public:
    explicit RawSocket(std::uint16_t port, int receive_buffer = 0) {
        descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer)
            ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                         sizeof receive_buffer);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    explicit RawSocket(const std::string& path) {
        descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~RawSocket() { close(); }
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    void end_writing() { ::shutdown(descriptor_, SHUT_WR); }
    void close() {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }
    // Some more bytes; empty at the end or after 10 s.
    std::string read_some() {
        pollfd wait{descriptor_, POLLIN, 0};
        if (::poll(&wait, 1, 10'000) != 1) {
            ADD_FAILURE() << "nothing came within 10 s";
            return {};
        }
        char buffer[65536];
        ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, 0);
        return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
    }
    // What came up to and with `mark`; what came behind it is kept.
    std::string read_to(std::string_view mark) {
        while (kept_.find(mark) == kept_.npos) {
            std::string more = read_some();
            if (more.empty()) return std::exchange(kept_, {});
            kept_ += more;
        }
        std::size_t end = kept_.find(mark) + mark.size();
        std::string text = kept_.substr(0, end);
        kept_.erase(0, end);
        return text;
    }
    std::string read_all() {
        std::string all = std::exchange(kept_, {});
        for (std::string more = read_some(); !more.empty(); more = read_some()) all += more;
        return all;
    }
    // One answer with Content-Length: head and body.
    std::string read_answer() {
        std::string head = read_to("\r\n\r\n");
        std::size_t at = head.find("Content-Length: ");
        std::size_t length = at == head.npos ? 0 : std::stoul(head.substr(at + 16));
        while (kept_.size() < length) {
            std::string more = read_some();
            if (more.empty()) break;
            kept_ += more;
        }
        std::string body = kept_.substr(0, length);
        kept_.erase(0, body.size());
        return head + body;
    }
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_ = -1;
    std::string kept_;
};

// Waits for something that another thread announces; fails after 10 s.
class Signal {
  public:
    void raise() {
        std::scoped_lock lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    bool wait(int count = 1) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return count_ >= count; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

inline std::unique_ptr<Server> start_server(Handler handler, Limits limits = {}, int threads = 1) {
    ServerOptions options;
    options.tcp.push_back({});
    options.limits = limits;
    options.threads = threads;
    auto server = Server::start(std::move(options), std::move(handler));
    EXPECT_TRUE(server) << server.error().message;
    return std::move(*server);
}

}  // namespace tandem::http
