// SPDX-License-Identifier: Apache-2.0
// Messages of HTTP/1.1 (RFC 9110, 9112) as plain values, used by server, client and tests alike.
// Header names compare without case and keep their order; values hold no control bytes but tab.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace tandem::http {

class Headers {
  public:
    using Entry = std::pair<std::string, std::string>;

    Headers() = default;
    Headers(std::initializer_list<Entry> entries) : entries_(entries) {}

    void add(std::string name, std::string value) {
        entries_.emplace_back(std::move(name), std::move(value));
    }
    void set(std::string_view name, std::string value);                 // replaces all of that name
    std::optional<std::string_view> find(std::string_view name) const;  // the first of that name
    std::string_view get_or(std::string_view name, std::string_view otherwise = {}) const;
    std::size_t count(std::string_view name) const;
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }

  private:
    std::vector<Entry> entries_;
};

bool same_name(std::string_view a, std::string_view b);  // ASCII case ignored

// Decoded query parameters in the order of the target; a name may occur more than once.
using Query = std::vector<std::pair<std::string, std::string>>;

// A request as a server's handler gets it.
struct Request {
    std::string method{};  // as sent, "GET"
    std::string
        path{};  // percent-decoded once; holds no NUL, no "." or ".." segment, no decoded '/'
    std::string target{};  // as sent
    Query query{};
    Headers headers{};
    std::string body{};
    std::string peer{};  // "127.0.0.1:40312", "[::1]:40312" or "unix"
    bool over_unix_socket = false;
    std::string peer_name{};  // common name of the verified client certificate; empty without one
    std::string id{};         // X-Request-Id if that was [A-Za-z0-9._-]{1,64}, else 24 hex digits

    std::optional<std::string_view> find_query(
        std::string_view name) const;  // the first of that name
};

// Date, Content-Length, Connection and X-Request-Id are added by the server.
struct Response {
    int status = 200;
    Headers headers{};
    std::string body{};
};

// What a client sends. Host, Content-Length and Connection are added.
struct Call {
    std::string method = "GET";
    std::string target = "/";  // path and query, already encoded (see encode_component)
    Headers headers{};
    std::string body{};
    Duration total_deadline{};  // of a client's send(); 0: as the client has it
};

std::string_view reason_of(int status);  // "Not Found"
int status_of(ErrorCode code);           // the one mapping of errors to HTTP

// An RFC 9457 problem-details answer:
// {"type":"about:blank","title":...,"status":...,"detail":...,"code":...} and "field" where one is
// given.
Response problem(int status, std::string_view detail, std::string_view code = {},
                 std::string_view field = {});
Response problem(const Error& error);

std::string encode_component(
    std::string_view text);  // percent-encodes all but unreserved characters
// Absent on a broken escape. plus_is_space: the rule of query strings.
std::optional<std::string> decode_component(std::string_view text, bool plus_is_space);

struct Target {
    std::string path;
    Query query;
};
// Origin form ("/a/b?c=d"), absolute form ("http://host/a") and "*". Error: invalid, with the
// reason.
Result<Target> parse_target(std::string_view target);

}  // namespace tandem::http
