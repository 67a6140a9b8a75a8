// SPDX-License-Identifier: Apache-2.0
#include "apps/sim/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/quantity.h"
#include "base/wide.h"

namespace tandem::apps {

Result<Words> Words::read(const std::vector<std::string>& words,
                          const std::vector<std::string>& switches) {
    Words result;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& name = words[i];
        if (!name.starts_with("--"))
            return fail(ErrorCode::invalid, fmt::format("\"{}\" is no option", name));
        std::string value;
        if (std::ranges::find(switches, name) == switches.end()) {
            if (i + 1 == words.size())
                return fail(ErrorCode::invalid, fmt::format("{}: needs a value", name));
            value = words[++i];
        }
        if (!result.given_.emplace(name, value).second)
            return fail(ErrorCode::invalid, fmt::format("{}: is given twice", name));
    }
    return result;
}

bool Words::has(const std::string& name) {
    asked_[name] = true;
    return given_.contains(name);
}

Result<std::string> Words::need(const std::string& name) {
    if (!has(name)) return fail(ErrorCode::invalid, fmt::format("{}: is required", name));
    return given_.at(name);
}

std::string Words::or_else(const std::string& name, const std::string& otherwise) {
    return has(name) ? given_.at(name) : otherwise;
}

Result<std::int64_t> Words::integer(const std::string& name, std::int64_t low, std::int64_t high,
                                    std::int64_t otherwise) {
    if (!has(name)) return otherwise;
    const auto value = parse_integer(given_.at(name));
    if (!value || *value < low || *value > high) {
        return fail(ErrorCode::invalid,
                    fmt::format("{}: must be a whole number from {} to {}", name, low, high));
    }
    return *value;
}

Result<std::string> Words::choice(const std::string& name, const std::vector<std::string>& choices,
                                  const std::string& otherwise) {
    const std::string value = or_else(name, otherwise);
    if (std::ranges::find(choices, value) != choices.end()) return value;
    return fail(ErrorCode::invalid,
                fmt::format("{}: must be one of {}", name, fmt::join(choices, ", ")));
}

Status Words::finish() const {
    for (const auto& [name, value] : given_) {
        if (!asked_.contains(name))
            return fail(ErrorCode::invalid, fmt::format("{}: is no option of this verb", name));
    }
    return {};
}

void print_figures(const std::vector<Figure>& figures, bool as_json) {
    if (!as_json) {
        for (const Figure& figure : figures)
            std::fputs(fmt::format("{:<16} {:>20}\n", figure.key, figure.text).c_str(), stdout);
        return;
    }
    std::string line;
    for (const Figure& figure : figures) {
        line += line.empty() ? "{" : ", ";
        const char* quote = figure.is_text ? "\"" : "";
        line += fmt::format("\"{}\": {}{}{}", figure.key, quote, figure.text, quote);
    }
    std::fputs((line + "}\n").c_str(), stdout);
}

std::string render_fraction(std::int64_t numerator, std::int64_t denominator, int digits) {
    Wide scale = 1;
    for (int i = 0; i < digits; ++i) scale *= 10;
    if (denominator == 0) denominator = 1;
    const bool negative = numerator < 0;
    const Wide top = static_cast<Wide>(negative ? -numerator : numerator) * scale;
    const Wide scaled = (top * 2 + denominator) / (static_cast<Wide>(denominator) * 2);
    const auto whole = static_cast<std::int64_t>(scaled / scale);
    const auto rest = static_cast<std::int64_t>(scaled % scale);
    return fmt::format("{}{}.{:0{}}", negative ? "-" : "", whole, rest, digits);
}

Status write_text(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = file && std::fclose(file) == 0;
    if (written && closed) return {};
    return fail(ErrorCode::invalid, fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace tandem::apps
