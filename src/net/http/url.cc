// SPDX-License-Identifier: Apache-2.0
#include "net/http/url.h"

#include <algorithm>

#include "base/quantity.h"

namespace tandem::http {

namespace {

constexpr std::string_view right = "write http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH";

std::unexpected<Error> wrong(std::string_view what) {
    return fail(ErrorCode::invalid, std::string(what) + "; " + std::string(right));
}

bool host_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

bool address_letter(char c) {
    return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' ||
           c == '.';
}

std::uint16_t default_port(Scheme scheme) {
    return scheme == Scheme::https ? 443 : scheme == Scheme::http ? 80 : 0;
}

Status parse_authority(std::string_view text, Url& url) {
    std::string_view host = text;
    std::string_view rest;
    if (text.starts_with('[')) {
        std::size_t end = text.find(']');
        if (end == text.npos) return wrong("the host lacks its ']'");
        host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
        if (host.empty() || !std::ranges::all_of(host, address_letter))
            return wrong("the host is no IPv6 address");
    } else {
        host = text.substr(0, std::min(text.find(':'), text.size()));
        rest = text.substr(host.size());
        if (host.empty()) return wrong("the host is missing");
        if (!std::ranges::all_of(host, host_letter))
            return wrong("the host holds a wrong character");
    }
    url.host = host;
    if (rest.empty()) return {};
    auto port = rest.starts_with(':') ? parse_integer(rest.substr(1)) : wrong("");
    if (!port || *port < 1 || *port > 65535) return wrong("the port must be 1..65535");
    url.port = static_cast<std::uint16_t>(*port);
    return {};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
    for (char c : text)
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F)
            return wrong("a URL holds no spaces");
    Url url;
    if (text.starts_with("unix:")) {
        text.remove_prefix(5);
        if (text.starts_with("//")) text.remove_prefix(2);
        if (!text.starts_with('/')) return wrong("the socket's path must be absolute");
        if (text.size() > 107) return wrong("the socket's path is longer than 107 bytes");
        return Url{.scheme = Scheme::unix_socket, .host = {}, .port = 0, .path = std::string(text)};
    }
    if (text.starts_with("https://"))
        url.scheme = Scheme::https;
    else if (!text.starts_with("http://"))
        return wrong("the scheme is unknown");
    text.remove_prefix(text.find("//") + 2);
    url.port = default_port(url.scheme);
    if (text.find_first_of("?#@") != text.npos)
        return wrong("'?', '#' and '@' are not allowed here");
    std::size_t slash = std::min(text.find('/'), text.size());
    TANDEM_TRY(parse_authority(text.substr(0, slash), url));
    url.path = text.substr(slash);
    while (url.path.ends_with('/')) url.path.pop_back();
    return url;
}

std::string authority_of(const Url& url) {
    if (url.scheme == Scheme::unix_socket) return "localhost";
    std::string host = url.host.find(':') != std::string::npos ? "[" + url.host + "]" : url.host;
    return url.port == default_port(url.scheme) ? host : host + ":" + std::to_string(url.port);
}

std::string render_url(const Url& url) {
    if (url.scheme == Scheme::unix_socket) return "unix:" + url.path;
    return (url.scheme == Scheme::https ? "https://" : "http://") + authority_of(url) + url.path;
}

}  // namespace tandem::http
