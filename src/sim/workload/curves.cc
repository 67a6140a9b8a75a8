// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/curves.h"

#include <algorithm>

namespace tandem::sim {

void Curves::hold(Instant now, Values values) {
    if (values == held_) return;
    accumulate(now);
    held_ = std::move(values);
    for (const auto& [key, value] : held_) cells_[key];
}

void Curves::widen() {
    width_ = Duration{width_.ms * 2};
    for (auto& [key, cells] : cells_) {
        for (std::size_t i = 0; i < cells.size(); i += 2)
            cells[i / 2] = cells[i] + (i + 1 < cells.size() ? cells[i + 1] : 0);
        cells.resize((cells.size() + 1) / 2);
    }
}

void Curves::accumulate(Instant now) {
    if (now <= since_) return;
    while ((now - begin_).ms > width_.ms * buckets_max) widen();
    const std::int64_t from = (since_ - begin_).ms;
    const std::int64_t to = (now - begin_).ms;
    for (const auto& [key, value] : held_) {
        if (value == 0) continue;
        std::vector<std::int64_t>& cells = cells_[key];
        for (std::int64_t at = from; at < to;) {
            const auto cell = static_cast<std::size_t>(at / width_.ms);
            const std::int64_t end = std::min(to, static_cast<std::int64_t>(cell + 1) * width_.ms);
            if (cells.size() <= cell) cells.resize(cell + 1);
            cells[cell] += value * (end - at);
            at = end;
        }
    }
    since_ = now;
}

std::vector<std::int64_t> Curves::means(const CurveKey& key) const {
    const std::int64_t length = (since_ - begin_).ms;
    std::vector<std::int64_t> means(static_cast<std::size_t>((length + width_.ms - 1) / width_.ms));
    const auto found = cells_.find(key);
    if (found == cells_.end()) return means;
    for (std::size_t i = 0; i < means.size() && i < found->second.size(); ++i) {
        const std::int64_t begin = static_cast<std::int64_t>(i) * width_.ms;
        means[i] = found->second[i] / std::min(width_.ms, length - begin);
    }
    return means;
}

bool Curves::all_zero(CurveOf of) const {
    return std::ranges::all_of(
        held_, [of](const auto& one) { return one.first.of != of || one.second == 0; });
}

Wide Curves::integral(const CurveKey& key) const {
    Wide sum = 0;
    if (const auto found = cells_.find(key); found != cells_.end())
        for (const std::int64_t cell : found->second) sum += cell;
    return sum;
}

std::vector<CurveKey> Curves::keys() const {
    std::vector<CurveKey> keys;
    for (const auto& [key, cells] : cells_) keys.push_back(key);
    return keys;
}

}  // namespace tandem::sim
