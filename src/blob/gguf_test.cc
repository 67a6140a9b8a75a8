// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "blob/gguf.h"

namespace tandem::blob {
namespace {

// Builds files byte by byte, right or wrong.
class Builder {
  public:
    std::string bytes;
    Builder& number(std::uint64_t value, int size) {
        for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
        return *this;
    }
    Builder& text(std::string_view value) {
        number(value.size(), 8);
        bytes += value;
        return *this;
    }
    Builder& start(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3,
                   std::string_view magic = "GGUF") {
        bytes += magic;
        return number(version, 4).number(tensors, 8).number(entries, 8);
    }
    Builder& text_entry(std::string_view key, std::string_view value) {
        return text(key).number(8, 4).text(value);
    }
    Builder& number_entry(std::string_view key, std::uint32_t value) {
        return text(key).number(4, 4).number(value, 4);
    }
    Builder& tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type,
                    std::uint64_t offset) {
        text(name).number(shape.size(), 4);
        for (std::uint64_t size : shape) number(size, 8);
        return number(type, 4).number(offset, 8);
    }
    Builder& data(std::size_t size) {
        bytes.resize((bytes.size() + 31) / 32 * 32);
        bytes.resize(bytes.size() + size);
        return *this;
    }
};

Builder valid() {
    Builder file;
    file.start(2, 4)
        .text_entry("general.architecture", "llama")
        .number_entry("llama.context_length", 2048);
    file.text("tokenizer.ggml.tokens")
        .number(9, 4)
        .number(8, 4)
        .number(3, 8)
        .text("a")
        .text("")
        .text("ccc");
    file.text("tokenizer.ggml.scores").number(9, 4).number(6, 4).number(3, 8).number(0, 12);
    file.tensor("token_embd.weight", {64, 100}, 8, 0).tensor("norm.weight", {64}, 0, 6816);
    return file;
}

std::string message_of(const std::string& bytes) {
    const auto facts = parse_gguf(bytes);
    if (facts) return "accepted";
    EXPECT_EQ(facts.error().code, ErrorCode::invalid);
    EXPECT_EQ(facts.error().field, "file");
    return facts.error().message;
}

TEST(gguf, facts_are_read_from_the_header) {
    const auto facts = parse_gguf(valid().data(6816 + 256).bytes);
    ASSERT_TRUE(facts.has_value()) << facts.error().message;
    EXPECT_EQ(*facts, (model::ModelFacts{.architecture = "llama",
                                         .quantisation = "Q8_0",
                                         .context_length = 2048,
                                         .parameters = 6464,
                                         .tensors = 2}));
}

TEST(gguf, file_cut_anywhere_is_refused) {
    const std::string whole = valid().data(6816 + 256).bytes;
    for (std::size_t size = 0; size < whole.size(); size += size < 600 ? 1 : 97)
        EXPECT_NE(message_of(whole.substr(0, size)).find("cut off"), std::string::npos) << size;
    EXPECT_NE(message_of(whole.substr(0, whole.size() - 1)).find("the tensors need"),
              std::string::npos);
}

TEST(gguf, wrong_files_are_refused_with_what_is_wrong) {
    struct Case {
        const char* want;
        std::function<void(Builder&)> build;
    };
    const std::uint64_t huge = ~std::uint64_t{0};
    for (const Case& c : std::vector<Case>{
             {"\"GGUF\"", [](Builder& b) { b.start(1, 0, 3, "GGML"); }},
             {"\"PK??\"", [](Builder& b) { b.start(1, 0, 3, "PK\x03\x04"); }},
             {"version 1", [](Builder& b) { b.start(1, 0, 1); }},
             {"version 4", [](Builder& b) { b.start(1, 0, 4); }},
             {"big-endian", [](Builder& b) { b.start(1, 0, 0x03000000); }},
             {"tensors", [&](Builder& b) { b.start(huge, 0); }},
             {"entries", [&](Builder& b) { b.start(1, huge); }},
             {"a key at byte 24 claims", [&](Builder& b) { b.start(1, 1).number(huge, 8); }},
             {"general.architecture",
              [&](Builder& b) {
                  b.start(1, 1).text("general.architecture").number(8, 4).number(huge, 8);
              }},
             {"unknown type 77",
              [](Builder& b) { b.start(1, 1).text("x").number(77, 4).number(0, 8); }},
             {"claims 18446744073709551615 elements",
              [&](Builder& b) {
                  b.start(1, 1).text("x").number(9, 4).number(4, 4).number(huge, 8).number(0, 8);
              }},
             {"cut off",
              [&](Builder& b) {
                  b.start(1, 1).text("x").number(9, 4).number(8, 4).number(huge, 8).number(0, 8);
              }},
             {"deeper",
              [](Builder& b) {
                  b.start(1, 1).text("x").number(9, 4);
                  for (int i = 0; i < 9; ++i) b.number(9, 4).number(1, 8);
              }},
             {"twice", [](Builder& b) { b.start(1, 2).number_entry("a", 1).number_entry("a", 1); }},
             {"dimensions", [](Builder& b) { b.start(1, 0).text("t").number(5, 4).number(0, 64); }},
             {"impossible dimension 0",
              [](Builder& b) { b.start(1, 0).tensor("t", {4, 0}, 0, 0); }},
             {"impossible dimension",
              [](Builder& b) { b.start(1, 0).tensor("t", {1ULL << 40, 1ULL << 40}, 0, 0); }},
             {"larger than any file", [&](Builder& b) { b.start(1, 0).tensor("t", {4}, 0, huge); }},
             {"the tensors need",
              [](Builder& b) {
                  b.start(1, 1)
                      .text_entry("general.architecture", "x")
                      .tensor("t", {1 << 20}, 0, 0);
              }},
             {"general.alignment",
              [](Builder& b) {
                  b.start(1, 1)
                      .number_entry("general.alignment", 7)
                      .tensor("t", {4}, 0, 0)
                      .data(16);
              }},
             {"\"general.architecture\" is missing",
              [](Builder& b) { b.start(1, 0).tensor("t", {4}, 0, 0).data(16); }},
             {"no tensors",
              [](Builder& b) { b.start(0, 1).text_entry("general.architecture", "x"); }},
         }) {
        Builder file;
        c.build(file);
        EXPECT_NE(message_of(file.bytes).find(c.want), std::string::npos)
            << c.want << " not in: " << message_of(file.bytes);
    }
}

TEST(gguf, header_above_its_limit_is_refused_without_reading_it) {
    Builder file;
    file.start(1, 1).text("x").number(9, 4).number(0, 4).number(100ULL << 20, 8);
    std::int64_t bytes_read = 0;
    const auto facts = read_gguf(
        [&](std::int64_t offset, std::int64_t length) -> Result<std::string> {
            std::string window = file.bytes.substr(
                std::min<std::size_t>(static_cast<std::size_t>(offset), file.bytes.size()));
            window.resize(static_cast<std::size_t>(length));
            bytes_read += length;
            return window;
        },
        200LL << 20);
    ASSERT_FALSE(facts.has_value());
    EXPECT_NE(facts.error().message.find("64 MiB"), std::string::npos);
    EXPECT_LT(bytes_read, 1 << 20);
}

TEST(gguf, names_from_the_file_are_shown_harmlessly) {
    Builder file;
    file.start(1, 1).text("\x1b[31m\n").number(77, 4);
    EXPECT_NE(message_of(file.bytes).find("?[31m?"), std::string::npos);
}

}  // namespace
}  // namespace tandem::blob
