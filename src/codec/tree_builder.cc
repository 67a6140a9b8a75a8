// SPDX-License-Identifier: Apache-2.0
#include "codec/tree_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::codec {
namespace {

constexpr std::size_t fields_usual = 8;

// A key that stands twice.
std::optional<std::string_view> find_double(const std::vector<std::string>& names) {
    constexpr std::size_t few = 8;
    if (names.size() <= few) {
        for (std::size_t i = 1; i < names.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (names[i] == names[j]) return names[i];
        return std::nullopt;
    }
    std::vector<std::string_view> sorted(names.begin(), names.end());
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return std::nullopt;
    return *twice;
}

}  // namespace

Value* TreeBuilder::place(Value value) {
    if (open_.empty()) {
        root_ = std::move(value);
        return &root_;
    }
    Branch& parent = open_.back();
    if (parent.value.items.empty()) parent.value.items.reserve(fields_usual);
    if (parent.value.type == ValueType::object) {
        if (parent.value.names.empty()) parent.value.names.reserve(fields_usual);
        parent.value.names.push_back(std::move(parent.key));
    }
    parent.has_key = false;
    return &parent.value.items.emplace_back(std::move(value));
}

void TreeBuilder::count(std::size_t values) {
    values_ += values;
    if (values_ > document_values_max)
        fail_with({ErrorCode::too_large,
                   "the document has more than 100,000 values (aliases count as often as they are "
                   "used)"});
}

void TreeBuilder::leaf(Value value) {
    count(1);
    if (!error_) place(std::move(value));
}

void TreeBuilder::begin(ValueType type) {
    count(1);
    if (open_.size() >= document_depth_max)
        fail_with({ErrorCode::invalid, "the document is nested deeper than 64 levels"});
    if (!error_) open_.push_back({.value = {.type = type}});
}

Value* TreeBuilder::end() {
    if (error_) return nullptr;
    Value value = std::move(open_.back().value);
    open_.pop_back();
    if (const auto twice = find_double(value.names)) {
        fail_with({ErrorCode::invalid,
                   fmt::format("the field \"{}\" is given twice", twice->substr(0, 60))});
        return nullptr;
    }
    return place(std::move(value));
}

void TreeBuilder::key(std::string name) {
    count(1);
    if (error_) return;
    open_.back().key = std::move(name);
    open_.back().has_key = true;
}

std::string place_of(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == before.npos ? before.size() + 1 : before.size() - start;
    return fmt::format("line {}, column {}", line, column);
}

Status check_document_text(std::string_view text) {
    if (text.size() > document_bytes_max)
        return fail(ErrorCode::too_large,
                    fmt::format("the document has {} bytes, at most {} (8 MiB) are taken",
                                text.size(), document_bytes_max));
    if (const std::size_t at = find_broken_utf8(text); at != text.npos)
        return fail(ErrorCode::invalid,
                    fmt::format("{}: the text is not UTF-8", place_of(text, at)));
    return {};
}

}  // namespace tandem::codec
