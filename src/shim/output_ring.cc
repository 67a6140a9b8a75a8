// SPDX-License-Identifier: Apache-2.0
#include "shim/output_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shim/protocol.h"

namespace tandem::shim {

namespace {

constexpr char segment_magic[8] = {'T', 'D', 'M', 'O', 'U', 'T', '1', '\n'};

struct Segment {
    int fd = -1;
    std::int64_t base = 0;
    std::int64_t end = 0;
};

std::optional<std::int64_t> read_base(int fd) {
    char header[segment_header_bytes];
    if (pread(fd, header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
        return std::nullopt;
    if (std::memcmp(header, segment_magic, sizeof segment_magic) != 0) return std::nullopt;
    std::uint64_t base = 0;
    for (int i = 0; i < 8; ++i) {
        base |= static_cast<std::uint64_t>(static_cast<unsigned char>(header[8 + i])) << (8 * i);
    }
    return static_cast<std::int64_t>(base);
}

std::optional<Segment> open_segment(int folder_fd, int index) {
    int fd = openat(folder_fd, segment_name(index), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    std::optional<std::int64_t> base = read_base(fd);
    struct stat facts{};
    if (!base || fstat(fd, &facts) != 0 || facts.st_size < segment_header_bytes) {
        close(fd);
        return std::nullopt;
    }
    return Segment{fd, *base, *base + facts.st_size - segment_header_bytes};
}

// False when the segment was taken for new bytes while it was read.
bool read_segment(const Segment& segment, OutputSlice& slice, std::size_t max) {
    std::int64_t from = slice.offset + static_cast<std::int64_t>(slice.data.size());
    if (from < segment.base || from >= segment.end || slice.data.size() >= max) return true;
    std::size_t want =
        std::min(max - slice.data.size(), static_cast<std::size_t>(segment.end - from));
    std::size_t had = slice.data.size();
    slice.data.resize(had + want);
    ssize_t got = pread(segment.fd, slice.data.data() + had, want,
                        segment_header_bytes + from - segment.base);
    slice.data.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return read_base(segment.fd) == segment.base;
}

}  // namespace

const char* segment_name(int index) {
    return index == 0 ? "output.0" : "output.1";
}

OutputRing::OutputRing(int folder_fd, std::int64_t ring_bytes) : segment_bytes_(ring_bytes / 2) {
    for (int i = 0; i < 2; ++i) {
        fds_[i] = openat(folder_fd, segment_name(i), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    if (ready()) begin_segment(0);
}

OutputRing::~OutputRing() {
    for (int fd : fds_) {
        if (fd >= 0) close(fd);
    }
}

bool OutputRing::begin_segment(int index) {
    char header[segment_header_bytes];
    std::memcpy(header, segment_magic, sizeof segment_magic);
    for (int i = 0; i < 8; ++i) {
        header[8 + i] = static_cast<char>(static_cast<std::uint64_t>(end_) >> (8 * i));
    }
    if (ftruncate(fds_[index], 0) != 0) return false;
    if (pwrite(fds_[index], header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) {
        return false;
    }
    active_ = index;
    base_ = end_;
    return true;
}

void OutputRing::append(std::string_view bytes) {
    while (!bytes.empty()) {
        std::int64_t room = base_ + segment_bytes_ - end_;
        if (room <= 0) {
            if (begin_segment(1 - active_)) continue;
            break;
        }
        std::size_t want = std::min(bytes.size(), static_cast<std::size_t>(room));
        ssize_t put =
            pwrite(fds_[active_], bytes.data(), want, segment_header_bytes + end_ - base_);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) break;
        end_ += put;
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    dropped_ += static_cast<std::int64_t>(bytes.size());
}

OutputSlice read_output(int folder_fd, std::int64_t offset, std::size_t max) {
    OutputSlice slice;
    for (int attempt = 0; attempt < 4; ++attempt) {
        std::optional<Segment> found[2] = {open_segment(folder_fd, 0), open_segment(folder_fd, 1)};
        if (found[0] && found[1] && found[1]->base < found[0]->base) std::swap(found[0], found[1]);
        if (!found[0]) std::swap(found[0], found[1]);
        slice = {};
        bool whole = true;
        if (found[0]) {
            slice.end = found[1] ? found[1]->end : found[0]->end;
            if (offset < 0) offset = std::max<std::int64_t>(slice.end + offset, 0);
            slice.offset = std::clamp(offset, found[0]->base, slice.end);
            for (const auto& segment : found) {
                whole = whole && (!segment || read_segment(*segment, slice, max));
            }
        }
        for (const auto& segment : found) {
            if (segment) close(segment->fd);
        }
        if (whole) return slice;
    }
    slice.data.clear();  // the writer laps every read: the caller asks again
    return slice;
}

}  // namespace tandem::shim
