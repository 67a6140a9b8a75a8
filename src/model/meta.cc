// SPDX-License-Identifier: Apache-2.0
#include "model/meta.h"

namespace tandem::model {
namespace {

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

constexpr std::size_t name_length_max = 63;
constexpr std::size_t label_count_max = 64;
constexpr std::size_t label_key_max = 128;
constexpr std::size_t label_value_max = 256;

}  // namespace

Status check_name(std::string_view name, std::string_view field) {
    const auto bad = [&](std::string_view what) {
        std::string shown(name.substr(0, 40));
        for (char& c : shown)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
        return invalid_field(std::string(field), "must be 1..63 characters of a-z, 0-9, '-' and '.', starting and "
                                                 "ending with a letter or digit; \"" +
                                                     shown + "\" " + std::string(what));
    };
    if (name.empty()) return bad("is empty");
    if (name.size() > name_length_max) return bad("has " + std::to_string(name.size()) + " characters");
    if (!is_lower_alnum(name.front()) || !is_lower_alnum(name.back())) return bad("starts or ends with another");
    for (char c : name)
        if (!is_lower_alnum(c) && c != '-' && c != '.') return bad("contains another");
    return {};
}

Status check_labels(const Labels& labels, std::string_view field) {
    if (labels.size() > label_count_max)
        return invalid_field(std::string(field), "must have at most 64 entries, has " + std::to_string(labels.size()));
    for (const auto& [key, value] : labels) {
        const std::string where = std::string(field) + "." + key.substr(0, 40);
        if (key.empty() || key.size() > label_key_max) return invalid_field(where, "must have a key of 1..128 characters");
        if (value.size() > label_value_max)
            return invalid_field(where, "must be at most 256 characters, is " + std::to_string(value.size()));
    }
    return {};
}

}  // namespace tandem::model
