// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "codec/document.h"
#include "store/query/continue_token.h"
#include "store/query/history_lines.h"
#include "store/query/labels_text.h"

namespace tandem::store {
namespace {

TEST(continue_token, round_trips_for_its_own_query_only) {
    core::ListQuery query{.kind = model::Kind::job, .project = "vision", .label_selector = "a=b"};
    const ContinueToken token{.version = 123'456, .last_id = 77, .remaining = 9};
    query.continue_token = render_token(token, query);
    ASSERT_TRUE(parse_token(query).has_value());
    EXPECT_EQ(*parse_token(query), token);
    core::ListQuery other = query;
    other.label_selector = "a=c";
    EXPECT_FALSE(parse_token(other).has_value());
    other = query;
    other.kind = model::Kind::service;
    EXPECT_FALSE(parse_token(other).has_value());
}

TEST(continue_token, damaged_text_is_invalid_and_named) {
    core::ListQuery query{.kind = model::Kind::job};
    const std::string good = render_token({.version = 5, .last_id = 6}, query);
    std::vector<std::string> wrongs{"x",
                                    "c1-",
                                    "c1----",
                                    "c1-5-6-0-",
                                    "c1--5-6-0-1",
                                    "c1-5-6-0",
                                    "c2" + good.substr(2),
                                    good + "0",
                                    "c1-ffffffffffffffffffff-1-0-1"};
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string wrong = good;
        wrong[i] = wrong[i] == '7' ? '8' : '7';
        wrongs.push_back(wrong);
    }
    for (const std::string& wrong : wrongs) {
        query.continue_token = wrong;
        const auto parsed = parse_token(query);
        ASSERT_FALSE(parsed.has_value()) << wrong;
        EXPECT_EQ(parsed.error().field, "continue");
    }
}

TEST(labels_text, any_bytes_round_trip) {
    for (const model::Labels& labels : {model::Labels{},
                                        {{"team", "blue"}, {"x", ""}},
                                        {{"3:a", "1:b,=\n"}, {std::string("\0k", 2), "v"}}})
        EXPECT_EQ(parse_labels(render_labels(labels)), labels);
    EXPECT_EQ(render_labels({}), "");
}

TEST(labels_text, damaged_text_is_refused) {
    for (std::string_view wrong :
         {"4:team", "4:team9:blue", "x", "-1:a1:b", "1:a1:b1:a1:c", "99999999999999999999:a"})
        EXPECT_FALSE(parse_labels(wrong).has_value()) << wrong;
}

TEST(history_lines, internal_part_of_an_object_is_text_whatever_it_holds) {
    for (const std::string internal : {"3baa3e86", "27", "a\"b", "{}"}) {
        const auto line =
            codec::parse_json(render_object_line(RowId{7}, R"({"kind":"Job"})", internal));
        ASSERT_TRUE(line) << line.error().message;
        EXPECT_EQ(line->find("internal")->text, internal);
    }
    EXPECT_EQ(render_object_line(RowId{7}, "{}", ""), R"({"object":{},"id":7})");
}

}  // namespace
}  // namespace tandem::store
