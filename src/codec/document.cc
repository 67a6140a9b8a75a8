// SPDX-License-Identifier: Apache-2.0
#include "codec/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "codec/json_writer.h"

namespace tandem::codec {
namespace {

void append_value(JsonWriter& writer, const Value& value) {
    switch (value.type) {
        case ValueType::null:
            return writer.null();
        case ValueType::boolean:
            return writer.boolean(value.boolean);
        case ValueType::number:
            return writer.raw(value.text);
        case ValueType::text:
        case ValueType::scalar:
            return writer.text(value.text);
        case ValueType::array:
            writer.begin_array();
            for (const Value& item : value.items) append_value(writer, item);
            return writer.end_array();
        case ValueType::object:
            writer.begin_object();
            for (std::size_t i = 0; i < value.items.size(); ++i) {
                writer.key(value.names[i]);
                append_value(writer, value.items[i]);
            }
            return writer.end_object();
    }
}

bool is_branch(const Value& value) {
    return !value.items.empty();
}

void append_pretty(std::string& out, const Value& value, std::size_t depth) {
    if (!is_branch(value)) {
        out += render_json(value);
        return;
    }
    const bool list = value.type == ValueType::array;
    const std::size_t count = value.items.size();
    out += list ? "[\n" : "{\n";
    for (std::size_t i = 0; i < count; ++i) {
        out.append(2 * depth + 2, ' ');
        if (!list) {
            append_json_text(out, value.names[i]);
            out += ": ";
        }
        append_pretty(out, value.items[i], depth + 1);
        out += i + 1 < count ? ",\n" : "\n";
    }
    out.append(2 * depth, ' ');
    out += list ? ']' : '}';
}

// A word that any YAML reader takes as text and nothing else.
bool is_plain_word(std::string_view text) {
    constexpr std::array<std::string_view, 9> words{"true", "false", "null", "yes", "no",
                                                    "on",   "off",   "y",    "n"};
    if (text.empty() || text.size() > 200) return false;
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (std::ranges::find(words, lower) != words.end()) return false;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto fits = [&](char c) {
        return letter(c) || (c >= '0' && c <= '9') || std::string_view("_-./").contains(c);
    };
    return (letter(text.front()) || (text.front() == '/' && text.size() > 1)) &&
           std::ranges::all_of(text, fits);
}

void append_yaml_word(std::string& out, std::string_view text) {
    if (is_plain_word(text))
        out += text;
    else
        append_json_text(out, text);  // JSON's string form is YAML's double-quoted form
}

void append_yaml(std::string& out, const Value& value, std::size_t depth, bool in_list);

void append_yaml_child(std::string& out, const Value& value, std::size_t depth) {
    if (is_branch(value)) {
        out += '\n';
        append_yaml(out, value, depth, false);
        return;
    }
    out += ' ';
    if (value.type == ValueType::text || value.type == ValueType::scalar)
        append_yaml_word(out, value.text);
    else
        out += render_json(value);
    out += '\n';
}

// in_list: the cursor stands behind "- ", the first member goes there.
void append_yaml(std::string& out, const Value& value, std::size_t depth, bool in_list) {
    const std::string indent(2 * depth, ' ');
    if (value.type == ValueType::array) {
        for (const Value& item : value.items) {
            if (!in_list) out += indent;
            in_list = false;
            out += '-';
            if (is_branch(item)) {
                out += ' ';
                append_yaml(out, item, depth + 1, true);
            } else {
                append_yaml_child(out, item, depth + 1);
            }
        }
        return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (!in_list) out += indent;
        in_list = false;
        append_yaml_word(out, value.names[i]);
        out += ':';
        const Value& item = value.items[i];
        append_yaml_child(out, item, item.type == ValueType::array ? depth : depth + 1);
    }
}

}  // namespace

const Value* Value::find(std::string_view name) const {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return &items[i];
    return nullptr;
}

std::string_view Value::text_or_empty() const {
    const bool has =
        type == ValueType::text || type == ValueType::scalar || type == ValueType::number;
    return has ? std::string_view(text) : std::string_view();
}

void Value::add(std::string name, Value value) {
    names.push_back(std::move(name));
    items.push_back(std::move(value));
}

Value make_text(std::string text) {
    return Value{.type = ValueType::text, .text = std::move(text)};
}
Value make_object() {
    return Value{.type = ValueType::object};
}

std::string_view describe_type(const Value& value) {
    constexpr std::array<std::string_view, 7> names{
        "nothing", "true or false", "a number", "a text", "a word", "a list", "a group of fields"};
    return names[static_cast<std::size_t>(value.type)];
}

std::string render_json(const Value& value) {
    std::string out;
    JsonWriter writer(out);
    append_value(writer, value);
    return out;
}

std::string render_json_pretty(const Value& value) {
    std::string out;
    append_pretty(out, value, 0);
    return out + "\n";
}

std::string render_yaml(const Value& value) {
    std::string out;
    if (is_branch(value))
        append_yaml(out, value, 0, false);
    else
        append_yaml_child(out, value, 0);
    return out.starts_with(' ') ? out.substr(1) : out;
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const std::size_t left = text.size() - at;
    const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return i < left && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        // E0 must not be overlong, ED must not be a surrogate.
        const bool second = tail(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
        return second && tail(2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool second = tail(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
        return second && tail(2) && tail(3) ? 4 : 0;
    }
    return 0;
}

std::size_t find_broken_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        std::uint64_t eight = 0;
        if (text.size() - at >= sizeof eight) {
            std::memcpy(&eight, text.data() + at, sizeof eight);
            if ((eight & 0x8080808080808080U) == 0) {  // ASCII is most of it
                at += sizeof eight;
                continue;
            }
        }
        const std::size_t length = utf8_length(text, at);
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

}  // namespace tandem::codec
