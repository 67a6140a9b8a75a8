// SPDX-License-Identifier: Apache-2.0
// Listening sockets. Inside net/http only. Errors name the address and say what is wrong.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tandem::http {

// Owns one descriptor.
class Socket {
  public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
    Socket& operator=(Socket&& other) noexcept;
    ~Socket() { close(); }

    int get() const { return descriptor_; }
    int release();
    void close();
    explicit operator bool() const { return descriptor_ >= 0; }

  private:
    int descriptor_ = -1;
};

Result<Socket> listen_tcp(const std::string& address, std::uint16_t port);
// A socket file that nobody listens on is replaced; any other file at that place is an error.
Result<Socket> listen_unix(const std::string& path);

std::uint16_t port_of(const Socket& socket);
// Of the other end of an accepted socket: "127.0.0.1:40312", "[::1]:40312", "unix".
std::string peer_of(int descriptor);

}  // namespace tandem::http
