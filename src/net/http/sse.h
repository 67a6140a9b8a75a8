// SPDX-License-Identifier: Apache-2.0
// Server-sent events (WHATWG HTML 9.2): SseReader splits a byte stream into events, render_sse
// writes one. Lines end in LF, CR or CRLF; comments and unknown fields are skipped; several data
// lines are joined by LF. A line or an event's data longer than `bytes_max` is an error
// (too_large), after which the reader is spent. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tandem::http {

struct SseEvent {
    std::string id{};  // the last id seen, as the standard says
    std::string event = "message";
    std::string data{};

    bool operator==(const SseEvent&) const = default;
};

class SseReader {
  public:
    explicit SseReader(std::size_t bytes_max = 1024 * 1024) : bytes_max_(bytes_max) {}
    // The events that these bytes complete, in order.
    Result<std::vector<SseEvent>> feed(std::string_view bytes);

  private:
    void take_line(std::vector<SseEvent>& events);
    std::size_t bytes_max_;
    std::string line_;
    std::string data_;
    std::string event_;
    std::string id_;
    bool has_data_ = false;
    bool skip_line_feed_ = false;
    bool at_start_ = true;
    bool broken_ = false;
};

// "id: ..\nevent: ..\ndata: ..\n\n"; empty id and event "message" are left out; line ends in data
// split it.
std::string render_sse(const SseEvent& event);

}  // namespace tandem::http
