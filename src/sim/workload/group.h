// SPDX-License-Identifier: Apache-2.0
// Group: the members of one group in a text, as the simulator's languages read them. Errors:
// invalid, with the field from the text's root and what would be right. Thread rule: one owner.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/time.h"
#include "codec/document.h"

namespace tandem::sim {

inline constexpr std::int64_t count_max = 1'000'000;

// Members of one group: each is asked for by name, and what nobody asked for is an error.
class Group {
  public:
    Group(const codec::Value& value, std::string field) : value_(value), field_(std::move(field)) {}

    Status check_form() const {
        if (value_.type == codec::ValueType::object) return {};
        return invalid_field(
            field_, fmt::format("must be a group of members, is {}", describe_type(value_)));
    }
    const codec::Value* find(const std::string& name) {
        asked_.insert(name);
        return value_.find(name);
    }
    std::string at(const std::string& name) const {
        return field_.empty() ? name : field_ + "." + name;
    }
    Result<std::string> text(const std::string& name, std::string otherwise = {}) {
        const codec::Value* found = find(name);
        if (found == nullptr) return otherwise;
        if (found->type == codec::ValueType::array || found->type == codec::ValueType::object ||
            found->text.empty())
            return invalid_field(at(name),
                                 fmt::format("must be text, is {}", describe_type(*found)));
        return found->text;
    }
    template <class Parse>
    auto amount(const std::string& name, std::int64_t otherwise, Parse parse)
        -> Result<std::int64_t> {
        TANDEM_LET(words, text(name));
        if (words.empty()) return otherwise;
        auto parsed = parse(words);
        if (!parsed) return invalid_field(at(name), parsed.error().message);
        return *parsed;
    }
    Result<std::int64_t> count(const std::string& name, std::int64_t otherwise) {
        TANDEM_LET(parsed, amount(name, otherwise, parse_integer));
        if (parsed < 0 || parsed > count_max)
            return invalid_field(at(name), fmt::format("must be 0..{}, is {}", count_max, parsed));
        return parsed;
    }
    Result<Duration> duration(const std::string& name) {
        TANDEM_LET(words, text(name));
        if (words.empty()) return Duration{};
        auto parsed = parse_duration(words);
        if (!parsed) return invalid_field(at(name), parsed.error().message);
        return *parsed;
    }
    Result<std::optional<bool>> truth(const std::string& name) {
        TANDEM_LET(words, text(name));
        const codec::Value* found = value_.find(name);
        if (found == nullptr) return std::optional<bool>{};
        if (words != "true" && words != "false")
            return invalid_field(at(name), fmt::format("must be true or false, is \"{}\"", words));
        return std::optional<bool>{words == "true"};
    }
    Result<std::optional<std::vector<std::string>>> names(const std::string& name) {
        const codec::Value* found = find(name);
        if (found == nullptr) return std::optional<std::vector<std::string>>{};
        if (found->type != codec::ValueType::array)
            return invalid_field(at(name),
                                 fmt::format("must be a list, is {}", describe_type(*found)));
        std::vector<std::string> list;
        for (const codec::Value& item : found->items) list.push_back(item.text);
        return std::optional{std::move(list)};
    }
    Status nothing_else() const {
        for (const std::string& name : value_.names) {
            if (!asked_.contains(name)) return invalid_field(at(name), "is unknown here");
        }
        return {};
    }
    const codec::Value& value() const { return value_; }

  private:
    const codec::Value& value_;
    std::string field_;
    std::set<std::string> asked_{};
};

}  // namespace tandem::sim
