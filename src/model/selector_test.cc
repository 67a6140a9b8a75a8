// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "model/selector.h"

namespace tandem::model {
namespace {

bool selects(std::string_view text, const Labels& labels) {
    const auto parsed = parse_label_selector(text);
    EXPECT_TRUE(parsed.has_value()) << text;
    return parsed && matches_labels(*parsed, labels);
}
bool selects_field(std::string_view text, const Object& object) {
    const auto parsed = parse_field_selector(text, kind_of(object));
    EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
    return parsed && matches_fields(*parsed, selectable_fields_of(object));
}

TEST(label_selector, each_operator_selects_what_it_says) {
    const Labels labels{{"team", "blue"}, {"tier", "prod"}, {"empty", ""}};
    struct Case { std::string_view text; bool want; };
    for (const Case& c : {Case{"", true}, {"  ", true}, {"team=blue", true}, {"team==blue", true}, {"team=red", false},
                          {"team!=red", true}, {"team!=blue", false}, {"gone!=x", true}, {"team", true}, {"gone", false},
                          {"!gone", true}, {"!team", false}, {"empty=", true}, {"team=", false},
                          {" team = blue , tier != test ", true}, {"team=blue,tier=test", false}})
        EXPECT_EQ(selects(c.text, labels), c.want) << c.text;
}

TEST(label_selector, malformed_text_names_selector_and_part) {
    for (std::string_view wrong : {",", "a=b,", "a=b,,c", "=b", "!=b", "a=b=c", "a in (b,c)", "!", "!!a", "a b=c"}) {
        const auto parsed = parse_label_selector(wrong);
        ASSERT_FALSE(parsed.has_value()) << wrong;
        EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
        EXPECT_EQ(parsed.error().field, "labelSelector");
    }
    EXPECT_FALSE(parse_label_selector(std::string(5000, 'a')));
    std::string many = "a";
    for (int i = 0; i < 40; ++i) many += ",a";
    EXPECT_FALSE(parse_label_selector(many));
}

TEST(field_selector, fields_of_workloads_are_compared) {
    Job job;
    job.meta.name = "train";
    job.meta.project = "vision";
    job.spec.queue = "night";
    job.status.phase = Phase::running;
    EXPECT_TRUE(selects_field("status.phase=running,spec.queue=night,metadata.name=train,metadata.project=vision", job));
    EXPECT_FALSE(selects_field("status.phase!=running", job));
    EXPECT_FALSE(selects_field("metadata.name=other", job));
    Replica replica;
    replica.spec.owner_uid = Uid{{1, 2, 3}};
    EXPECT_TRUE(selects_field("owner=" + Uid{{1, 2, 3}}.text(), replica));
    EXPECT_FALSE(selects_field("owner=" + Uid{{1, 2, 4}}.text(), replica));
}

TEST(field_selector, unknown_fields_and_values_say_what_is_known) {
    const auto message = [](std::string_view text, Kind kind) {
        const auto parsed = parse_field_selector(text, kind);
        return parsed ? std::string() : parsed.error().field + ": " + parsed.error().message;
    };
    EXPECT_NE(message("status.colour=red", Kind::job).find("status.phase"), std::string::npos);
    EXPECT_NE(message("status.phase=runing", Kind::job).find("running"), std::string::npos);
    EXPECT_NE(message("status.phase=running", Kind::service).find("asleep"), std::string::npos);
    EXPECT_NE(message("status.phase=running", Kind::node).find("no phase"), std::string::npos);
    EXPECT_NE(message("owner=me", Kind::replica).find("24"), std::string::npos);
    EXPECT_NE(message("metadata.name", Kind::job).find("value"), std::string::npos);
    EXPECT_TRUE(message("metadata.name", Kind::job).starts_with("fieldSelector"));
}

}  // namespace
}  // namespace tandem::model
