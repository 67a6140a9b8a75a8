// SPDX-License-Identifier: Apache-2.0
#include "gateway/stream_meter.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::gateway {
namespace {

struct Sink final : StreamOutput {
    std::string text;
    int runs = 0;
    void on_output(std::string_view bytes) override {
        text.append(bytes);
        ++runs;
    }
};

std::string chunk(const std::string& inside) {
    return "data: {\"id\":\"x\"," + inside + "}\n\n";
}

const std::string role =
    chunk(R"("choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"usage":null)");
const std::string bare_role =
    chunk(R"("choices":[{"index":0,"delta":{"role":"assistant","content":null}}])");
const std::string one =
    chunk(R"("choices":[{"index":0,"delta":{"content":"say \"usage\""}}],"usage":null)");
const std::string bare_one =
    chunk(R"("choices":[{"index":0,"delta":{"content":"say \"usage\""}}])");
const std::string two = chunk(R"("choices":[{"index":0,"delta":{"content":"世界"}}])");
const std::string total =
    chunk(R"("choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9})");
const std::string done = "data: [DONE]\n\n";

TEST(StreamMeter, usage_asked_on_the_callers_behalf_is_taken_out_again) {
    const std::string given = role + ": ping\n\n" + one + two + total + done;
    const std::string want = bare_role + ": ping\n\n" + bare_one + two + done;
    for (std::size_t cut = 0; cut <= given.size(); ++cut) {
        Sink sink;
        StreamMeter meter({.usage = true}, sink);
        ASSERT_TRUE(meter.feed(given.substr(0, cut)));
        ASSERT_TRUE(meter.feed(given.substr(cut)));
        meter.finish();
        EXPECT_EQ(sink.text, want) << cut;
        EXPECT_EQ(meter.usage(), (traffic::TokenUsage{.prompt = 7, .completion = 2}));
        EXPECT_EQ(meter.content_frames(), 2);
        EXPECT_TRUE(meter.done());
    }
}

// As llama.cpp tells it: of text completions in each choice's last event, of chats in one each.
TEST(StreamMeter, usages_of_several_choices_add_up_and_late_progress_is_taken_out) {
    const std::string first = chunk(R"("choices":[{"index":1,"text":"a"}])");
    const std::string late = chunk(
        R"("choices":[{"index":0,"text":""}],"prompt_progress":{"total":1,"cache":0,"processed":1})");
    const std::string end =
        chunk(R"("choices":[{"index":1,"text":"","finish_reason":"length"}],)"
              R"("usage":{"prompt_tokens":3,"completion_tokens":5})");
    const std::string given = first + late + end + total + total + done;
    Sink sink;
    StreamMeter meter({.usage = true, .progress = true}, sink, Dialect::openai, true);
    ASSERT_TRUE(meter.feed(given));
    EXPECT_EQ(sink.text, first + end + done);
    EXPECT_EQ(meter.usage(), (traffic::TokenUsage{.prompt = 17, .completion = 9}));
    EXPECT_FALSE(meter.progress());
    StreamMeter alone({}, sink);
    ASSERT_TRUE(alone.feed(given));
    EXPECT_EQ(alone.usage(), (traffic::TokenUsage{.prompt = 7, .completion = 2})) << "the last counts";
}

TEST(StreamMeter, stream_of_a_caller_that_wants_usage_passes_byte_for_byte) {
    const std::string given = role + one + two + total + done;
    Sink sink;
    StreamMeter meter({.usage = false}, sink);
    ASSERT_TRUE(meter.feed(given));
    EXPECT_EQ(sink.text, given);
    EXPECT_EQ(sink.runs, 1) << "neighbours go out together";
    EXPECT_EQ(meter.usage(), (traffic::TokenUsage{.prompt = 7, .completion = 2}));
}

TEST(StreamMeter, usage_is_found_wherever_it_stands_in_an_event) {
    for (std::size_t pad = 0; pad < 70; ++pad) {
        Sink sink;
        StreamMeter meter({.usage = true}, sink);
        const std::string tail =
            chunk("\"pad\":\"" + std::string(pad, 'e') +
                  R"(","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2})");
        ASSERT_TRUE(meter.feed(two + tail));
        EXPECT_EQ(meter.usage(), (traffic::TokenUsage{.prompt = 7, .completion = 2})) << pad;
        EXPECT_EQ(sink.text, two);
        ASSERT_TRUE(meter.feed(chunk("\"pad\":\"" + std::string(pad, 'u') + R"(","error":{})")));
        EXPECT_TRUE(meter.error_seen()) << pad;
    }
}

TEST(StreamMeter, content_begins_with_what_a_caller_acts_on) {
    Sink sink;
    StreamMeter meter({.usage = false}, sink);
    meter.feed(role);
    EXPECT_FALSE(meter.content_seen());
    meter.feed(one);
    EXPECT_TRUE(meter.content_seen());
    meter.feed("data: {\"error\":{\"message\":\"gone\"}}\n\n");
    EXPECT_TRUE(meter.error_seen());
    EXPECT_FALSE(meter.done());
}

}  // namespace
}  // namespace tandem::gateway
