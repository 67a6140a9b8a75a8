// SPDX-License-Identifier: Apache-2.0
#include "net/http/message.h"

#include <algorithm>

#include <fmt/format.h>

namespace tandem::http {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool unreserved(char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

void append_json_text(std::string& out, std::string_view text) {
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        if (byte < 0x20 || byte == 0x7F)
            out += fmt::format("\\u{:04x}", byte);
        else
            out += c;
    }
}

Status check_path(std::string_view raw, std::string_view decoded) {
    for (std::size_t i = 0; i + 2 < raw.size(); ++i)
        if (raw[i] == '%' && raw[i + 1] == '2' && lower(raw[i + 2]) == 'f')
            return fail(ErrorCode::invalid,
                        "the path holds an encoded '/' (%2F), which is not allowed");
    for (char c : decoded)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            return fail(ErrorCode::invalid, "the path holds a control byte");
    for (std::size_t at = 0; at < decoded.size();) {
        std::size_t end = std::min(decoded.find('/', at + 1), decoded.size());
        std::string_view segment = decoded.substr(at + 1, end - at - 1);
        if (segment == "." || segment == "..")
            return fail(ErrorCode::invalid,
                        "the path holds a '.' or '..' segment, which is not allowed");
        at = end;
    }
    return {};
}

Result<Query> parse_query(std::string_view text) {
    Query query;
    while (!text.empty()) {
        std::string_view pair = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), pair.size() + 1));
        if (pair.empty()) continue;
        std::size_t equals = std::min(pair.find('='), pair.size());
        auto name = decode_component(pair.substr(0, equals), true);
        auto value = decode_component(pair.substr(std::min(pair.size(), equals + 1)), true);
        if (!name || !value)
            return fail(ErrorCode::invalid, "the query holds a broken percent escape; write %XX");
        query.emplace_back(std::move(*name), std::move(*value));
    }
    return query;
}

constexpr std::pair<int, std::string_view> reasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

void Headers::set(std::string_view name, std::string value) {
    std::erase_if(entries_, [&](const Entry& entry) { return same_name(entry.first, name); });
    add(std::string(name), std::move(value));
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
    for (const auto& [key, value] : entries_)
        if (same_name(key, name)) return value;
    return std::nullopt;
}

std::string_view Headers::get_or(std::string_view name, std::string_view otherwise) const {
    return find(name).value_or(otherwise);
}

std::size_t Headers::count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        entries_, [&](const Entry& entry) { return same_name(entry.first, name); }));
}

std::optional<std::string_view> Request::find_query(std::string_view name) const {
    for (const auto& [key, value] : query)
        if (key == name) return value;
    return std::nullopt;
}

std::string_view reason_of(int status) {
    const auto* found =
        std::ranges::lower_bound(reasons, status, {}, &std::pair<int, std::string_view>::first);
    if (found != std::end(reasons) && found->first == status) return found->second;
    return status < 400 ? "OK" : "Error";
}

int status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid:
            return 400;
        case ErrorCode::unauthenticated:
            return 401;
        case ErrorCode::denied:
            return 403;
        case ErrorCode::not_found:
            return 404;
        case ErrorCode::conflict:
            return 409;
        case ErrorCode::gone:
            return 410;
        case ErrorCode::too_large:
            return 413;
        case ErrorCode::mismatch:
            return 422;
        case ErrorCode::exhausted:
            return 429;
        case ErrorCode::internal:
            return 500;
        case ErrorCode::unavailable:
            return 503;
        case ErrorCode::storage_full:
            return 507;
    }
    return 500;
}

Response problem(int status, std::string_view detail, std::string_view code,
                 std::string_view field) {
    std::string body = fmt::format(R"({{"type":"about:blank","title":"{}","status":{},"detail":")",
                                   reason_of(status), status);
    append_json_text(body, detail);
    for (auto [name, value] : {std::pair{"code", code}, std::pair{"field", field}}) {
        if (value.empty()) continue;
        body += fmt::format("\",\"{}\":\"", name);
        append_json_text(body, value);
    }
    body += "\"}";
    return {.status = status,
            .headers = {{"Content-Type", "application/problem+json"}},
            .body = std::move(body)};
}

Response problem(const Error& error) {
    return problem(status_of(error.code), error.message, name_of(error.code), error.field);
}

std::string encode_component(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (char c : text) {
        if (unreserved(c))
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::optional<std::string> decode_component(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
            int low = high >= 0 ? hex_value(text[i + 2]) : -1;
            if (low < 0) return std::nullopt;
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += text[i] == '+' && plus_is_space ? ' ' : text[i];
        }
    }
    return out;
}

Result<Target> parse_target(std::string_view target) {
    if (target == "*") return Target{.path = "*", .query = {}};
    for (std::string_view scheme : {"http://", "https://"}) {
        if (target.size() < scheme.size() || !same_name(target.substr(0, scheme.size()), scheme))
            continue;
        std::size_t end = target.find_first_of("/?", scheme.size());
        target.remove_prefix(std::min(end, target.size()));
        if (target.empty()) target = "/";
        break;
    }
    std::size_t mark = std::min(target.find('?'), target.size());
    std::string_view raw = target.substr(0, mark);
    if (raw.empty() && mark < target.size()) raw = "/";
    if (!raw.starts_with('/'))
        return fail(ErrorCode::invalid, "the request target must start with '/'");
    if (target.find('#') != target.npos)
        return fail(ErrorCode::invalid, "the request target must not hold '#'");
    auto path = decode_component(raw, false);
    if (!path) return fail(ErrorCode::invalid, "the path holds a broken percent escape; write %XX");
    TANDEM_TRY(check_path(raw, *path));
    TANDEM_LET(query, parse_query(target.substr(std::min(target.size(), mark + 1))));
    return Target{.path = std::move(*path), .query = std::move(query)};
}

}  // namespace tandem::http
