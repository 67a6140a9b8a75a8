// SPDX-License-Identifier: Apache-2.0
#include "executor/local/last_lines.h"

#include <gtest/gtest.h>

namespace tandem::executor {
namespace {

TEST(last_lines, few_lines_are_joined_without_empty_ones_and_control_characters) {
    EXPECT_EQ(last_lines("usage: serve\n\n\x1b[31merror: unknown\targument: --bad\r\n", 200),
              "usage: serve |  [31merror: unknown argument: --bad");
    EXPECT_EQ(last_lines("", 200), "");
    EXPECT_EQ(last_lines("\n \n", 200), "");
}

TEST(last_lines, only_the_last_four_and_only_what_fits_is_told) {
    EXPECT_EQ(last_lines("1\n2\n3\n4\n5\n6\n", 200), "3 | 4 | 5 | 6");
    EXPECT_EQ(last_lines("a long line before\nlast", 20), "last");
    EXPECT_EQ(last_lines(std::string(100, 'x') + "end", 10), "...xxxxend");
}

TEST(last_lines, what_is_no_text_becomes_question_marks_and_characters_stay_whole) {
    EXPECT_EQ(last_lines("bad \xff\xc3 end", 200), "bad ?? end");
    EXPECT_EQ(last_lines("\xe6\xa8\xa1\xe5\x9e\x8b", 200), "\xe6\xa8\xa1\xe5\x9e\x8b");
    EXPECT_EQ(last_lines("aaaa\xe6\xa8\xa1\xe5\x9e\x8b", 8), "...\xe5\x9e\x8b");
}

}  // namespace
}  // namespace tandem::executor
