// SPDX-License-Identifier: Apache-2.0
#include "net/http/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tandem::http {

namespace {

constexpr int backlog = 1024;

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> numeric_address(const std::string& text, std::uint16_t port) {
    Address address;
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        address.length = sizeof *v4;
    } else if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        address.length = sizeof *v6;
    } else {
        return fail(ErrorCode::invalid,
                    "listen address must be a numeric IPv4 or IPv6 address, is '" + text + "'");
    }
    return address;
}

std::unexpected<Error> listen_error(const std::string& where, int error) {
    if (error == EADDRINUSE) return fail(ErrorCode::conflict, where + " is in use");
    if (error == EACCES)
        return fail(ErrorCode::denied, "listening on " + where + " is not permitted");
    return fail(ErrorCode::unavailable, "listening on " + where + ": " + std::strerror(error));
}

Result<Address> unix_address(const std::string& path) {
    Address address;
    auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (path.empty() || path.size() >= sizeof local->sun_path)
        return fail(ErrorCode::invalid, "unix socket path must have 1..107 bytes: '" + path + "'");
    local->sun_family = AF_UNIX;
    std::memcpy(local->sun_path, path.c_str(), path.size() + 1);
    address.length = sizeof *local;
    return address;
}

Status clear_stale(const std::string& path, const Address& address) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return {};
    if (!S_ISSOCK(info.st_mode))
        return fail(ErrorCode::conflict,
                    path + " exists and is no socket; remove it or choose another path");
    Socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // A full backlog (EAGAIN) also means that somebody listens.
    if (::connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED)
        return fail(ErrorCode::conflict, path + " is in use");
    ::unlink(path.c_str());
    return {};
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        descriptor_ = other.release();
    }
    return *this;
}
int Socket::release() {
    return std::exchange(descriptor_, -1);
}
void Socket::close() {
    if (descriptor_ >= 0) ::close(release());
}

Result<Socket> listen_tcp(const std::string& address, std::uint16_t port) {
    TANDEM_LET(at, numeric_address(address, port));
    bool v6 = at.storage.ss_family == AF_INET6;
    std::string where = (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
    Socket socket(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return listen_error(where, errno);
    int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const int v6_only = address != "::";
    if (v6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    if (::bind(socket.get(), at.get(), at.length) != 0 || ::listen(socket.get(), backlog) != 0)
        return listen_error(where, errno);
    return socket;
}

Result<Socket> listen_unix(const std::string& path) {
    TANDEM_LET(at, unix_address(path));
    TANDEM_TRY(clear_stale(path, at));
    Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return listen_error(path, errno);
    // Linux gives the file the mode of the socket's own inode, so it is never open to others, not
    // even briefly.
    if (::fchmod(socket.get(), 0600) != 0) return listen_error(path, errno);
    if (::bind(socket.get(), at.get(), at.length) != 0) return listen_error(path, errno);
    if (::chmod(path.c_str(), 0600) != 0 || ::listen(socket.get(), backlog) != 0) {
        int error = errno;
        ::unlink(path.c_str());
        return listen_error(path, error);
    }
    return socket;
}

std::uint16_t port_of(const Socket& socket) {
    Address address;
    address.length = sizeof address.storage;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
    if (address.storage.ss_family == AF_INET)
        return ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port);
    if (address.storage.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port);
    return 0;
}

std::string peer_of(int descriptor) {
    Address address;
    address.length = sizeof address.storage;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address.storage), &address.length) !=
        0)
        return "gone";
    char text[INET6_ADDRSTRLEN] = "";
    if (address.storage.ss_family == AF_INET) {
        auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        return std::string(text) + ":" + std::to_string(ntohs(v4->sin_port));
    }
    if (address.storage.ss_family == AF_INET6) {
        auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6->sin6_port));
    }
    return "unix";
}

}  // namespace tandem::http
