// SPDX-License-Identifier: Apache-2.0
// Scanners of the data path. Each text is scanned whole and cut in two at every place; the answers
// must agree.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "traffic/answer_scan.h"
#include "traffic/request_scan.h"
#include "traffic/sse_scanner.h"

namespace tandem::traffic {
namespace {

std::string spliced(const std::string& body) {
    std::string whole;
    for (std::size_t cut = 0; cut <= body.size(); ++cut) {
        RequestScan scan;
        scan.feed(body.substr(0, cut));
        scan.feed(body.substr(cut));
        std::string result;
        if (!scan.finish()) {
            result = std::string(scan.error_field()) + "|" + std::string(scan.error());
        } else {
            result = body;
            if (const auto splice = scan.splice())
                result.replace(splice->at, splice->erased, splice->inserted);
        }
        if (cut == 0) whole = result;
        EXPECT_EQ(result, whole) << "cut at " << cut;
    }
    return whole;
}

TEST(RequestScan, usage_is_spliced_in_where_a_stream_lacks_it) {
    const std::string want =
        R"({"stream_options":{"include_usage":true},"model":"m","stream":true})";
    EXPECT_EQ(spliced(R"({"model":"m","stream":true})"), want);
    EXPECT_EQ(spliced(R"({ "model":"m", "stream" : true, "stream_options":{}})"),
              R"({ "model":"m", "stream" : true, "stream_options":{"include_usage":true}})");
    EXPECT_EQ(spliced(R"({"stream_options":null,"model":"m","stream":true})"),
              R"({"stream_options":{"include_usage":true},"model":"m","stream":true})");
    EXPECT_EQ(
        spliced(
            R"({"stream_options":{"x":[1,{"include_usage":false}]},"model":"m","stream":true})"),
        R"({"stream_options":{"include_usage":true,"x":[1,{"include_usage":false}]},"model":"m","stream":true})");
    EXPECT_EQ(spliced(R"({"stream_options":{"include_usage": false },"model":"m","stream":true})"),
              R"({"stream_options":{"include_usage": true },"model":"m","stream":true})");
}

TEST(RequestScan, body_stays_as_it_is_without_need) {
    for (const char* body :
         {R"({"model":"m"})", R"({"model":"m","stream":false})", R"({"model":"m","stream":null})",
          R"({"model":"m","stream":true,"stream_options":{"include_usage":true}})"})
        EXPECT_EQ(spliced(body), body);
}

TEST(RequestScan, facts_are_read_through_nesting_and_escapes) {
    RequestScan scan;
    scan.feed(
        R"({"messages":[{"role":"user","content":"\"model\":\"x\" 你好 \ud83d\ude00"}],"mod\u0065l":"a\/b",)"
        R"("max_tokens":12,"n":2,"extra":{"model":"y","stream":true}})");
    ASSERT_TRUE(scan.finish()) << scan.error();
    EXPECT_EQ(scan.model(), "a/b");
    EXPECT_FALSE(scan.stream());
    EXPECT_EQ(scan.max_tokens(), 12);
    EXPECT_EQ(scan.choices(), 2);
}

TEST(RequestScan, double_and_wrong_fields_are_named) {
    EXPECT_EQ(spliced(R"({"model":"m","model":"n"})"), "model|is given twice");
    EXPECT_EQ(spliced(R"({"model":"m","mode\u006c":"n"})"), "model|is given twice");
    EXPECT_EQ(
        spliced(R"({"model":"m","stream_options":{"include_usage":true,"include_usage":true}})"),
        "stream_options.include_usage|is given twice");
    EXPECT_EQ(spliced(R"({"model":7})"), "model|must be a text of 1 to 256 bytes");
    EXPECT_EQ(spliced(R"({"model":""})"), "model|must be a text of 1 to 256 bytes");
    EXPECT_EQ(spliced(R"({"stream":"yes","model":"m"})"), "stream|must be true or false");
    EXPECT_EQ(spliced(R"({"model":"m","max_tokens":-1})"),
              "max_tokens|must be a whole number, not negative");
    EXPECT_EQ(spliced(R"({"model":"m","stream_options":[]})"), "stream_options|must be an object");
    EXPECT_EQ(spliced(R"({"stream":true})"), "model|is required");
}

