// SPDX-License-Identifier: Apache-2.0
#include "rest_line.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tandem::bench {
namespace {

[[noreturn]] void give_up(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

}  // namespace

RestLine::RestLine(int port, std::string key) : fd_(::socket(AF_INET, SOCK_STREAM, 0)), key_(std::move(key)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("can't connect to the server");
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval wait{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

RestLine::~RestLine() { ::close(fd_); }

std::string RestLine::exchange(std::string_view request) {
    while (!request.empty()) {
        const ssize_t sent = ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL);
        if (sent <= 0) give_up("the server takes nothing more");
        request.remove_prefix(static_cast<std::size_t>(sent));
    }
    std::size_t head = 0;
    std::size_t length = 0;
    while (true) {
        head = in_.find("\r\n\r\n");
        if (head != std::string::npos) {
            const char* field = ::strcasestr(in_.c_str(), "\r\ncontent-length:");
            length = head + 4 + (field == nullptr ? 0 : std::strtoul(field + 17, nullptr, 10));
            if (in_.size() >= length) break;
        }
        char bytes[65536];
        const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
        if (got <= 0) give_up("the server gives no answer");
        in_.append(bytes, static_cast<std::size_t>(got));
    }
    if (in_.compare(9, 1, "2") != 0) give_up(in_.substr(0, 600));
    std::string body = in_.substr(head + 4, length - head - 4);
    in_.erase(0, length);
    return body;
}

std::string RestLine::get(const std::string& path) {
    return exchange("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key_ + "\r\n\r\n");
}

void RestLine::post_batch(std::string_view body, const std::string& identity) {
    std::string request = "POST /api/v1/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key_ +
                          "\r\nIdempotency-Key: " + identity + "\r\nContent-Type: application/json\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n";
    request += body;
    exchange(request);
}

}  // namespace tandem::bench
