// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tandem::sim {
namespace {

constexpr std::size_t columns_max = 4096;

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Result<CsvReader> CsvReader::open(const TraceText& trace) {
    CsvReader reader(trace);
    std::string_view line;
    do {
        if (!reader.lines_.next(line))
            return trace_error(trace, 0, {}, "is empty; a header line must be there");
    } while (trimmed(line).empty());
    TANDEM_TRY(reader.split(line));
    std::set<std::string, std::less<>> seen;
    for (std::string& name : reader.fields_) {
        name = std::string(trimmed(name));
        if (!name.empty() && !seen.insert(name).second)
            return reader.lines_.error(name, "stands twice in the header");
    }
    reader.header_ = std::move(reader.fields_);
    return reader;
}

std::optional<CsvColumn> CsvReader::find(std::string_view name) const {
    const auto at = std::ranges::find(header_, name);
    if (at == header_.end()) return std::nullopt;
    return CsvColumn{static_cast<std::size_t>(at - header_.begin())};
}

Result<CsvColumn> CsvReader::column(std::string_view name) const {
    return any_of({name});
}

Result<CsvColumn> CsvReader::any_of(const std::vector<std::string_view>& names) const {
    for (std::string_view name : names) {
        if (const auto found = find(name)) return *found;
    }
    return trace_error(*trace_, 1, names.front(),
                       fmt::format("is missing; the header has {}", fmt::join(header_, ",")));
}

Result<bool> CsvReader::next() {
    std::string_view line;
    do {
        if (!lines_.next(line)) return false;
    } while (trimmed(line).empty());
    TANDEM_TRY(split(line));
    if (fields_.size() != header_.size()) {
        return lines_.error({}, fmt::format("has {} fields, the header has {}", fields_.size(),
                                            header_.size()));
    }
    return true;
}

Status CsvReader::split(std::string_view line) {
    std::size_t count = 0;
    const auto open_field = [&]() -> std::string& {
        if (count == fields_.size()) fields_.emplace_back();
        fields_[count].clear();
        return fields_[count++];
    };
    std::size_t at = 0;
    while (true) {
        if (count == columns_max) return lines_.error({}, "has more than 4096 fields");
        std::string& field = open_field();
        if (at < line.size() && line[at] == '"') {
            for (++at;; ++at) {
                if (at >= line.size()) return lines_.error({}, "has a quote that is not closed");
                if (line[at] != '"') {
                    field += line[at];
                } else if (at + 1 < line.size() && line[at + 1] == '"') {
                    field += line[at++];
                } else {
                    break;
                }
            }
            ++at;
            if (at < line.size() && line[at] != ',')
                return lines_.error({}, "has text after a closing quote");
        } else {
            const std::size_t end = std::min(line.find(',', at), line.size());
            field = line.substr(at, end - at);
            at = end;
        }
        if (at >= line.size()) break;
        ++at;
    }
    fields_.resize(count);
    return {};
}

Result<std::int64_t> CsvReader::integer(CsvColumn column, std::int64_t low,
                                        std::int64_t high) const {
    const std::string_view number = trimmed(text(column));
    const bool whole = !number.empty() && std::ranges::all_of(number, [](char c) {
        return (c >= '0' && c <= '9') || c == '-' || c == '+';
    });
    if (!whole)
        return error(column, fmt::format("must be a whole number, is \"{}\"", number.substr(0, 60)));
    return decimal(column, 0, low, high);
}

Result<std::int64_t> CsvReader::decimal(CsvColumn column, int digits, std::int64_t low,
                                        std::int64_t high) const {
    const Result<std::int64_t> value = parse_decimal(text(column), digits);
    if (!value) return error(column, value.error().message);
    if (*value < low || *value > high)
        return error(column, fmt::format("is out of range: \"{}\"", trimmed(text(column))));
    return *value;
}

}  // namespace tandem::sim
