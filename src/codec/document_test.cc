// SPDX-License-Identifier: Apache-2.0
#include "codec/document.h"

#include <gtest/gtest.h>

#include "codec/json_writer.h"

namespace tandem::codec {
namespace {

std::string nested(std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
}

Value yaml(std::string_view text) {
    const auto documents = parse_yaml(text);
    EXPECT_TRUE(documents) << (documents ? "" : documents.error().message);
    if (!documents || documents->size() != 1) return {};
    return documents->front();
}

TEST(json, numbers_keep_their_text) {
    const auto value =
        parse_json(R"( {"a":0.10,"b":[-0,12345678901234567890,1e3],"c":null,"d":true} )");
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(value->find("a")->text, "0.10");
    EXPECT_EQ(value->find("b")->items[0].text, "-0");
    EXPECT_EQ(value->find("b")->items[1].text, "12345678901234567890");
    EXPECT_EQ(value->find("b")->items[2].text, "1e3");
    EXPECT_EQ(value->find("c")->type, ValueType::null);
    EXPECT_TRUE(value->find("d")->boolean);
}

TEST(json, text_with_escapes_round_trips) {
    const std::string text = "a\"b\\c\n\t\x01 \xE4\xBD\xA0 \xF0\x9F\x98\x80";
    std::string json;
    append_json_text(json, text);
    const auto value = parse_json(json);
    ASSERT_TRUE(value) << json;
    EXPECT_EQ(value->text, text);
    EXPECT_EQ(parse_json(R"("\ud83d\ude00")")->text, "\xF0\x9F\x98\x80");
}

TEST(json, broken_bytes_are_written_so_that_they_can_be_read) {
    std::string json;
    append_json_text(json, "x\xFFy\xC3");
    ASSERT_TRUE(parse_json(json));
    EXPECT_EQ(parse_json(json)->text, "x\xEF\xBF\xBDy\xEF\xBF\xBD");
}

TEST(json, bad_text_is_refused_with_its_place) {
    for (const char* bad :
         {"", "{", "{\"a\":1,}", "[1 2]", "{\"a\":1}x", "'a'", "{\"a\" 1}", "nul", "\"\xC0\x80\"",
          "\"\xED\xA0\x80\"", "\"\\ud800\"", "01", "NaN", "// c\n1", "\"a\nb\""}) {
        const auto value = parse_json(bad);
        ASSERT_FALSE(value) << bad;
        EXPECT_EQ(value.error().code, ErrorCode::invalid) << bad;
    }
    EXPECT_TRUE(parse_json("{\n\"a\": }").error().message.starts_with("line 2, column "));
}

TEST(json, key_given_twice_is_refused_by_name) {
    const auto value = parse_json(R"({"spec":{"queue":"a","x":1,"queue":"b"}})");
    ASSERT_FALSE(value);
    EXPECT_NE(value.error().message.find("\"queue\" is given twice"), std::string::npos);
}

TEST(json, limits_hold) {
    EXPECT_TRUE(parse_json(nested(64, '[', ']')));
    EXPECT_FALSE(parse_json(nested(65, '[', ']')));
    EXPECT_FALSE(parse_json(nested(100'000, '[', ']')));
    std::string many = "[0";
    for (int i = 0; i < 100'000; ++i) many += ",0";
    EXPECT_EQ(parse_json(many + "]").error().code, ErrorCode::too_large);
    EXPECT_EQ(parse_json("\"" + std::string(10'000'000, 'a') + "\"").error().code,
              ErrorCode::too_large);
}

TEST(yaml, unquoted_words_stay_open_and_quoted_ones_are_text) {
    const Value value =
        yaml("a: 0.5\nb: \"0.5\"\nc: yes\nd: ~\ne:\nf: [1, two]\ng: |\n  x\n  y\n1: one\n");
    EXPECT_EQ(value.find("a")->type, ValueType::scalar);
    EXPECT_EQ(value.find("a")->text, "0.5");
    EXPECT_EQ(value.find("b")->type, ValueType::text);
    EXPECT_EQ(value.find("c")->text, "yes");
    EXPECT_EQ(value.find("d")->type, ValueType::null);
    EXPECT_EQ(value.find("e")->type, ValueType::null);
    EXPECT_EQ(value.find("f")->items[1].text, "two");
    EXPECT_EQ(value.find("g")->text, "x\ny\n");
    EXPECT_EQ(value.find("1")->text, "one");
}

TEST(yaml, several_documents_are_read_and_empty_ones_left_out) {
    const auto documents = parse_yaml("---\na: 1\n---\n---\nb: 2\n...\n");
    ASSERT_TRUE(documents) << documents.error().message;
    ASSERT_EQ(documents->size(), 2u);
    EXPECT_EQ((*documents)[1].find("b")->text, "2");
    EXPECT_TRUE(parse_yaml("")->empty());
    EXPECT_TRUE(parse_yaml("# only words\n")->empty());
}

TEST(yaml, alias_is_a_copy) {
    const Value value = yaml("a: &x {k: [1, 2]}\nb: *x\n");
    EXPECT_EQ(*value.find("b"), *value.find("a"));
}

TEST(yaml, bomb_is_refused_before_it_unfolds) {
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 30; ++i) {
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) bomb += (j ? "," : "") + ("*a" + std::to_string(i - 1));
        bomb += "]\n";
    }
    const auto documents = parse_yaml(bomb);
    ASSERT_FALSE(documents);
    EXPECT_EQ(documents.error().code, ErrorCode::too_large);
}

TEST(yaml, loop_and_other_unusable_text_is_refused_with_a_line) {
    for (const char* bad :
         {"a: &x [1, *x]\n", "a: *nothing\n", "a: 1\na: 2\n", "a: !!binary aGk=\n", "a: [1, 2\n",
          "\ta: 1\n", "a: b: c\n", "? [a, b]\n: 1\n", "a: \"\xFF\"\n", "{a: 1}}\n", "[1]]\n",
          "{\"a\":},\"b\":[{\"c\":1}==]}\n", "%YAML 9.9.9\n---\na: 1\n"}) {
        const auto documents = parse_yaml(bad);
        ASSERT_FALSE(documents) << bad;
        EXPECT_EQ(documents.error().code, ErrorCode::invalid) << bad;
        EXPECT_TRUE(documents.error().message.starts_with("line ")) << documents.error().message;
    }
}

TEST(yaml, limits_hold) {
    EXPECT_TRUE(parse_yaml(nested(60, '[', ']')));
    EXPECT_FALSE(parse_yaml(nested(65, '[', ']')));
    EXPECT_FALSE(parse_yaml(nested(5000, '[', ']')));
    EXPECT_EQ(parse_yaml("a: " + std::string(10'000'000, 'a')).error().code, ErrorCode::too_large);
    std::string deep = "a: &a [[[[[[[[[[1]]]]]]]]]]\nb: " + std::string(60, '[') + "*a" +
                       std::string(60, ']') + "\n";
    EXPECT_FALSE(parse_yaml(deep));
}

TEST(render, yaml_reads_back_as_the_same_tree_of_text) {
    const auto value = parse_json(
        R"({"kind":"Job","e":{},"l":[],"m":{"a b":"x: y","n":"5","t":"true","s":"# no"},"list":[{"a":"1","b":["x"]},["y"],"z"],"text":"l1\nl2"})");
    ASSERT_TRUE(value);
    const std::string text = render_yaml(*value);
    const Value back = yaml(text);
    EXPECT_EQ(render_json(back), render_json(*value)) << text;
    EXPECT_TRUE(text.starts_with("kind: Job\ne: {}\nl: []\nm:\n  \"a b\": \"x: y\"\n")) << text;
}

TEST(render, pretty_json_reads_back) {
    const auto value = parse_json(R"({"a":[1,{"b":null}],"c":{}})");
    EXPECT_EQ(*parse_json(render_json_pretty(*value)), *value);
    EXPECT_EQ(render_json_pretty(*parse_json("[]")), "[]\n");
}

}  // namespace
}  // namespace tandem::codec
