// SPDX-License-Identifier: Apache-2.0
#include "net/http/sse.h"

namespace tandem::http {

namespace {

std::unexpected<Error> too_long() {
    return fail(ErrorCode::too_large, "an event of the stream is longer than its bound");
}

}  // namespace

Result<std::vector<SseEvent>> SseReader::feed(std::string_view bytes) {
    std::vector<SseEvent> events;
    if (broken_) return too_long();
    while (!bytes.empty()) {
        if (skip_line_feed_ && bytes.front() == '\n') bytes.remove_prefix(1);
        skip_line_feed_ = false;
        std::size_t end = bytes.find_first_of("\r\n");
        std::string_view piece = bytes.substr(0, end);
        broken_ = line_.size() + piece.size() > bytes_max_;
        if (broken_) return too_long();
        line_ += piece;
        if (end == bytes.npos) break;
        skip_line_feed_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        take_line(events);
        broken_ = data_.size() > bytes_max_ + 1;
        if (broken_) return too_long();
    }
    return events;
}

void SseReader::take_line(std::vector<SseEvent>& events) {
    std::string line;
    line.swap(line_);
    std::string_view rest = line;
    if (at_start_ && rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
    at_start_ = false;
    if (rest.empty()) {
        if (has_data_) {
            data_.pop_back();
            events.push_back({.id = id_,
                              .event = event_.empty() ? "message" : event_,
                              .data = std::move(data_)});
        }
        data_.clear();
        event_.clear();
        has_data_ = false;
        return;
    }
    std::size_t colon = rest.find(':');
    std::string_view name = rest.substr(0, colon);
    std::string_view value = colon == rest.npos ? std::string_view{} : rest.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "data") {
        data_.append(value).push_back('\n');
        has_data_ = true;
    } else if (name == "event") {
        event_ = value;
    } else if (name == "id" && value.find('\0') == value.npos) {
        id_ = value;
    }
}

std::string render_sse(const SseEvent& event) {
    std::string out;
    if (!event.id.empty()) out += "id: " + event.id + "\n";
    if (event.event != "message" && !event.event.empty()) out += "event: " + event.event + "\n";
    std::string_view data = event.data;
    while (true) {
        std::size_t end = data.find_first_of("\r\n");
        out.append("data: ").append(data.substr(0, end)).push_back('\n');
        if (end == data.npos) break;
        bool pair = data.substr(end, 2) == "\r\n";
        data.remove_prefix(end + (pair ? 2 : 1));
    }
    out += '\n';
    return out;
}

}  // namespace tandem::http
