// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hex.h"
#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

bool has_control_byte(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}

Status check_scope_name(std::string_view name, bool wanted, std::string_view kind,
                        std::string_view field) {
    if (wanted) return check_name(name, field);
    if (!name.empty())
        return invalid_field(std::string(field),
                             fmt::format("must be left out: a {} has none", kind));
    return {};
}

Status check_annotations(const Labels& annotations) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : annotations) {
        if (name.empty()) return invalid_field("metadata.annotations", "must have no empty name");
        bytes += name.size() + value.size();
    }
    if (static_cast<std::int64_t>(bytes) <= limits::annotation_bytes_max) return {};
    return invalid_field(
        "metadata.annotations",
        fmt::format("must have at most {} bytes, names and values together, has {}",
                    limits::annotation_bytes_max, bytes));
}

Status check_meta(const Meta& meta, Kind kind) {
    const std::string_view word = name_of(kind);
    const Scope scope = info_of(kind).scope;
    TANDEM_TRY(check_name(meta.name, "metadata.name"));
    TANDEM_TRY(check_scope_name(meta.project, scope != Scope::cluster, word, "metadata.project"));
    TANDEM_TRY(
        check_scope_name(meta.name_space, scope == Scope::name_space, word, "metadata.namespace"));
    TANDEM_TRY(check_labels(meta.labels, "metadata.labels"));
    if (meta.generation < 0)
        return invalid_field("metadata.generation",
                             fmt::format("must not be negative, is {}", meta.generation));
    return check_annotations(meta.annotations);
}

}  // namespace

Status check_range(std::int64_t value, std::int64_t low, std::int64_t high,
                   std::string_view field) {
    if (value >= low && value <= high) return {};
    return invalid_field(std::string(field),
                         fmt::format("must be {}..{}, is {}", low, high, value));
}

Status check_duration(Duration value, Duration low, Duration high, std::string_view field) {
    if (value >= low && value <= high) return {};
    return invalid_field(std::string(field),
                         fmt::format("must be {}..{}, is {}", render_duration(low),
                                     render_duration(high), render_duration(value)));
}

Status check_title(std::string_view text, std::string_view field) {
    if (has_control_byte(text))
        return invalid_field(std::string(field), "must be one line without control characters");
    if (static_cast<std::int64_t>(text.size()) <= limits::title_bytes_max) return {};
    return invalid_field(std::string(field), fmt::format("must have at most {} bytes, has {}",
                                                         limits::title_bytes_max, text.size()));
}

Status check_name_list(const std::vector<std::string>& names, std::string_view field) {
    if (static_cast<std::int64_t>(names.size()) > limits::listed_names_max)
        return invalid_field(std::string(field),
                             fmt::format("must have at most {} entries, has {}",
                                         limits::listed_names_max, names.size()));
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string where = fmt::format("{}[{}]", field, i);
        TANDEM_TRY(check_name(names[i], where));
        if (!seen.insert(names[i]).second)
            return invalid_field(where, fmt::format("\"{}\" is listed twice", names[i]));
    }
    return {};
}

Status check_digest(std::string_view digest, std::string_view field) {
    constexpr std::string_view prefix = "sha256:";
    const auto hex =
        digest.starts_with(prefix) ? parse_hex(digest.substr(prefix.size())) : std::nullopt;
    if (hex && hex->size() == 32) return {};
    return invalid_field(std::string(field), "must be \"sha256:\" and 64 digits of 0-9 and a-f");
}

Status check_public_name(std::string_view name, std::string_view field) {
    const auto word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    const bool fits = !name.empty() && name.size() <= 128 && word(name.front()) &&
                      word(name.back()) && std::ranges::all_of(name, [&](char c) {
                          return word(c) || std::string_view("._-/").contains(c);
                      });
    if (fits) return {};
    return invalid_field(std::string(field),
                         "must be 1..128 letters, digits, '.', '_', '-' and '/', starting and "
                         "ending with a letter or digit");
}

Status check_object(const Object& object) {
    TANDEM_TRY(check_meta(meta_of(object), kind_of(object)));
    return std::visit([](const auto& body) { return check_spec(body); }, object);
}

}  // namespace tandem::model
