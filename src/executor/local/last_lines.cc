// SPDX-License-Identifier: Apache-2.0
#include "executor/local/last_lines.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tandem::executor {
namespace {

constexpr std::string_view between = " | ";
constexpr std::string_view cut = "...";

// Bytes of the UTF-8 character that `text` begins with; 0: it begins with none.
std::size_t character_at(std::string_view text) {
    const auto first = static_cast<std::uint8_t>(text[0]);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    const auto second = static_cast<std::uint8_t>(text[1]);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    if (overlong || beyond) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<std::uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
    return length;
}

std::string cleaned(std::string_view line) {
    std::string text;
    while (!line.empty()) {
        const std::size_t length = character_at(line);
        const auto first = static_cast<std::uint8_t>(line[0]);
        if (length == 1 && (first < 0x20 || first == 0x7f))
            text += ' ';
        else
            text += length == 0 ? std::string_view("?") : line.substr(0, length);
        line.remove_prefix(std::max<std::size_t>(length, 1));
    }
    const std::size_t end = text.find_last_not_of(' ');
    return end == std::string::npos ? std::string() : text.substr(0, end + 1);
}

}  // namespace

std::string last_lines(std::string_view output, std::size_t max) {
    std::string told;
    for (std::size_t count = 0; count < last_lines_count && !output.empty();) {
        const std::size_t end = output.find_last_of("\r\n");
        const std::string line =
            cleaned(output.substr(end == std::string_view::npos ? 0 : end + 1));
        output = end == std::string_view::npos ? std::string_view() : output.substr(0, end);
        if (line.empty()) continue;
        if (told.empty()) {
            std::size_t from = line.size() > max ? line.size() - max + cut.size() : 0;
            while (from < line.size() && (static_cast<std::uint8_t>(line[from]) & 0xc0) == 0x80)
                ++from;
            told = (from > 0 ? std::string(cut) : std::string()) + line.substr(from);
        } else if (line.size() + between.size() + told.size() <= max) {
            told = line + std::string(between) + told;
        } else {
            break;
        }
        ++count;
    }
    return told;
}

}  // namespace tandem::executor
