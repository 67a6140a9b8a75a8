// SPDX-License-Identifier: Apache-2.0
#include "executor/local/shim_link.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace tandem::executor {

ShimLink::~ShimLink() {
    close();
}

ShimLink::ShimLink(ShimLink&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), in_(std::move(other.in_)) {}

ShimLink& ShimLink::operator=(ShimLink&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(in_, other.in_);
    return *this;
}

void ShimLink::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    in_.clear();
}

bool ShimLink::open(int folder_fd, std::int64_t push_every_ms) {
    close();
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // Through the open folder: a path of any length fits.
    std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder_fd,
                  shim::socket_file);
    if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        close();
        return false;
    }
    shim::Fields hello{{"type", "hello"}};
    shim::put(hello, "min", shim::protocol_min);
    shim::put(hello, "max", shim::protocol_max);
    shim::Fields subscribe{{"type", "subscribe"}};
    shim::put(subscribe, "everyMs", push_every_ms);
    if (send(hello) && send(subscribe) && send({{"type", "status"}})) return true;
    close();
    return false;
}

bool ShimLink::send(const shim::Fields& fields) {
    std::string bytes = shim::frame(fields);
    ssize_t put = 0;
    do {
        put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (put < 0 && errno == EINTR);
    return put == static_cast<ssize_t>(bytes.size());
}

bool ShimLink::receive(std::vector<shim::Fields>& messages) {
    char part[16 << 10];
    while (true) {
        ssize_t got = recv(fd_, part, sizeof part, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return true;
        if (got <= 0) return false;
        in_.append(part, static_cast<std::size_t>(got));
        while (true) {
            auto message = shim::take_frame(in_);
            if (!message) return false;
            if (!*message) break;
            messages.push_back(std::move(**message));
        }
    }
}

}  // namespace tandem::executor
