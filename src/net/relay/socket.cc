// SPDX-License-Identifier: Apache-2.0
#include "net/relay/socket.h"

#include <algorithm>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/quantity.h"

namespace tandem::relay {
namespace {

constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// An address in the form that its kind of socket takes.
struct SystemAddress {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

SystemAddress address_of(const Endpoint& endpoint) {
    SystemAddress result;
    if (endpoint.ipv4()) {
        auto& address = reinterpret_cast<sockaddr_in&>(result.bytes);
        address.sin_family = AF_INET;
        address.sin_port = htons(endpoint.port);
        std::memcpy(&address.sin_addr, endpoint.address.data() + mapped.size(), 4);
        result.size = sizeof address;
    } else {
        auto& address = reinterpret_cast<sockaddr_in6&>(result.bytes);
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(endpoint.port);
        std::memcpy(&address.sin6_addr, endpoint.address.data(), endpoint.address.size());
        result.size = sizeof address;
    }
    return result;
}

Endpoint endpoint_of(const sockaddr_storage& bytes) {
    Endpoint endpoint;
    if (bytes.ss_family == AF_INET) {
        const auto& address = reinterpret_cast<const sockaddr_in&>(bytes);
        std::memcpy(endpoint.address.data() + mapped.size(), &address.sin_addr, 4);
        endpoint.port = ntohs(address.sin_port);
    } else {
        const auto& address = reinterpret_cast<const sockaddr_in6&>(bytes);
        std::memcpy(endpoint.address.data(), &address.sin6_addr, endpoint.address.size());
        endpoint.port = ntohs(address.sin6_port);
    }
    return endpoint;
}

int family_of(const Endpoint& endpoint) {
    return endpoint.ipv4() ? AF_INET : AF_INET6;
}

std::unexpected<Error> os_error(std::string_view doing) {
    return fail(ErrorCode::unavailable, fmt::format("{}: {}", doing, std::strerror(errno)));
}

void set_flag(int fd, int level, int option, int value = 1) {
    ::setsockopt(fd, level, option, &value, sizeof value);
}

// "HOST:PORT" and "[HOST]:PORT" taken apart.
Result<std::pair<std::string, std::uint16_t>> split(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return fail(ErrorCode::invalid, fmt::format("must be ADDRESS:PORT, is \"{}\"", text));
    const auto port = parse_integer(text.substr(colon + 1));
    if (!port || *port < 0 || *port > 65535)
        return fail(ErrorCode::invalid, fmt::format("port must be 0..65535 in \"{}\"", text));
    return std::pair(std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*port));
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
    TANDEM_LET(parts, split(text));
    auto& [host, port] = parts;
    Endpoint endpoint{.port = port};
    if (host == "localhost") return endpoint;
    if (host.starts_with('[') && host.ends_with(']')) {
        if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(),
                        endpoint.address.data()) == 1)
            return endpoint;
    } else if (::inet_pton(AF_INET, host.c_str(), endpoint.address.data() + mapped.size()) == 1) {
        return endpoint;
    }
    return fail(ErrorCode::invalid,
                fmt::format("address must be IPv4, [IPv6] or localhost, is \"{}\"", host));
}

Result<std::vector<Endpoint>> parse_listen(std::string_view text) {
    TANDEM_LET(first, Endpoint::parse(text));
    std::vector<Endpoint> result{first};
    if (!text.starts_with("localhost:")) return result;
    Endpoint second{.address = {}, .port = first.port};
    second.address.back() = 1;
    result.push_back(second);
    return result;
}

bool Endpoint::ipv4() const {
    return std::equal(mapped.begin(), mapped.end(), address.begin());
}

bool Endpoint::any() const {
    const auto begin = address.begin() + (ipv4() ? mapped.size() : 0);
    return std::all_of(begin, address.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool Endpoint::loopback() const {
    if (ipv4()) return address[mapped.size()] == 127;
    return address.back() == 1 && std::all_of(address.begin(), address.end() - 1,
                                              [](std::uint8_t byte) { return byte == 0; });
}

Endpoint Endpoint::network() const {
    Endpoint result{.address = address, .port = 0};
    if (!ipv4()) std::fill(result.address.begin() + 8, result.address.end(), std::uint8_t{0});
    return result;
}

std::string Endpoint::text() const {
    char host[INET6_ADDRSTRLEN] = {};
    if (ipv4()) {
        ::inet_ntop(AF_INET, address.data() + mapped.size(), host, sizeof host);
        return fmt::format("{}:{}", host, port);
    }
    ::inet_ntop(AF_INET6, address.data(), host, sizeof host);
    return fmt::format("[{}]:{}", host, port);
}

Result<Fd> listen_tcp(const Endpoint& endpoint) {
    Fd socket(::socket(family_of(endpoint), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket && errno == EAFNOSUPPORT && !endpoint.ipv4() && endpoint.any()) {
        Endpoint without_ipv6{.port = endpoint.port};
        std::fill(without_ipv6.address.begin() + mapped.size(), without_ipv6.address.end(),
                  std::uint8_t{0});
        return listen_tcp(without_ipv6);
    }
    if (!socket) return os_error(fmt::format("listening on {}", endpoint.text()));
    set_flag(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    set_flag(socket.get(), SOL_SOCKET, SO_REUSEPORT);
    if (!endpoint.ipv4()) set_flag(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, endpoint.any() ? 0 : 1);
    const auto address = address_of(endpoint);
    if (::bind(socket.get(), address.get(), address.size) != 0 || ::listen(socket.get(), 4096) != 0)
        return os_error(fmt::format("listening on {}", endpoint.text()));
    return socket;
}

bool has_address(const Endpoint& endpoint) {
    const Fd probe(::socket(family_of(endpoint), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = address_of({.address = endpoint.address, .port = 0});
    return probe && ::bind(probe.get(), address.get(), address.size) == 0;
}

Status check_port_is_free(const Endpoint& endpoint) {
    if (endpoint.port == 0) return {};
    const Fd probe(::socket(family_of(endpoint), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!probe) return {};  // listening will say what is wrong
    set_flag(probe.get(), SOL_SOCKET,
             SO_REUSEADDR);  // waiting rests of old connections don't count
    if (!endpoint.ipv4()) set_flag(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, endpoint.any() ? 0 : 1);
    const auto address = address_of(endpoint);
    if (::bind(probe.get(), address.get(), address.size) == 0) return {};
    return fail(ErrorCode::conflict, endpoint.text() + " is in use or not this machine's");
}

Result<std::uint16_t> local_port(const Fd& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return os_error("asking for the port");
    return endpoint_of(address).port;
}

Accepted accept_tcp(const Fd& listener) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    Accepted result;
    int fd = -1;
    do {
        fd = ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address), &size,
                       SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0) {
        result.exhausted =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return result;
    }
    set_flag(fd, IPPROTO_TCP, TCP_NODELAY);
    result.socket = Fd(fd);
    result.peer = endpoint_of(address);
    return result;
}

Result<Fd> connect_tcp(const Endpoint& endpoint) {
    Fd socket(::socket(family_of(endpoint), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return os_error("opening a socket");
    set_flag(socket.get(), IPPROTO_TCP, TCP_NODELAY);
    const auto address = address_of(endpoint);
    const int rc = ::connect(socket.get(), address.get(), address.size);
    if (rc != 0 && errno != EINPROGRESS)
        return os_error(fmt::format("connecting to {}", endpoint.text()));
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
