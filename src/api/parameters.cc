// SPDX-License-Identifier: Apache-2.0
#include "api/parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"

namespace tandem::api {
namespace {

constexpr std::size_t shown_max = 40;

std::string shown(std::string_view text) {
    return std::string(text.substr(0, shown_max)) + (text.size() > shown_max ? "..." : "");
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += between;
        text += word;
    }
    return text;
}

std::unexpected<Error> unknown_name(std::string_view name, const Parameters& known) {
    std::vector<std::string> names;
    for (const Parameter& one : known) names.push_back(one.name);
    return invalid_field(shown(name), names.empty()
                                          ? std::string("is no parameter; this path takes none")
                                          : "is no parameter here; there are " + join(names, ", "));
}

Status check_value(const Parameter& parameter, const std::string& value) {
    const auto wrong = [&](const std::string& right) -> Status {
        return invalid_field(parameter.name,
                             fmt::format("must be {}, is \"{}\"", right, shown(value)));
    };
    switch (parameter.type) {
        case ParameterType::text:
            return {};
        case ParameterType::flag:
            return value == "true" || value == "false" ? Status{} : wrong("true or false");
        case ParameterType::number: {
            const auto number = parse_integer(value);
            if (number && *number >= parameter.low && *number <= parameter.high) return {};
            return parameter.high == INT64_MAX
                       ? wrong(fmt::format("a whole number from {} on", parameter.low))
                       : wrong(fmt::format("{}..{}", parameter.low, parameter.high));
        }
        case ParameterType::choice:
            return std::ranges::find(parameter.choices, value) != parameter.choices.end()
                       ? Status{}
                       : wrong(join(parameter.choices, " or "));
    }
    return {};
}

}  // namespace

Status check_query(const http::Query& query, const Parameters& known) {
    for (auto at = query.begin(); at != query.end(); ++at) {
        const auto& [name, value] = *at;
        const auto parameter = std::ranges::find(known, name, &Parameter::name);
        if (parameter == known.end()) return unknown_name(name, known);
        const auto again = std::find_if(query.begin(), at,
                                        [&](const auto& before) { return before.first == name; });
        if (again != at) return invalid_field(name, "is given twice");
        TANDEM_TRY(check_value(*parameter, value));
    }
    return {};
}

Parameter dry_run_parameter() {
    return {.name = "dryRun", .note = "judge it, change nothing", .type = ParameterType::flag};
}

Parameter language_parameter() {
    return {.name = "lang",
            .note = "language of texts",
            .type = ParameterType::choice,
            .choices = {"en", "zh"}};
}

}  // namespace tandem::api
