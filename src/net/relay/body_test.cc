// SPDX-License-Identifier: Apache-2.0
#include "net/relay/body.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::relay {
namespace {

HeadFields chunked() {
    HeadFields head;
    head.framing = Framing::chunked;
    return head;
}

struct Outcome {
    std::string bytes;
    int status = 0;
    bool done = false;
    std::size_t left = 0;
};

Outcome decode(BodyDecoder decoder, std::string_view text, std::size_t cut) {
    Outcome outcome;
    for (auto part : {text.substr(0, cut), text.substr(cut)}) {
        while (!part.empty() && !decoder.done()) {
            const auto step = decoder.feed(part);
            if (!step) {
                outcome.status = step.error().status;
                return outcome;
            }
            outcome.bytes.append(step->piece);
            part.remove_prefix(step->consumed);
        }
        outcome.left = part.size();
    }
    outcome.done = decoder.done();
    return outcome;
}

TEST(BodyDecoder, chunked_body_survives_every_split) {
    const std::string text = "5\r\nhello\r\nB\r\n, you there\r\n0\r\n\r\nnext";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        const auto outcome = decode(BodyDecoder(chunked(), {}), text, cut);
        EXPECT_EQ(outcome.status, 0) << cut;
        EXPECT_TRUE(outcome.done) << cut;
        EXPECT_EQ(outcome.bytes, "hello, you there") << cut;
    }
}

TEST(BodyDecoder, tricks_with_chunks_are_refused) {
    for (const char* text :
         {"5;a=b\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n", "\r\nhello", "5\nhello\r\n",
          "0x5\r\nhello", "-1\r\n", "5\r\nhelloX\r\n", "5\r\nhello\n", "100000000\r\n",
          "0\r\nX: y\r\n\r\n", "000000005\r\nhello\r\n", "0\r\n\nX"})
        EXPECT_EQ(decode(BodyDecoder(chunked(), {}), text, 1).status, 400) << text;
}

TEST(BodyDecoder, limits_answer_413) {
    EXPECT_EQ(decode(BodyDecoder(chunked(), {.bytes_max = 4}), "5\r\nhello\r\n0\r\n\r\n", 1).status,
              413);
    EXPECT_EQ(decode(BodyDecoder(chunked(), {.chunks_max = 1}), "1\r\na\r\n1\r\nb\r\n0\r\n\r\n", 1)
                  .status,
              413);
    std::string tiny;
    for (int i = 0; i < 2000; ++i) tiny += "1\r\na\r\n";
    EXPECT_EQ(decode(BodyDecoder(chunked(), {.average_chunk_min = 64}), tiny, 1).status, 413);
    EXPECT_EQ(decode(BodyDecoder(chunked(), {}), tiny, 1).status, 0);
}

TEST(BodyDecoder, counted_body_leaves_what_follows) {
    HeadFields head;
    head.framing = Framing::length;
    head.content_length = 5;
    const auto outcome = decode(BodyDecoder(head, {}), "helloGET", 2);
    EXPECT_TRUE(outcome.done);
    EXPECT_EQ(outcome.bytes, "hello");
    EXPECT_EQ(outcome.left, 3u);
}

TEST(BodyDecoder, close_ends_only_an_unframed_body) {
    HeadFields head;
    head.framing = Framing::until_close;
    BodyDecoder open(head, {});
    EXPECT_EQ(open.feed("abc")->piece, "abc");
    EXPECT_FALSE(open.done());
    EXPECT_TRUE(open.close());
    BodyDecoder framed(chunked(), {});
    ASSERT_TRUE(framed.feed("5\r\n"));
    EXPECT_FALSE(framed.close());
}

}  // namespace
}  // namespace tandem::relay