TEST(RequestScan, text_that_is_not_strict_JSON_is_refused) {
    for (const char* body : {"",
                             "[]",
                             "{",
                             R"({"model":"m"}x)",
                             R"({"model":"m",})",
                             R"({model:"m"})",
                             R"({"model":"m" "x":1})",
                             R"({"a":01,"model":"m"})",
                             R"({"a":1.,"model":"m"})",
                             R"({"a":+1,"model":"m"})",
                             R"({"a":tru,"model":"m"})",
                             R"({"a":"\x","model":"m"})",
                             R"({"a":"\u12g4","model":"m"})",
                             "{\"a\":\"\x01\",\"model\":\"m\"}",
                             "{\"a\":\"\xff\",\"model\":\"m\"}",
                             "{\"a\":\"\xc0\xaf\",\"model\":\"m\"}",
                             "{\"a\":\"\xed\xa0\x80\",\"model\":\"m\"}",
                             R"({"a":[}],"model":"m"})",
                             R"({"a":{]},"model":"m"})",
                             "nul",
                             "1"})
        EXPECT_EQ(spliced(body).find("{\"model"), std::string::npos) << body;
    RequestScan deep;
    EXPECT_FALSE(deep.feed("{\"a\":" + std::string(70, '[')));
    RequestScan just;
    EXPECT_TRUE(just.feed("{\"a\":" + std::string(63, '[')));
}

TEST(AnswerScan, usage_of_a_whole_answer) {
    AnswerScan scan;
    scan.feed(
        R"({"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],)"
        R"("usage":{"prompt_tokens":12,"completion_tokens":0,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":5}}})");
    EXPECT_TRUE(scan.valid());
    ASSERT_TRUE(scan.usage());
    EXPECT_EQ(*scan.usage(), (TokenUsage{.prompt = 12, .cached = 5, .completion = 0}));
    EXPECT_TRUE(scan.content());
    EXPECT_TRUE(scan.finished());
}

bool has_content(std::string_view chunk) {
    AnswerScan scan;
    scan.feed(chunk);
    return scan.content();
}

TEST(AnswerScan, only_what_a_caller_acts_on_is_content) {
    EXPECT_FALSE(has_content(
        R"({"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]})"));
    EXPECT_FALSE(
        has_content(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})"));
    EXPECT_FALSE(
        has_content(R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}})"));
    EXPECT_FALSE(has_content(R"({"content":"x","choices":[{"delta":{"tool_calls":[]}}]})"));
    EXPECT_TRUE(has_content(R"({"choices":[{"delta":{"content":"a"}}]})"));
    EXPECT_TRUE(has_content(R"({"choices":[{"delta":{"reasoning_content":"a"}}]})"));
    EXPECT_TRUE(has_content(R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})"));
    EXPECT_TRUE(has_content(R"({"choices":[{"text":"a","finish_reason":null}]})"));
    EXPECT_TRUE(has_content(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"));
}

std::string without_null_usage(std::string text) {
    AnswerScan scan;
    scan.feed(text);
    EXPECT_TRUE(scan.valid());
    text.erase(scan.null_usage_begin(), scan.null_usage_end() - scan.null_usage_begin());
    return text;
}

TEST(AnswerScan, null_usage_is_found_with_one_comma) {
    EXPECT_EQ(without_null_usage(R"({"a":1,"usage":null,"b":2})"), R"({"a":1,"b":2})");
    EXPECT_EQ(without_null_usage(R"({"usage":null, "b":{}})"), R"({"b":{}})");
    EXPECT_EQ(without_null_usage(R"({"a":[{}] , "usage" : null })"), R"({"a":[{}] })");
    EXPECT_EQ(without_null_usage(R"({"usage":null})"), R"({})");
    EXPECT_EQ(without_null_usage(R"({"x":{"usage":null}})"), R"({"x":{"usage":null}})");
}

TEST(AnswerScan, errors_and_zero_usage_are_told_from_absence) {
    AnswerScan error;
    error.feed(R"({"error":{"message":"x","usage":{"prompt_tokens":9}}})");
    EXPECT_TRUE(error.error());
    EXPECT_FALSE(error.usage());
    AnswerScan zero;
    zero.feed(R"({"usage":{"prompt_tokens":0,"completion_tokens":0}})");
    EXPECT_TRUE(zero.usage());
}

struct Frames final : SseVisitor {
    std::string raw;
    std::vector<std::string> data;
    void on_frame(const SseFrame& frame) override {
        raw.append(frame.raw);
        if (!frame.has_data) return;
        data.emplace_back(frame.data);
        if (frame.data_at != std::string_view::npos)
            EXPECT_EQ(frame.raw.substr(frame.data_at, frame.data.size()), frame.data);
    }
};

TEST(SseScanner, frames_and_bytes_survive_every_split_and_line_end) {
    const std::string streams[] = {
        "data: {\"a\":1}\n\ndata: [DONE]\n\n",
        "data: {\"a\":1}\r\n\r\n: ping\r\n\r\nevent: x\r\ndata:[DONE]\r\n\r\n",
        "data: {\"a\":1}\r\rdata: [DONE]\r\r",
        "\xef\xbb\xbf"
        "data: {\"a\":1}\n\n\n\ndata: [DONE]",
        "id: 7\ndata: {\"a\"\ndata: :1}\n\ndata: [DONE]\n",
    };
    for (const auto& text : streams) {
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            Frames frames;
            SseScanner scanner;
            EXPECT_TRUE(scanner.feed(text.substr(0, cut), frames));
            EXPECT_TRUE(scanner.feed(text.substr(cut), frames));
            scanner.finish(frames);
            EXPECT_EQ(frames.raw, text) << cut;
            ASSERT_EQ(frames.data.size(), 2u) << text << " cut at " << cut;
            EXPECT_TRUE(frames.data[0] == "{\"a\":1}" || frames.data[0] == "{\"a\"\n:1}")
                << frames.data[0];
            EXPECT_EQ(frames.data[1], "[DONE]");
        }
    }
}

