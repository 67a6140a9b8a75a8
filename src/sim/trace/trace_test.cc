// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include "sim/trace/csv.h"

namespace tandem::sim {
namespace {

std::string gzip(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, text.size()) + 64, '\0');
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
}

TraceText trace_of(std::string text) {
    return open_trace("t.csv", std::move(text)).value();
}

// The message of the first error while all rows' column `name` is read as an integer; empty: none.
std::string read_all(const TraceText& trace, std::string_view name) {
    auto csv = CsvReader::open(trace);
    if (!csv) return csv.error().message;
    const auto column = csv->column(name);
    if (!column) return column.error().message;
    while (true) {
        const auto more = csv->next();
        if (!more) return more.error().message;
        if (!*more) return {};
        if (const auto value = csv->integer(*column); !value) return value.error().message;
    }
}

TEST(TraceText, gzip_of_two_members_is_told_by_content) {
    EXPECT_EQ(open_trace("a", gzip("one\n") + gzip("two\n"))->text, "one\ntwo\n");
    EXPECT_EQ(open_trace("a.gz", "plain\n")->text, "plain\n");
    EXPECT_EQ(open_trace("-", "\xef\xbb\xbfx\n")->text, "x\n");
}

TEST(TraceText, cut_and_broken_gzip_is_an_error_that_names_the_file) {
    std::string whole = gzip(std::string(100'000, 'x') + "tail");
    const auto cut = open_trace("cut.gz", whole.substr(0, whole.size() - 12));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().message, "cut.gz: ends in the middle of its gzip data");
    whole[12] = static_cast<char>(whole[12] ^ 0x55);
    whole[13] = static_cast<char>(whole[13] ^ 0x55);
    EXPECT_FALSE(open_trace("broken.gz", whole));
}

TEST(Csv, quoted_fields_blank_lines_and_both_line_ends_are_read) {
    const TraceText trace = trace_of("a,b\r\n\r\n\"x, \"\"y\"\"\",2\n3,\n");
    CsvReader csv = CsvReader::open(trace).value();
    ASSERT_TRUE(csv.next().value());
    EXPECT_EQ(csv.text({0}), "x, \"y\"");
    EXPECT_EQ(csv.integer({1}).value(), 2);
    EXPECT_EQ(csv.line(), 3);
    ASSERT_TRUE(csv.next().value());
    EXPECT_EQ(csv.text({1}), "");
    EXPECT_FALSE(csv.next().value());
}

TEST(Csv, errors_name_file_line_and_column) {
    EXPECT_EQ(read_all(trace_of("a,b\n1,2\n"), "c"),
              "t.csv:1: column c: is missing; the header has a,b");
    EXPECT_EQ(read_all(trace_of("a,b\n1,2\nx,2\n"), "a"),
              "t.csv:3: column a: must be a whole number, is \"x\"");
    EXPECT_EQ(read_all(trace_of("a,b\n1,2\n1.5,2\n"), "a"),
              "t.csv:3: column a: must be a whole number, is \"1.5\"");
    EXPECT_EQ(read_all(trace_of("a,b\n1\n"), "a"), "t.csv:2: has 1 fields, the header has 2");
    EXPECT_EQ(read_all(trace_of("a,b\n-1,2\n"), "a"), "t.csv:2: column a: is out of range: \"-1\"");
    EXPECT_EQ(read_all(trace_of("a,b\n99999999999999999999,2\n"), "a"),
              "t.csv:2: column a: is too large: \"99999999999999999999\"");
    EXPECT_EQ(read_all(trace_of("a,a\n1,2\n"), "a"), "t.csv:1: column a: stands twice in the header");
    EXPECT_EQ(read_all(trace_of("a,b\n\"1,2\n"), "a"), "t.csv:2: has a quote that is not closed");
    EXPECT_EQ(read_all(trace_of(""), "a"), "t.csv: is empty; a header line must be there");
}

TEST(Decimal, text_is_scaled_exactly_and_rounded_half_away_from_zero) {
    EXPECT_EQ(parse_decimal("3.25", 3).value(), 3250);
    EXPECT_EQ(parse_decimal(" -0.0005 ", 3).value(), -1);
    EXPECT_EQ(parse_decimal("0.00049", 3).value(), 0);
    EXPECT_EQ(parse_decimal("1.5e3", 0).value(), 1500);
    EXPECT_EQ(parse_decimal("25E-1", 1).value(), 25);
    EXPECT_EQ(parse_decimal("0e999999", 6).value(), 0);
    for (const char* bad : {"", "-", ".", "1e", "1x", "0x10", "nan", "inf", "1e999999"})
        EXPECT_FALSE(parse_decimal(bad, 3)) << bad;
}

}  // namespace
}  // namespace tandem::sim
