// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/quantity.h"
#include "cli/words.h"

namespace tandem::cli {
namespace {

constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view yellow = "\x1b[33m";
constexpr std::string_view red = "\x1b[31m";
constexpr std::string_view reset = "\x1b[0m";

std::string_view colour_of(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 14> colours{{
        {"running", green},
        {"ready", green},
        {"succeeded", green},
        {"pending", yellow},
        {"claimed", yellow},
        {"starting", yellow},
        {"stopping", yellow},
        {"updating", yellow},
        {"draining", yellow},
        {"degraded", red},
        {"failed", red},
        {"unknown", red},
        {"rollingBack", red},
        {"cancelled", yellow},
    }};
    for (const auto& [name, colour] : colours)
        if (name == word) return colour;
    return {};
}

std::uint32_t code_point(std::string_view bytes) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (bytes.size() == 1) return first;
    std::uint32_t code = first & (0x7Fu >> bytes.size());
    for (std::size_t i = 1; i < bytes.size(); ++i)
        code = code << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3Fu);
    return code;
}

// East Asian wide and fullwidth blocks (Unicode TR 11), as far as texts of this program and names
// use them.
bool is_wide(std::uint32_t c) {
    return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
           (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
           (c >= 0x20000 && c <= 0x3FFFD);
}

// "borrowedMilli" -> "BORROWED MILLI"
std::string words_of(std::string_view name) {
    std::string words;
    for (char c : name) {
        if (c >= 'A' && c <= 'Z' && !words.empty()) words += ' ';
        words += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    }
    return words;
}

std::string header_of(std::string_view name) {
    if (name.ends_with("Milli")) return words_of(name.substr(0, name.size() - 5));
    if (name == "milli") return "DEVICES";
    if (name == "deviceMs") return "DEVICE SECONDS";
    return words_of(name);
}

// A single value's name, or the title of a list: the field itself, or the word for it.
std::string label_of(const std::string& name, codec::Language language) {
    const std::string header = header_of(name);
    const std::string label = header_in(language, header);
    return label == header ? name : label;
}

std::string cell_of(std::string_view name, const codec::Value& value, codec::Language language) {
    const bool milli = name.ends_with("Milli") || name == "milli" || name == "deviceMs";
    if (milli && value.type == codec::ValueType::number)
        if (const auto amount = parse_integer(value.text)) return render_milli(*amount);
    switch (value.type) {
        case codec::ValueType::null:
            return "";
        case codec::ValueType::boolean:
            return say(language, value.boolean ? Phrase("yes") : Phrase("no"));
        case codec::ValueType::array:
        case codec::ValueType::object:
            return value.items.empty() ? "" : codec::render_json(value);
        default:
            return value.text;
    }
}

bool is_group_list(const codec::Value& value) {
    return value.type == codec::ValueType::array && !value.items.empty() &&
           std::ranges::all_of(value.items, [](const codec::Value& item) {
               return item.type == codec::ValueType::object;
           });
}

Table table_of(const codec::Value& list, codec::Language language) {
    std::vector<std::string> names;
    for (const codec::Value& item : list.items)
        for (const std::string& name : item.names)
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    Table table;
    for (const std::string& name : names) table.headers.push_back(header_in(language, header_of(name)));
    for (const codec::Value& item : list.items) {
        auto& row = table.rows.emplace_back();
        for (const std::string& name : names) {
            const codec::Value* member = item.find(name);
            row.push_back(member ? cell_of(name, *member, language) : "");
        }
    }
    return table;
}

void append_generic(std::string& out, const codec::Value& value, const std::string& title,
                    Look look) {
    std::string lists;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        const codec::Value& item = value.items[i];
        const std::string& name = value.names[i];
        const std::string label = label_of(name, look.language);
        const std::string full = title.empty() ? label : title + "." + label;
        if (is_group_list(item)) {
            const std::string head = name == "items" ? "" : full + ":\n";
            lists += (lists.empty() && out.empty() ? "" : "\n") + head +
                     render_table(table_of(item, look.language), look.colour);
        } else if (item.type == codec::ValueType::object && !item.items.empty()) {
            append_generic(lists, item, full, look);
        } else if (!(name == "items" && item.items.empty())) {
            out += full + ": " + printable(cell_of(name, item, look.language)) + "\n";
        }
    }
    out += lists;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = codec::utf8_length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::uint32_t code = length ? code_point(text.substr(at, length)) : 0;
        if (byte == '\n' || byte == '\t')
            clean += ' ';
        else if (length && code >= 0x20 && code != 0x7F && !(code >= 0x80 && code < 0xA0))
            clean += text.substr(at, length);
        else
            clean += '?';
        at += length ? length : 1;
    }
    return clean;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = std::max<std::size_t>(1, codec::utf8_length(text, at));
        width += is_wide(code_point(text.substr(at, length))) ? 2 : 1;
        at += length;
    }
    return width;
}

std::string render_table(const Table& table, bool colour) {
    std::vector<std::size_t> widths;
    for (const std::string& header : table.headers) widths.push_back(display_width(header));
    std::vector<std::vector<std::string>> rows = table.rows;
    for (auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = printable(row[i]);
            if (row[i].empty()) row[i] = "-";
            widths[i] = std::max(widths[i], display_width(row[i]));
        }
    std::string out;
    const auto append = [&](const std::vector<std::string>& row, bool coloured) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string_view paint = coloured ? colour_of(row[i]) : std::string_view();
            out += paint;
            out += row[i];
            if (!paint.empty()) out += reset;
            if (i + 1 < row.size()) out.append(widths[i] - display_width(row[i]) + 2, ' ');
        }
        out += '\n';
    };
    append(table.headers, false);
    for (const auto& row : rows) append(row, colour);
    return out;
}

std::string render_generic(const codec::Value& value, Look look) {
    std::string out;
    if (is_group_list(value)) return render_table(table_of(value, look.language), look.colour);
    if (value.type != codec::ValueType::object)
        return printable(cell_of("", value, look.language)) + "\n";
    append_generic(out, value, "", look);
    return out.empty() ? say(look.language, "nothing to show\n") : out;
}

}  // namespace tandem::cli
