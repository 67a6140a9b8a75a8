// SPDX-License-Identifier: Apache-2.0
// Url: where a server is: "http://host[:port][/prefix]", "https://...", "unix:/path/to/socket".
// No user info, no query, no fragment; IPv6 hosts in brackets. Errors have code invalid and say
// what is right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tandem::http {

enum class Scheme : std::uint8_t { http, https, unix_socket };

struct Url {
    Scheme scheme = Scheme::http;
    std::string host{};       // without brackets; empty for a unix socket
    std::uint16_t port = 80;  // 443 for https; 0 for a unix socket
    std::string path{};       // prefix without trailing '/', or the socket's file

    bool operator==(const Url&) const = default;
};

Result<Url> parse_url(std::string_view text);
std::string render_url(const Url& url);
std::string authority_of(
    const Url& url);  // value for Host: "h", "h:8080", "[::1]:80", "localhost" for unix

}  // namespace tandem::http
