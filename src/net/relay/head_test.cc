// SPDX-License-Identifier: Apache-2.0
#include "net/relay/head.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tandem::relay {
namespace {

// Status of the refusal, 0 when the head is taken.
int status_of(std::string_view text, RequestHead* out = nullptr) {
    RequestHead local;
    HeadScanner scanner;
    const auto size = scanner.scan(text);
    if (!size) return size.error().status;
    if (*size == 0) return -1;
    const auto parsed = parse_request_head(text.substr(0, *size), {}, out ? *out : local);
    return parsed ? 0 : parsed.error().status;
}

TEST(RequestHead, plain_post_is_taken_apart) {
    RequestHead head;
    ASSERT_EQ(
        status_of("POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n"
                  "Authorization:  Bearer k \r\n\r\n",
                  &head),
        0);
    EXPECT_EQ(head.method, "POST");
    EXPECT_EQ(head.target, "/v1/chat/completions?x=1");
    EXPECT_EQ(head.path, "/v1/chat/completions");
    EXPECT_EQ(head.framing, Framing::length);
    EXPECT_EQ(head.content_length, 12);
    EXPECT_TRUE(head.keep_alive);
    ASSERT_TRUE(head.find("authorization"));
    EXPECT_EQ(*head.find("authorization"), "Bearer k");
    EXPECT_EQ(head.find("x-none"), nullptr);
}

struct Row {
    const char* name;
    const char* text;
    int want;
};

TEST(RequestHead, what_two_parsers_could_read_differently_is_refused) {
    const Row rows[] = {
        {"length and coding",
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"two lengths",
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400},
        {"list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", 400},
        {"signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", 400},
        {"huge length",
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"two codings",
         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
         "chunked\r\n\r\n",
         400},
        {"other coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         501},
        {"masked coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
        {"coding in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"bare LF", "GET / HTTP/1.1\nHost: a\n\n", 400},
        {"bare LF in headers", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400},
        {"bare CR", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400},
        {"folded line", "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400},
        {"blank before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"underscore", "GET / HTTP/1.1\r\nHost: a\r\nContent_Length: 3\r\n\r\n", 400},
        {"no colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400},
        {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"control in value", "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},
        {"absolute form", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"blank in target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"two blanks", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"version 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"no version", "GET /\r\n\r\n", 400},
        {"lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", 400},
        {"line before", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"other expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417},
    };
    for (const Row& row : rows) EXPECT_EQ(status_of(row.text), row.want) << row.name;
}

TEST(RequestHead, NUL_is_refused) {
    EXPECT_EQ(status_of(std::string_view("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 36)), 400);
}

TEST(RequestHead, limits_answer_414_and_431) {
    EXPECT_EQ(status_of("GET /" + std::string(9000, 'a')), 414);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: " + std::string(9000, 'a')), 431);
    std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 101; ++i) many += "X: y\r\n";
    EXPECT_EQ(status_of(many + "\r\n"), 431);
    std::string large = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 6; ++i) large += "X: " + std::string(6000, 'b') + "\r\n";
    EXPECT_EQ(status_of(large), 431);
}

TEST(RequestHead, every_split_gives_the_same_end) {
    const std::string text = "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\nrest";
    for (std::size_t cut = 0; cut < text.size() - 4; ++cut) {
        HeadScanner scanner;
        auto first = scanner.scan(std::string_view(text).substr(0, cut));
        ASSERT_TRUE(first);
        EXPECT_EQ(*first, 0u) << cut;
        auto second = scanner.scan(text);
        ASSERT_TRUE(second);
        EXPECT_EQ(*second, text.size() - 4) << cut;
    }
}

TEST(RequestHead, connection_options_decide_keep_alive) {
    RequestHead head;
    ASSERT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", &head), 0);
    EXPECT_FALSE(head.keep_alive);
    ASSERT_EQ(status_of("GET / HTTP/1.0\r\n\r\n", &head), 0);
    EXPECT_FALSE(head.keep_alive);
    ASSERT_EQ(status_of("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &head), 0);
    EXPECT_TRUE(head.keep_alive);
}

std::optional<ResponseHead> response(std::string_view text) {
    HeadScanner scanner;
    const auto size = scanner.scan(text);
    ResponseHead head;
    if (!size || *size == 0 || !parse_response_head(text.substr(0, *size), {}, head))
        return std::nullopt;
    return head;
}

TEST(ResponseHead, framing_follows_status_and_headers) {
    EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")->framing, Framing::length);
    EXPECT_EQ(response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")->framing,
              Framing::chunked);
    EXPECT_EQ(response("HTTP/1.1 200\r\n\r\n")->framing, Framing::until_close);
    EXPECT_EQ(response("HTTP/1.1 204 No Content\r\n\r\n")->framing, Framing::none);
    EXPECT_EQ(response("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")->status, 404);
    EXPECT_FALSE(
        response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"));
    EXPECT_FALSE(response("HTTP/1.1 abc OK\r\n\r\n"));
    EXPECT_FALSE(response("HTTP/1.1 099 OK\r\n\r\n"));
    EXPECT_FALSE(response("ICY 200 OK\r\n\r\n"));
}

}  // namespace
}  // namespace tandem::relay
