// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "net/http/message.h"
#include "net/http/sse.h"
#include "net/http/url.h"

namespace tandem::http {
namespace {

TEST(headers, names_compare_without_case) {
    Headers headers{{"Content-Type", "a"}, {"X", "1"}, {"content-type", "b"}};
    EXPECT_EQ(headers.find("CONTENT-TYPE"), "a");
    EXPECT_EQ(headers.count("Content-type"), 2u);
    headers.set("content-Type", "c");
    EXPECT_EQ(headers.count("Content-type"), 1u);
    EXPECT_EQ(headers.get_or("y", "z"), "z");
}

TEST(target, path_and_query_are_decoded_once) {
    Target target = parse_target("/a%20b/%2541?x=1+2&x=%26&y&=e").value();
    EXPECT_EQ(target.path, "/a b/%41");
    EXPECT_EQ(target.query, (Query{{"x", "1 2"}, {"x", "&"}, {"y", ""}, {"", "e"}}));
    EXPECT_EQ(parse_target("http://h:1/p?q=1").value().path, "/p");
    EXPECT_EQ(parse_target("http://h?q=1").value().path, "/");
    EXPECT_EQ(parse_target("*").value().path, "*");
}

TEST(target, dangerous_forms_are_refused) {
    for (std::string_view bad : {"", "a", "/a%2Fb", "/a%2fb", "/%00", "/a/../b", "/..", "/%2e%2E/x",
                                 "/./x", "/a%", "/a%4", "/a%zz", "/x?%f", "/x#y", "/%0a", "//../x"})
        EXPECT_EQ(parse_target(bad).error().code, ErrorCode::invalid) << bad;
    EXPECT_TRUE(parse_target("/..a/b..").has_value());
}

TEST(problem, body_is_escaped_and_names_the_field) {
    Response response = problem(Error{ErrorCode::invalid, "must be \"a\"\n", "spec.replicas"});
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(response.body,
              R"({"type":"about:blank","title":"Bad Request","status":400,)"
              R"("detail":"must be \"a\"\u000a","code":"invalid","field":"spec.replicas"})");
}

TEST(component, encode_and_decode_round_trip) {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    EXPECT_EQ(decode_component(encode_component(all), true), all);
}

TEST(url, forms_round_trip) {
    for (std::string_view text :
         {"http://h", "http://h:8080/a/b", "https://[::1]:1", "unix:/run/x.sock", "https://a.b"})
        EXPECT_EQ(render_url(parse_url(text).value()), text);
    EXPECT_EQ(parse_url("https://h").value().port, 443);
    EXPECT_EQ(parse_url("http://h:80/").value(), (Url{Scheme::http, "h", 80, ""}));
    EXPECT_EQ(authority_of(parse_url("http://[::1]:81").value()), "[::1]:81");
}

TEST(url, wrong_forms_are_refused) {
    for (std::string_view bad :
         {"", "h", "ftp://h", "http://", "http://h:0", "http://h:65536", "http://h:", "http://u@h",
          "http://[::1", "http://a b", "unix:x", "http://h?x", "http://h:-1", "http://[::1]x"})
        EXPECT_EQ(parse_url(bad).error().code, ErrorCode::invalid) << bad;
    EXPECT_FALSE(parse_url("unix:/" + std::string(107, 'x')));
}

TEST(sse, events_are_the_same_for_every_split) {
    std::string text =
        "\xEF\xBB\xBF: hi\nid: 7\nevent: put\ndata: a\r\ndata:b\r\n\r\ndata\n\nevent: none\n\nid: "
        "8\rdata: {\"x\": 1}\r\r";
    std::vector<SseEvent> want{
        {"7", "put", "a\nb"}, {"7", "message", ""}, {"8", "message", "{\"x\": 1}"}};
    EXPECT_EQ(SseReader().feed(text).value(), want);
    for (std::size_t step = 1; step < 6; ++step) {
        SseReader reader;
        std::vector<SseEvent> got;
        for (std::size_t at = 0; at < text.size(); at += step) {
            auto events = reader.feed(std::string_view(text).substr(at, step)).value();
            got.insert(got.end(), events.begin(), events.end());
        }
        EXPECT_EQ(got, want) << step;
    }
}

TEST(sse, line_and_event_beyond_the_bound_are_refused) {
    SseReader line(16);
    EXPECT_EQ(line.feed("data: 12345678901").error().code, ErrorCode::too_large);
    EXPECT_FALSE(line.feed("x"));
    SseReader many(16);
    EXPECT_FALSE(many.feed("data: 123456789\ndata: 123456789\n"));
}

TEST(sse, rendered_event_reads_back) {
    SseEvent event{.id = "9", .event = "put", .data = "one\ntwo\n"};
    EXPECT_EQ(SseReader().feed(render_sse(event)).value(), std::vector{event});
}

}  // namespace
}  // namespace tandem::http
