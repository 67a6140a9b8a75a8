// SPDX-License-Identifier: Apache-2.0
// SseScanner: cuts a stream of server-sent events (WHATWG HTML, 9.2) into frames without changing a byte: a frame is
// the raw text of one event with the blank line that ends it. Line ends LF, CR LF and CR, comments, data of several
// lines, a byte order mark, and a last frame without its blank line are understood.
// A frame that lies inside one piece is handed over as a view into that piece (so neighbours stay neighbours);
// one that is cut by the network is put together first. Frames are at most `frame_max` bytes: beyond it feed()
// says no. Thread rule: one owner. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem::traffic {

struct SseFrame {
    std::string_view raw{};
    std::string_view data{};        // of the data lines, joined by LF; empty for comments and the like
    std::size_t data_at = 0;        // offset of data in raw when it is one line, else npos
    bool has_data = false;
};

class SseVisitor {
  public:
    virtual void on_frame(const SseFrame& frame) = 0;  // views die with the call

  protected:
    ~SseVisitor() = default;
};

class SseScanner {
  public:
    static constexpr std::size_t frame_max = 256 * 1024;

    bool feed(std::string_view piece, SseVisitor& visitor);
    void finish(SseVisitor& visitor);      // the stream ended: what is left is a frame of its own
    bool between_frames() const { return held_.empty(); }

  private:
    // Length of the first frame with its blank line, npos while it is incomplete.
    static std::size_t frame_end(std::string_view text, std::size_t from, bool at_end);
    void emit(std::string_view raw, SseVisitor& visitor);

    std::string held_;
    bool at_start_ = true;
    std::string joined_;
};

}  // namespace tandem::traffic
