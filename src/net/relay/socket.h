// SPDX-License-Identifier: Apache-2.0
// Thin owners of the operating system's sockets for the relay: descriptors, addresses, non-blocking TCP.
// Errors are values with errno's text. IPv6 and IPv4; an IPv4 address is kept as the IPv6 one that stands for it
// (::ffff:a.b.c.d), so that a peer has one name over both. Thread rule: each object has one owner.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
    std::array<std::uint8_t, 16> address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};  // network order
    std::uint16_t port = 0;

    // "127.0.0.1:8080", "[::1]:8080", "localhost:80" (its IPv4 address; see parse_listen).
    static Result<Endpoint> parse(std::string_view text);
    std::string text() const;
    bool ipv4() const;
    bool loopback() const;
    bool any() const;                   // 0.0.0.0 or [::]: all addresses of this host
    Endpoint network() const;           // what one person may hold many of: the address, of IPv6 its /64; port 0
    auto operator<=>(const Endpoint&) const = default;
};
// Where to listen for this text: like parse, and both loopback addresses for localhost.
Result<std::vector<Endpoint>> parse_listen(std::string_view text);

// Non-blocking, close-on-exec, SO_REUSEPORT, backlog 4096. Port 0 takes a free one. [::] listens on all addresses of both
// kinds, on a host without IPv6 on those of IPv4.
Result<Fd> listen_tcp(const Endpoint& endpoint);
// This host may listen there: not so for [::1] where IPv6 is off.
bool has_address(const Endpoint& endpoint);
// SO_REUSEPORT would share the port of another program's listener: an error when there is one.
Status check_port_is_free(const Endpoint& endpoint);
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
