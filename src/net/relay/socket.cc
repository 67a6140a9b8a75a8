// SPDX-License-Identifier: Apache-2.0
#include "net/relay/socket.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/quantity.h"

namespace tandem::relay {
namespace {

sockaddr_in address_of(const Endpoint& endpoint) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    address.sin_addr.s_addr = htonl(endpoint.address);
    return address;
}

std::unexpected<Error> os_error(std::string_view doing) {
    return fail(ErrorCode::unavailable, fmt::format("{}: {}", doing, std::strerror(errno)));
}

void set_flag(int fd, int level, int option) {
    const int one = 1;
    ::setsockopt(fd, level, option, &one, sizeof one);
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

void Fd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

int Fd::release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return fail(ErrorCode::invalid, fmt::format("must be ADDRESS:PORT, is \"{}\"", text));
    auto port = parse_integer(text.substr(colon + 1));
    if (!port || *port < 0 || *port > 65535)
        return fail(ErrorCode::invalid, fmt::format("port must be 0..65535 in \"{}\"", text));
    std::string host(text.substr(0, colon));
    if (host == "localhost") host = "127.0.0.1";
    in_addr parsed{};
    if (::inet_pton(AF_INET, host.c_str(), &parsed) != 1)
        return fail(ErrorCode::invalid, fmt::format("address must be IPv4 or localhost, is \"{}\"", host));
    return Endpoint{.address = ntohl(parsed.s_addr), .port = static_cast<std::uint16_t>(*port)};
}

std::string Endpoint::text() const {
    return fmt::format("{}.{}.{}.{}:{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                       address & 255, port);
}

Result<Fd> listen_tcp(const Endpoint& endpoint) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return os_error("opening a socket");
    set_flag(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    set_flag(socket.get(), SOL_SOCKET, SO_REUSEPORT);
    const auto address = address_of(endpoint);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return os_error(fmt::format("listening on {}", endpoint.text()));
    if (::listen(socket.get(), 4096) != 0) return os_error(fmt::format("listening on {}", endpoint.text()));
    return socket;
}

Result<std::uint16_t> local_port(const Fd& socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return os_error("asking for the port");
    return ntohs(address.sin_port);
}

Accepted accept_tcp(const Fd& listener) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    Accepted result;
    int fd = -1;
    do {
        fd = ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address), &size,
                       SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0) {
        result.exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return result;
    }
    set_flag(fd, IPPROTO_TCP, TCP_NODELAY);
    result.socket = Fd(fd);
    result.peer = Endpoint{.address = ntohl(address.sin_addr.s_addr), .port = ntohs(address.sin_port)};
    return result;
}

Result<Fd> connect_tcp(const Endpoint& endpoint) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return os_error("opening a socket");
    set_flag(socket.get(), IPPROTO_TCP, TCP_NODELAY);
    const auto address = address_of(endpoint);
    const int rc = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (rc != 0 && errno != EINPROGRESS) return os_error(fmt::format("connecting to {}", endpoint.text()));
    return socket;
}

int connect_result(const Fd& socket) {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
}

int descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        ::getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur > 1'000'000 ? 1'000'000 : static_cast<int>(limit.rlim_cur);
}

}  // namespace tandem::relay
