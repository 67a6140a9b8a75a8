// SPDX-License-Identifier: Apache-2.0
#include "model/meta.h"

namespace tandem::model {
namespace {

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

constexpr std::size_t name_length_max = 63;
constexpr std::size_t label_count_max = 64;
constexpr std::size_t label_key_max = 128;
constexpr std::size_t label_value_max = 128;

// Letters of every script: bytes beyond ASCII are taken as they are.
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80; }

// What a selector (a=b,c!=d,!e) can write: no blanks, and none of its own signs.
bool is_label_text(std::string_view text, std::string_view inner) {
    if (!is_alnum(text.front()) || !is_alnum(text.back())) return false;
    for (char c : text)
        if (!is_alnum(c) && inner.find(c) == std::string_view::npos) return false;
    return true;
}

std::string shown(std::string_view text) {
    std::string out(text.substr(0, 40));
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return "\"" + out + "\"";
}

Status check_label(const std::string& key, const std::string& value, std::string_view field) {
    if (key.empty() || key.size() > label_key_max || !is_label_text(key, "-_./"))
        return invalid_field(std::string(field), "label " + shown(key) + " must be 1..128 letters, digits, '-', '_', '.' "
                                                 "and '/', starting and ending with a letter or digit");
    if (value.empty() || (value.size() <= label_value_max && is_label_text(value, "-_./:@+"))) return {};
    return invalid_field(std::string(field) + "." + key, shown(value) + " must be empty, or up to 128 letters, digits, '-', "
                                                         "'_', '.', '/', ':', '@' and '+', starting and ending with a "
                                                         "letter or digit; longer text belongs into annotations");
}

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
    for (const auto& [key, value] : labels) TANDEM_TRY(check_label(key, value, field));
    return {};
}

}  // namespace tandem::model
