// SPDX-License-Identifier: Apache-2.0
// The writing side of a task's output ring: two segment files of half the size each. A segment
// starts with a header {magic, offset of its first byte}; when the one being written is full the
// other is emptied and taken. Nothing blocks the task: bytes that the disk refuses are dropped and
// counted, offsets stay dense. Owned by the shim's loop; read_output() of protocol.h is the reading
// side, in any process.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem::shim {

inline constexpr std::int64_t segment_header_bytes = 16;
const char* segment_name(int index);

class OutputRing {
  public:
    OutputRing(int folder_fd, std::int64_t ring_bytes);
    ~OutputRing();
    OutputRing(const OutputRing&) = delete;
    OutputRing& operator=(const OutputRing&) = delete;

    bool ready() const { return fds_[0] >= 0 && fds_[1] >= 0; }
    void append(std::string_view bytes);
    std::int64_t end() const { return end_; }
    std::int64_t dropped() const { return dropped_; }

  private:
    bool begin_segment(int index);

    int fds_[2] = {-1, -1};
    int active_ = 0;
    std::int64_t segment_bytes_ = 0;
    std::int64_t base_ = 0;  // offset of the active segment's first byte
    std::int64_t end_ = 0;
    std::int64_t dropped_ = 0;
};

}  // namespace tandem::shim
