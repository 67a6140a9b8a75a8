// SPDX-License-Identifier: Apache-2.0
#include "codec/json_writer.h"

#include <array>
#include <charconv>

#include "codec/document.h"

namespace tandem::codec {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

// Of ASCII what needs no escape; nothing above it.
constexpr std::array<bool, 256> plain = [] {
    std::array<bool, 256> table{};
    for (int c = 0x20; c < 0x7f; ++c) table[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
    return table;
}();
bool is_plain(char c) {
    return plain[static_cast<unsigned char>(c)];
}

void append_escape(std::string& out, char c) {
    switch (c) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            break;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    out += "\\u00";
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

}  // namespace

void append_json_text(std::string& out, std::string_view value) {
    out += '"';
    std::size_t at = 0;
    while (at < value.size()) {
        std::size_t end = at;
        while (end < value.size() && is_plain(value[end])) ++end;
        out.append(value, at, end - at);
        at = end;
        if (at == value.size()) break;
        if (static_cast<unsigned char>(value[at]) < 0x80) {
            append_escape(out, value[at++]);
            continue;
        }
        const std::size_t length = utf8_length(value, at);
        out += length ? value.substr(at, length) : replacement;
        at += length ? length : 1;
    }
    out += '"';
}

void JsonWriter::key(std::string_view name) {
    separate();
    append_json_text(out_, name);
    out_ += ':';
    comma_ = false;
}

void JsonWriter::member(std::string_view name) {
    out_ += comma_ ? ",\"" : "\"";
    out_ += name;
    out_ += "\":";
    comma_ = false;
}

void JsonWriter::text(std::string_view value) {
    separate();
    append_json_text(out_, value);
    comma_ = true;
}

void JsonWriter::number(std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    raw({digits, static_cast<std::size_t>(end - digits)});
}

void JsonWriter::raw(std::string_view json) {
    separate();
    out_ += json;
    comma_ = true;
}

}  // namespace tandem::codec