TEST(SseScanner, frames_come_as_soon_as_they_are_complete) {
    Frames frames;
    SseScanner scanner;
    scanner.feed("data: a\n", frames);
    EXPECT_TRUE(frames.data.empty());
    scanner.feed("\ndata: b\n\nda", frames);
    EXPECT_EQ(frames.data, (std::vector<std::string>{"a", "b"}));
    EXPECT_FALSE(scanner.between_frames());
}

TEST(SseScanner, endless_frame_is_refused) {
    Frames frames;
    SseScanner scanner;
    bool taken = true;
    for (int i = 0; i < 40 && taken; ++i) taken = scanner.feed(std::string(10'000, 'x'), frames);
    EXPECT_FALSE(taken);
}

TEST(AnswerScan, anthropic_usage_counts_cached_tokens_once) {
    const std::string start =
        R"({"type":"message_start","message":{"id":"m","usage":{"cache_read_input_tokens":38,)"
        R"("cache_creation_input_tokens":2,"input_tokens":1,"output_tokens":0}}})";
    for (std::size_t cut = 0; cut <= start.size(); ++cut) {
        AnswerScan scan;
        scan.feed(std::string_view(start).substr(0, cut));
        scan.feed(std::string_view(start).substr(cut));
        ASSERT_TRUE(scan.valid());
        EXPECT_EQ(scan.type(), AnswerScan::Type::message_start);
        EXPECT_EQ(scan.usage(), (TokenUsage{.prompt = 41, .cached = 38, .completion = 0}));
    }
    AnswerScan whole;
    whole.feed(R"({"type":"message","usage":{"input_tokens":5,"output_tokens":2}})");
    EXPECT_TRUE(whole.valid());
    EXPECT_EQ(whole.usage(), (TokenUsage{.prompt = 5, .completion = 2}));
}

TEST(AnswerScan, responses_usage_counts_cached_tokens_inside) {
    AnswerScan scan;
    scan.feed(
        R"({"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3}})");
    EXPECT_TRUE(scan.valid());
    EXPECT_EQ(scan.usage(), (TokenUsage{.prompt = 9, .cached = 4, .completion = 3}));
}

TEST(AnswerScan, progress_over_the_prompt_is_told_apart_from_content) {
    AnswerScan scan;
    scan.feed(
        R"({"choices":[{"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":39,"cache":8,"processed":39}})");
    EXPECT_TRUE(scan.valid());
    EXPECT_EQ(scan.progress(), (TokenUsage{.prompt = 39, .cached = 8}));
    EXPECT_FALSE(scan.content() || scan.usage());
}

TEST(RequestScan, size_of_the_prompt_is_that_of_its_json) {
    for (const auto* body : {R"({"model":"m","messages":[{"content":"12345678"}]})",
                             R"({"prompt":"1234567890123456789012","model":"m"})",
                             R"({"model":"m","query":"12345678","documents":["12","34567"]})"}) {
        RequestScan scan;
        for (const char c : std::string_view(body)) scan.feed({&c, 1});
        EXPECT_TRUE(scan.finish());
        EXPECT_EQ(scan.prompt_bytes(), 24) << body;
    }
    RequestScan asked;
    asked.feed(R"( {"return_progress":false,"model":"m"})");
    EXPECT_TRUE(asked.finish() && asked.progress_asked());
    EXPECT_EQ(asked.members_at(), 2u);
}

}  // namespace
}  // namespace tandem::traffic
