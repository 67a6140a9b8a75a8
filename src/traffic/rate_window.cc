// SPDX-License-Identifier: Apache-2.0
#include "traffic/rate_window.h"

#include <algorithm>
#include <limits>

namespace tandem::traffic {
namespace {

std::size_t slot_of(std::int64_t second, std::size_t width) {
    return static_cast<std::size_t>(second % static_cast<std::int64_t>(width));
}

}  // namespace

void RateWindow::turn(Instant now) {
    const auto second = std::max(second_, now.ms / 1000);  // a clock that steps back frees nothing
    if (second - second_ >= static_cast<std::int64_t>(width)) {
        counts_.fill(0);
        total_ = 0;
        second_ = second;
        return;
    }
    while (second_ < second) {
        auto& counter = counts_[slot_of(++second_, width)];
        total_ -= counter;
        counter = 0;
    }
}

bool RateWindow::admit(Instant now, std::int64_t limit) {
    turn(now);
    auto& counter = counts_[slot_of(second_, width)];
    if (total_ >= limit || counter == std::numeric_limits<std::int32_t>::max()) return false;
    ++total_;
    ++counter;
    return true;
}

void RateWindow::assume_spent(Instant now, std::int64_t count) {
    turn(now);
    auto& counter = counts_[slot_of(second_, width)];
    const auto room = std::numeric_limits<std::int32_t>::max() - counter;
    const auto added = std::min<std::int64_t>(count, room);
    counter += static_cast<std::int32_t>(added);
    total_ += added;
}

void RateWindow::give_back(Instant admitted_at) {
    const auto second = admitted_at.ms / 1000;
    if (second > second_ || second_ - second >= static_cast<std::int64_t>(width)) return;
    auto& counter = counts_[slot_of(second, width)];
    if (counter == 0) return;
    --counter;
    --total_;
}

std::int64_t RateWindow::spent(Instant now) {
    turn(now);
    return total_;
}

Duration RateWindow::wait(Instant now, std::int64_t limit) {
    turn(now);
    auto over = total_ - limit + 1;  // this many must leave
    if (over <= 0) return {};
    if (limit <= 0) return seconds(static_cast<std::int64_t>(width));
    for (auto second = second_ - static_cast<std::int64_t>(width) + 1; second <= second_;
         ++second) {
        if (second < 0) continue;
        over -= counts_[slot_of(second, width)];
        if (over <= 0)
            return {(second + static_cast<std::int64_t>(width)) * 1000 -
                    std::max(now.ms, second_ * 1000)};
    }
    return seconds(static_cast<std::int64_t>(width));
}

}  // namespace tandem::traffic
