// SPDX-License-Identifier: Apache-2.0
#include "net/relay/head.h"

#include <array>
#include <cstring>

namespace tandem::relay {
namespace {

using Refusal = std::unexpected<Malformed>;

Refusal refuse(std::string_view what, int status = 400) {
    return Refusal(Malformed{status, what});
}

constexpr std::array<bool, 256> make_token_table() {
    std::array<bool, 256> table{};
    for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (char c : std::string_view("!#$%&'*+-.^`|~")) table[static_cast<std::uint8_t>(c)] = true;
    return table;  // RFC 9110 token without '_': "a_b" and "a-b" are the same variable to CGI-like
                   // readers
}
constexpr auto token_chars = make_token_table();

constexpr std::array<bool, 256> make_value_table() {
    std::array<bool, 256> table{};
    for (std::size_t c = 0x20; c < 256; ++c) table[c] = c != 0x7f;
    table['\t'] = true;
    return table;
}
constexpr auto value_chars = make_value_table();

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Takes the next line (without CRLF) off `rest`; the scanner has made sure that each ends with
// CRLF.
std::string_view take_line(std::string_view& rest) {
    const auto end = rest.find("\r\n");
    const auto line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    return line;
}

bool has_list_item(std::string_view list, std::string_view item) {
    while (!list.empty()) {
        const auto comma = list.find(',');
        if (equals_ignoring_case(trim(list.substr(0, comma)), item)) return true;
        if (comma == std::string_view::npos) break;
        list.remove_prefix(comma + 1);
    }
    return false;
}

std::expected<std::int64_t, Malformed> parse_length(std::string_view text) {
    if (text.empty() || text.size() > 15) return refuse("Content-Length must be a decimal number");
    std::int64_t value = 0;
    for (char c : text) {
        if (c < '0' || c > '9') return refuse("Content-Length must be a decimal number");
        value = value * 10 + (c - '0');
    }
    return value;
}

// What the framing rules need to know about the headers, gathered in one pass.
struct Seen {
    int lengths = 0;
    int codings = 0;
    int hosts = 0;
    std::string_view coding;
    std::string_view expectation;
};

std::expected<void, Malformed> note_header(const Header& header, HeadFields& out, Seen& seen) {
    switch (header.name.size()) {
        case 4:
            if (equals_ignoring_case(header.name, "host")) ++seen.hosts;
            break;
        case 6:
            if (equals_ignoring_case(header.name, "expect")) seen.expectation = header.value;
            break;
        case 10:
            if (!equals_ignoring_case(header.name, "connection")) break;
            if (has_list_item(header.value, "close"))
                out.keep_alive = false;
            else if (out.version_minor == 0 && has_list_item(header.value, "keep-alive"))
                out.keep_alive = true;
            break;
        case 14: {
            if (!equals_ignoring_case(header.name, "content-length")) break;
            auto length = parse_length(header.value);
            if (!length) return Refusal(length.error());
            out.content_length = *length;
            ++seen.lengths;
            break;
        }
        case 17:
            if (!equals_ignoring_case(header.name, "transfer-encoding")) break;
            seen.coding = header.value;
            ++seen.codings;
            break;
        default:
            break;
    }
    return {};
}

std::expected<Header, Malformed> parse_header_line(std::string_view line) {
    if (line.front() == ' ' || line.front() == '\t')
        return refuse("folded header lines are not accepted");
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0)
        return refuse("a header line needs a name and a colon");
    const Header header{line.substr(0, colon), trim(line.substr(colon + 1))};
    for (char c : header.name)
        if (!token_chars[static_cast<std::uint8_t>(c)])
            return refuse("a header name may hold letters, digits and '-' only");
    for (char c : header.value)
        if (!value_chars[static_cast<std::uint8_t>(c)])
            return refuse("control character in a header value");
    return header;
}

std::expected<void, Malformed> parse_fields(std::string_view rest, const HeadLimits& limits,
                                            HeadFields& out, Seen& seen) {
    out.headers.clear();
    out.framing = Framing::none;
    out.content_length = 0;
    out.keep_alive = out.version_minor == 1;
    while (true) {
        const auto line = take_line(rest);
        if (line.empty()) break;
        if (out.headers.size() == limits.headers_max) return refuse("too many headers", 431);
        auto header = parse_header_line(line);
        if (!header) return Refusal(header.error());
        if (auto noted = note_header(*header, out, seen); !noted) return noted;
        out.headers.push_back(*header);
    }
    if (seen.lengths > 1) return refuse("Content-Length is given twice");
    if (seen.codings > 1) return refuse("Transfer-Encoding is given twice");
    if (seen.lengths && seen.codings) return refuse("Content-Length beside Transfer-Encoding");
    if (seen.codings && out.version_minor == 0) return refuse("Transfer-Encoding in HTTP/1.0");
    if (seen.codings && !equals_ignoring_case(seen.coding, "chunked"))
        return refuse("the only transfer coding accepted is chunked", 501);
    if (seen.codings) out.framing = Framing::chunked;
    if (seen.lengths) out.framing = Framing::length;
    return {};
}

std::expected<int, Malformed> parse_version(std::string_view text) {
    if (text == "HTTP/1.1") return 1;
    if (text == "HTTP/1.0") return 0;
    return refuse("only HTTP/1.1 and HTTP/1.0 are spoken here",
                  text.starts_with("HTTP/") ? 505 : 400);
}

std::expected<void, Malformed> parse_request_line(std::string_view line, RequestHead& out) {
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    if (first == std::string_view::npos || first == last || first == 0)
        return refuse("the request line must be METHOD TARGET VERSION");
    out.method = line.substr(0, first);
    out.target = line.substr(first + 1, last - first - 1);
    for (char c : out.method)
        if (!token_chars[static_cast<std::uint8_t>(c)])
            return refuse("bad character in the method");
    if (out.target.empty() || out.target.front() != '/')
        return refuse("the target must begin with '/'");
    for (char c : out.target)
        if (c <= 0x20 || c >= 0x7f) return refuse("bad character in the target");
    auto version = parse_version(line.substr(last + 1));
    if (!version) return Refusal(version.error());
    out.version_minor = *version;
    out.path = out.target.substr(0, out.target.find('?'));
    return {};
}

std::expected<void, Malformed> parse_status_line(std::string_view line, ResponseHead& out) {
    auto version = parse_version(line.substr(0, 8));
    if (!version) return Refusal(version.error());
    out.version_minor = *version;
    if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' '))
        return refuse("malformed status line");
    out.status = 0;
    for (char c : line.substr(9, 3)) {
        if (c < '0' || c > '9') return refuse("malformed status line");
        out.status = out.status * 10 + (c - '0');
    }
    if (out.status < 100) return refuse("malformed status line");
    return {};
}

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view lower_text) {
    if (text.size() != lower_text.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (lower(text[i]) != lower_text[i]) return false;
    return true;
}

const std::string_view* HeadFields::find(std::string_view lower_case_name) const {
    for (const Header& header : headers)
        if (equals_ignoring_case(header.name, lower_case_name)) return &header.value;
    return nullptr;
}

std::expected<std::size_t, Malformed> HeadScanner::scan(std::string_view data) {
    while (position_ < data.size()) {
        const auto* found = static_cast<const char*>(
            std::memchr(data.data() + position_, '\n', data.size() - position_));
        if (!found) {
            position_ = data.size();
            break;
        }
        const auto at = static_cast<std::size_t>(found - data.data());
        if (at == line_start_ || data[at - 1] != '\r') return refuse("a line must end with CR LF");
        const auto line = data.substr(line_start_, at - 1 - line_start_);
        if (std::memchr(line.data(), '\r', line.size())) return refuse("CR inside a line");
        if (line.size() > limits_.line_bytes_max)
            return refuse(line_start_ ? "header line too long" : "request line too long",
                          line_start_ ? 431 : 414);
        if (at + 1 > limits_.head_bytes_max) return refuse("headers too large", 431);
        if (line.empty() && line_start_ == 0) return refuse("empty line before the request");
        position_ = line_start_ = at + 1;
        if (line.empty()) return at + 1;
    }
    if (data.size() - line_start_ > limits_.line_bytes_max + 1)
        return refuse(line_start_ ? "header line too long" : "request line too long",
                      line_start_ ? 431 : 414);
    if (data.size() > limits_.head_bytes_max) return refuse("headers too large", 431);
    return 0;
}

std::expected<void, Malformed> parse_request_head(std::string_view head, const HeadLimits& limits,
                                                  RequestHead& out) {
    auto rest = head;
    if (auto parsed = parse_request_line(take_line(rest), out); !parsed) return parsed;
    Seen seen;
    if (auto parsed = parse_fields(rest, limits, out, seen); !parsed) return parsed;
    if (seen.hosts > 1) return refuse("Host is given twice");
    if (seen.hosts == 0 && out.version_minor == 1) return refuse("Host is missing");
    out.expects_continue = false;
    if (!seen.expectation.empty()) {
        if (!equals_ignoring_case(seen.expectation, "100-continue"))
            return refuse("the only expectation met is 100-continue", 417);
        out.expects_continue = out.version_minor == 1;
    }
    if (out.framing == Framing::length && out.content_length == 0) out.framing = Framing::none;
    return {};
}

std::expected<void, Malformed> parse_response_head(std::string_view head, const HeadLimits& limits,
                                                   ResponseHead& out) {
    auto rest = head;
    if (auto parsed = parse_status_line(take_line(rest), out); !parsed) return parsed;
    Seen seen;
    if (auto parsed = parse_fields(rest, limits, out, seen); !parsed) return parsed;
    if (out.status < 200 || out.status == 204 || out.status == 304) {
        out.framing = Framing::none;
    } else if (out.framing == Framing::none) {
        out.framing = Framing::until_close;
        out.keep_alive = false;
    } else if (out.framing == Framing::length && out.content_length == 0) {
        out.framing = Framing::none;
    }
    return {};
}

}  // namespace tandem::relay
