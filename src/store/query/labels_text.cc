// SPDX-License-Identifier: Apache-2.0
#include "store/query/labels_text.h"

#include <charconv>

namespace tandem::store {
namespace {

void append(std::string& out, std::string_view text) {
    out += std::to_string(text.size());
    out += ':';
    out += text;
}

std::optional<std::string_view> take(std::string_view& rest) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    const auto used = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || used >= rest.size() || *end != ':' || size > rest.size() - used - 1)
        return std::nullopt;
    const std::string_view text = rest.substr(used + 1, size);
    rest.remove_prefix(used + 1 + size);
    return text;
}

}  // namespace

std::string render_labels(const model::Labels& labels) {
    std::string text;
    for (const auto& [key, value] : labels) {
        append(text, key);
        append(text, value);
    }
    return text;
}

std::optional<model::Labels> parse_labels(std::string_view text) {
    model::Labels labels;
    while (!text.empty()) {
        const auto key = take(text);
        const auto value = key ? take(text) : std::nullopt;
        if (!value || !labels.emplace(*key, *value).second) return std::nullopt;
    }
    return labels;
}

}  // namespace tandem::store
