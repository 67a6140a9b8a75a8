// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 message heads (RFC 9112), parsed strictly and without copying: every view points into the bytes
// that were handed in. Pure: no I/O, no clock. Called by the client side and the upstream side of the relay.
//
// Two steps: `HeadScanner` finds the end of a head in bytes that arrive in pieces (and refuses bare LF, bare CR,
// NUL and oversized heads as soon as it sees them); `parse_*_head` takes a complete head apart.
// What two parsers could understand differently is refused, never repaired: Content-Length beside
// Transfer-Encoding, either of them twice, folded lines, blanks before the colon, underscores in names,
// transfer codings other than "chunked", several Host lines.
// Errors: HTTP status to answer with and a sentence for people; a client must see the connection close.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <vector>

namespace tandem::relay {

struct HeadLimits {
    std::size_t line_bytes_max = 8 * 1024;
    std::size_t head_bytes_max = 32 * 1024;
    std::size_t headers_max = 100;
};

struct Malformed {
    int status = 400;
    std::string_view what;  // static text
};

struct Header {
    std::string_view name;
    std::string_view value;
};

enum class Framing : std::uint8_t { none, length, chunked, until_close };

// What both kinds of head share.
struct HeadFields {
    std::vector<Header> headers;
    int version_minor = 1;
    Framing framing = Framing::none;
    std::int64_t content_length = 0;  // meaningful for Framing::length
    bool keep_alive = true;

    // Value of the first header of this lower-case name; null when there is none.
    const std::string_view* find(std::string_view lower_case_name) const;
};

struct RequestHead : HeadFields {
    std::string_view method;
    std::string_view target;  // origin form: begins with '/'
    std::string_view path;    // target up to '?'
    bool expects_continue = false;
};

struct ResponseHead : HeadFields {
    int status = 0;
};

class HeadScanner {
  public:
    explicit HeadScanner(HeadLimits limits = {}) : limits_(limits) {}

    // `data` always starts at the first byte of the head and only grows between calls. Length of the whole
    // head with its blank line, 0 while it is incomplete.
    std::expected<std::size_t, Malformed> scan(std::string_view data);
    void reset() { line_start_ = position_ = 0; }

  private:
    HeadLimits limits_;
    std::size_t line_start_ = 0;
    std::size_t position_ = 0;
};

// `head` is complete, ends with the blank line and has passed a HeadScanner. Reuses the vector in `out`.
std::expected<void, Malformed> parse_request_head(std::string_view head, const HeadLimits& limits,
                                                  RequestHead& out);
std::expected<void, Malformed> parse_response_head(std::string_view head, const HeadLimits& limits,
                                                   ResponseHead& out);

// ASCII only; `lower` must be lower case already.
bool equals_ignoring_case(std::string_view text, std::string_view lower);

}  // namespace tandem::relay
