// SPDX-License-Identifier: Apache-2.0
#include "sched/mix.h"

#include <algorithm>

#include "base/wide.h"

namespace tandem::sched {
namespace {

constexpr std::int64_t coverage_percent = 95;
constexpr std::int64_t price_max = 8 * mix_one;

bool accepts(const MixShape& shape, int flavor) {
    return shape.flavors.empty() || std::ranges::binary_search(shape.flavors, flavor);
}

std::int64_t ratio(std::int64_t part, std::int64_t whole) {
    return static_cast<std::int64_t>((static_cast<Wide>(part) * mix_one + whole / 2) / whole);
}

std::int64_t sum_of(std::span<const std::int32_t> left) {
    std::int64_t sum = 0;
    for (std::int32_t milli : left) sum += milli;
    return sum;
}

}  // namespace

std::int64_t FlavorMix::fragmented(std::int64_t cpu_left,
                                   std::span<const std::int32_t> left) const {
    const std::int64_t total = sum_of(left);
    const auto row = std::ranges::upper_bound(cpus_, cpu_left) - cpus_.begin();
    if (total == 0 || row == 0) return total * mix_one;
    const std::size_t first = static_cast<std::size_t>(row - 1) * kinds_.size();
    std::int64_t usable = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const std::int64_t weight = weights_[first + k];
        if (weight == 0) continue;
        std::int64_t devices = 0;
        std::int64_t milli = 0;
        for (std::int32_t free : left) {
            const bool fits = free >= kinds_[k].each;
            devices += fits ? 1 : 0;
            milli += fits ? free : 0;
        }
        if (devices >= kinds_[k].count) usable += weight * milli;
    }
    return total * mix_one - usable;
}

std::int64_t FlavorMix::unfillable(std::int64_t cpu_left,
                                   std::span<const std::int32_t> left) const {
    std::int64_t whole = 0;
    for (std::int32_t free : left) whole += free == 1000 ? 1 : 0;
    std::int64_t usable = 0;
    for (const Item& item : items_) {
        if (item.ask.cpu_milli > cpu_left) break;  // they stand by CPU
        std::int64_t replicas = 0;
        if (item.ask.is_share()) {
            for (std::int32_t free : left) replicas += free / item.ask.devices;
        } else {
            replicas = whole / item.ask.count();
        }
        if (item.ask.cpu_milli > 0) replicas = std::min(replicas, cpu_left / item.ask.cpu_milli);
        usable += item.weight * (replicas * item.ask.devices);
    }
    return sum_of(left) * mix_one - usable;
}

TypicalMix::TypicalMix(const std::vector<MixCount>& counts,
                       const std::map<int, std::int64_t>& capacity) {
    choose(counts);
    set_prices(counts, capacity);
    for (const auto& [flavor, milli] : capacity) {
        if (flavor < 0) continue;
        if (static_cast<std::size_t>(flavor) >= flavors_.size())
            flavors_.resize(static_cast<std::size_t>(flavor) + 1);
        flavors_[static_cast<std::size_t>(flavor)] = make(flavor);
    }
}

const FlavorMix& TypicalMix::of(int flavor) const {
    if (flavor < 0 || static_cast<std::size_t>(flavor) >= flavors_.size()) return none_;
    return flavors_[static_cast<std::size_t>(flavor)];
}

void TypicalMix::choose(const std::vector<MixCount>& counts) {
    std::int64_t total = 0;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i].count <= 0) continue;
        order.push_back(i);
        total += counts[i].count;
    }
    std::ranges::sort(order, [&counts](std::size_t a, std::size_t b) {
        return counts[a].count != counts[b].count ? counts[a].count > counts[b].count : a < b;
    });
    for (std::size_t i : order) shapes_.push_back(counts[i]);
    std::int64_t covered = 0;
    std::size_t kept = 0;
    while (kept < shapes_.size() &&
           static_cast<Wide>(covered) * 100 < static_cast<Wide>(total) * coverage_percent)
        covered += shapes_[kept++].count;
    shapes_.resize(kept);
    for (MixCount& item : shapes_) item.count = ratio(item.count, covered);
}

// Demand that names several models counts for each by the model's part of their capacity.
void TypicalMix::set_prices(const std::vector<MixCount>& counts,
                            const std::map<int, std::int64_t>& capacity) {
    std::int64_t all_capacity = 0;
    for (const auto& [flavor, milli] : capacity) all_capacity += milli;
    Wide all_demand = 0;
    std::map<int, Wide> naming;
    for (const auto& [shape, count] : counts) {
        const Wide demand = static_cast<Wide>(count) * shape.ask.devices;
        all_demand += demand;
        std::int64_t named = 0;
        for (int flavor : shape.flavors) {
            const auto at = capacity.find(flavor);
            named += at == capacity.end() ? 0 : at->second;
        }
        if (named == 0) continue;
        for (int flavor : shape.flavors) {
            const auto at = capacity.find(flavor);
            if (at != capacity.end()) naming[flavor] += demand * at->second / named;
        }
    }
    if (all_demand == 0) return;
    for (const auto& [flavor, demand] : naming) {
        const std::int64_t own = capacity.at(flavor);
        if (own == 0) continue;
        // Demand is at most 2^20 milli a replica and 2^40 replicas: the product stays below 2^124.
        const Wide share = demand * mix_one / all_demand * all_capacity / own;
        prices_[flavor] = static_cast<std::int64_t>(std::min<Wide>(share, price_max));
    }
}

FlavorMix TypicalMix::make(int flavor) const {
    FlavorMix mix;
    const auto price = prices_.find(flavor);
    mix.price_ = price == prices_.end() ? 0 : price->second;
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> kinds;
    for (const MixCount& item : shapes_) {
        if (item.shape.ask.devices == 0 || !accepts(item.shape, flavor)) continue;
        mix.items_.push_back({item.shape.ask, item.count});
        mix.cpus_.push_back(item.shape.ask.cpu_milli);
        const auto [kind, added] = kinds.try_emplace(
            {item.shape.ask.count(), item.shape.ask.each()}, mix.kinds_.size());
        if (added) mix.kinds_.push_back({kind->first.first, kind->first.second});
    }
    std::ranges::sort(mix.items_, {}, &FlavorMix::Item::ask);  // CPU first
    std::ranges::sort(mix.cpus_);
    mix.cpus_.erase(std::ranges::unique(mix.cpus_).begin(), mix.cpus_.end());
    mix.weights_.resize(mix.cpus_.size() * mix.kinds_.size());
    for (const FlavorMix::Item& item : mix.items_) {
        const std::size_t kind = kinds.at({item.ask.count(), item.ask.each()});
        for (std::size_t row = 0; row < mix.cpus_.size(); ++row) {
            if (mix.cpus_[row] >= item.ask.cpu_milli)
                mix.weights_[row * mix.kinds_.size() + kind] += item.weight;
        }
    }
    return mix;
}

}  // namespace tandem::sched
