// SPDX-License-Identifier: Apache-2.0
// Thin owners of the operating system's sockets for the relay: descriptors, addresses, non-blocking TCP.
// Errors are values with errno's text. IPv4 only: replicas listen on loopback, people's side sits behind it or a
// TLS front. Thread rule: each object has one owner.
#pragma once

#include <cstdint>
#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tandem::relay {

class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() { reset(); }
    Fd(Fd&& other) noexcept : fd_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept;
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset();
    int release();

  private:
    int fd_ = -1;
};

struct Endpoint {
    std::uint32_t address = 0x7f000001;  // host order
    std::uint16_t port = 0;

    static Result<Endpoint> parse(std::string_view text);  // "127.0.0.1:8080", "localhost:80"
    std::string text() const;
    bool loopback() const { return (address >> 24) == 127; }
    auto operator<=>(const Endpoint&) const = default;
};

// Non-blocking, close-on-exec, SO_REUSEPORT, backlog 4096. Port 0 takes a free one.
Result<Fd> listen_tcp(const Endpoint& endpoint);
Result<std::uint16_t> local_port(const Fd& socket);

struct Accepted {
    Fd socket;  // empty when nobody waits (or the process is out of descriptors: `exhausted`)
    Endpoint peer;
    bool exhausted = false;
};
Accepted accept_tcp(const Fd& listener);

// Started, perhaps not finished: writable when it is, see connect_result.
Result<Fd> connect_tcp(const Endpoint& endpoint);
int connect_result(const Fd& socket);  // 0 or errno

// Descriptors this process may have (soft limit, raised to the hard one on the first call).
int descriptor_limit();

}  // namespace tandem::relay
