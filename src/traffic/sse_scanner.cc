// SPDX-License-Identifier: Apache-2.0
#include "traffic/sse_scanner.h"

#include <algorithm>
#include <cstring>

namespace tandem::traffic {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Length of the line end at `at`: 0 none, 1, 2; npos when a CR is the last byte and LF may follow.
std::size_t line_end(std::string_view text, std::size_t at, bool at_end) {
    if (at >= text.size()) return 0;
    if (text[at] == '\n') return 1;
    if (text[at] != '\r') return 0;
    if (at + 1 < text.size()) return text[at + 1] == '\n' ? 2 : 1;
    return at_end ? 1 : npos;
}

std::size_t find_line_end(std::string_view text, std::size_t from) {
    // Streams are LF nearly always: look for that by memchr, and for a CR only before it.
    const auto* base = text.data();
    const auto* lf = static_cast<const char*>(std::memchr(base + from, '\n', text.size() - from));
    const auto until = lf ? static_cast<std::size_t>(lf - base) : text.size();
    const auto* cr = static_cast<const char*>(std::memchr(base + from, '\r', until - from));
    if (cr) return static_cast<std::size_t>(cr - base);
    return lf ? until : npos;
}

}  // namespace

std::size_t SseScanner::frame_end(std::string_view text, std::size_t from, bool at_end) {
    std::size_t at = from;
    while (at <= text.size()) {
        const auto end = at < text.size() ? find_line_end(text, at) : npos;
        if (end == npos) return npos;
        const auto size = line_end(text, end, at_end);
        if (size == npos) return npos;
        if (end == at) return end + size;  // an empty line
        at = end + size;
        const auto blank = line_end(text, at, at_end);
        if (blank == npos) return npos;
        if (blank) return at + blank;
    }
    return npos;
}

bool SseScanner::feed(std::string_view piece, SseVisitor& visitor) {
    if (!held_.empty()) {
        held_.append(piece.substr(0, frame_max + 1));
        const auto added_from = held_.size() - std::min(piece.size(), frame_max + 1);
        const auto end = frame_end(held_, 0, false);
        if (end == npos) return held_.size() <= frame_max;
        const auto taken = end - added_from;
        held_.resize(end);
        emit(held_, visitor);
        held_.clear();
        piece.remove_prefix(taken);
    }
    while (!piece.empty()) {
        const auto end = frame_end(piece, 0, false);
        if (end == npos) break;
        emit(piece.substr(0, end), visitor);
        piece.remove_prefix(end);
    }
    held_.assign(piece);
    return held_.size() <= frame_max;
}

void SseScanner::finish(SseVisitor& visitor) {
    std::string rest;
    rest.swap(held_);
    std::string_view left = rest;
    while (!left.empty()) {
        const auto end = frame_end(left, 0, true);
        emit(left.substr(0, end), visitor);
        if (end == npos) break;
        left.remove_prefix(end);
    }
}

void SseScanner::emit(std::string_view raw, SseVisitor& visitor) {
    SseFrame frame{.raw = raw, .data_at = npos};
    std::size_t at = at_start_ && raw.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    at_start_ = false;
    int lines = 0;
    while (at < raw.size()) {
        auto end = find_line_end(raw, at);
        if (end == npos) end = raw.size();
        const auto line = raw.substr(at, end - at);
        if (line.starts_with("data") && (line.size() == 4 || line[4] == ':')) {
            std::size_t skip = line.size() == 4 ? 4 : 5;
            if (skip < line.size() && line[skip] == ' ') ++skip;
            if (++lines == 1) {
                frame.data = line.substr(skip);
                frame.data_at = at + skip;
            } else {
                if (lines == 2) joined_.assign(frame.data);
                joined_.append("\n").append(line.substr(skip));
                frame.data_at = npos;
            }
        }
        at = end + std::max<std::size_t>(1, line_end(raw, end, true));
    }
    if (lines > 1) frame.data = joined_;
    frame.has_data = lines > 0;
    visitor.on_frame(frame);
}

}  // namespace tandem::traffic
