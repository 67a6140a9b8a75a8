// SPDX-License-Identifier: Apache-2.0
#include "net/http/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tandem::http {

namespace {

Result<std::vector<Endpoint>> look_up(const Url& url, int flags) {
    std::vector<Endpoint> found;
    if (url.scheme == Scheme::unix_socket) {
        Endpoint endpoint;
        auto* local = reinterpret_cast<sockaddr_un*>(&endpoint.storage);
        if (url.path.size() >= sizeof local->sun_path)
            return cannot_connect(url, "the socket's path is longer than 107 bytes");
        local->sun_family = AF_UNIX;
        std::memcpy(local->sun_path, url.path.c_str(), url.path.size() + 1);
        endpoint.length = sizeof *local;
        found.push_back(endpoint);
        return found;
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    addrinfo* list = nullptr;
    int error = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &list);
    if (error == EAI_NONAME && (flags & AI_NUMERICHOST)) return found;
    if (error != 0)
        return cannot_connect(url, std::string("looking up the host: ") + ::gai_strerror(error));
    for (addrinfo* entry = list; entry && found.size() < 8; entry = entry->ai_next) {
        Endpoint endpoint;
        std::memcpy(&endpoint.storage, entry->ai_addr, entry->ai_addrlen);
        endpoint.length = entry->ai_addrlen;
        found.push_back(endpoint);
    }
    ::freeaddrinfo(list);
    return found;
}

bool clean_text(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
    });
}

bool token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
}

}  // namespace

std::unexpected<Error> cannot_connect(const Url& url, const std::string& reason) {
    return fail(ErrorCode::unavailable, "can't connect to " + render_url(url) + ": " + reason);
}

Result<std::vector<Endpoint>> numeric_endpoints(const Url& url) {
    return look_up(url, AI_NUMERICHOST);
}
Result<std::vector<Endpoint>> resolve_endpoints(const Url& url) {
    return look_up(url, 0);
}

Result<Dialled> begin_connect(const Endpoint& endpoint, const Url& url) {
    Dialled dialled;
    int family = endpoint.storage.ss_family;
    dialled.socket = Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!dialled.socket) return cannot_connect(url, std::strerror(errno));
    if (family != AF_UNIX) {
        int on = 1;
        ::setsockopt(dialled.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.storage);
    if (::connect(dialled.socket.get(), address, endpoint.length) == 0) return dialled;
    if (errno != EINPROGRESS) return cannot_connect(url, std::strerror(errno));
    dialled.in_progress = true;
    return dialled;
}

Status finish_connect(const Socket& socket, const Url& url) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return cannot_connect(url, std::strerror(error));
    return {};
}

bool is_stale(const Socket& idle) {
    pollfd ready{idle.get(), POLLIN, 0};
    return ::poll(&ready, 1, 0) != 0;
}

bool may_repeat(const Call& call) {
    for (std::string_view method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
        if (call.method == method) return true;
    return call.headers.find("Idempotency-Key").has_value();
}

Result<std::string> render_call_head(const Url& url, const Call& call) {
    if (!token(call.method)) return invalid_field("method", "must be an HTTP method such as GET");
    if (!call.target.starts_with('/') || !clean_text(call.target) ||
        call.target.find(' ') != std::string::npos)
        return invalid_field("target", "must start with '/' and be percent-encoded");
    std::string head = call.method + " ";
    if (url.scheme != Scheme::unix_socket) head += url.path;
    head += call.target + " HTTP/1.1\r\nHost: " + authority_of(url) + "\r\n";
    for (const auto& [name, value] : call.headers) {
        if (!token(name) || !clean_text(value))
            return invalid_field("headers",
                                 "a header name or value holds characters that are not allowed");
        if (same_name(name, "Host") || same_name(name, "Content-Length") ||
            same_name(name, "Connection"))
            continue;
        head += name + ": " + value + "\r\n";
    }
    bool body_expected = call.method == "POST" || call.method == "PUT" || call.method == "PATCH";
    if (!call.body.empty() || body_expected)
        head += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
    return head + "\r\n";
}

}  // namespace tandem::http
