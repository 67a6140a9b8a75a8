// SPDX-License-Identifier: Apache-2.0
#include "model/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "model/limits.h"

namespace tandem::model {
namespace {

constexpr std::string_view form = "must be numbers and ranges, such as \"0-9,20-40:5\"";

// Takes a number off the front of the text.
std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0 || text.front() == '-') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t step = 1;
};

std::optional<Range> read_range(std::string_view text) {
    const auto first = text.empty() ? std::nullopt : take_number(text);
    if (!first) return std::nullopt;
    Range range{*first, *first, 1};
    if (text.empty()) return range;
    if (text.front() != '-' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
    const auto last = take_number(text);
    if (!last || *last < *first) return std::nullopt;
    range.last = *last;
    if (text.empty()) return range;
    if (text.front() != ':' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
    const auto step = take_number(text);
    if (!step || *step == 0 || !text.empty()) return std::nullopt;
    range.step = *step;
    return range;
}

std::unexpected<Error> too_many(std::string field) {
    return invalid_field(std::move(field),
                         fmt::format("must make at most {} elements", limits::array_elements_max));
}

}  // namespace

Result<std::vector<std::int64_t>> array_indices(const JobArray& array, std::string_view field) {
    std::vector<std::int64_t> indices;
    if (array.indices.empty()) {
        if (array.count < 1 || array.count > limits::array_elements_max)
            return invalid_field(fmt::format("{}.count", field),
                                 fmt::format("must be 1..{}, is {}; or give indices instead",
                                             limits::array_elements_max, array.count));
        indices.resize(static_cast<std::size_t>(array.count));
        std::iota(indices.begin(), indices.end(), std::int64_t{0});
        return indices;
    }
    const std::string where = fmt::format("{}.indices", field);
    if (array.count != 0) return invalid_field(where, "can't be given together with count");
    std::string_view rest = array.indices;
    while (true) {
        const std::size_t end = rest.find(',');
        const auto range = read_range(rest.substr(0, end));
        if (!range) return invalid_field(where, std::string(form));
        if (range->last > limits::array_index_max)
            return invalid_field(where, fmt::format("must not go beyond {}, goes to {}",
                                                    limits::array_index_max, range->last));
        for (std::int64_t index = range->first; index <= range->last; index += range->step) {
            if (static_cast<std::int64_t>(indices.size()) == limits::array_elements_max)
                return too_many(where);
            indices.push_back(index);
        }
        if (end == rest.npos) break;
        rest.remove_prefix(end + 1);
    }
    std::ranges::sort(indices);
    const auto twice = std::ranges::adjacent_find(indices);
    if (twice != indices.end())
        return invalid_field(where, fmt::format("must name each index once, has {} twice", *twice));
    return indices;
}

}  // namespace tandem::model
