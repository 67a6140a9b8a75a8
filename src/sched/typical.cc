// SPDX-License-Identifier: Apache-2.0
// The typical mix, learned from what waits and runs, or as it was told. A function of the picture
// alone: a planner that was built anew from the same rows decides the same.
#include <algorithm>
#include <string_view>

#include "base/wide.h"
#include "sched/inside.h"

namespace tandem::sched {
namespace {

// Shares of the mix are rounded to these parts, so that a few jobs more or less leave all scores as
// they are.
constexpr std::int64_t mix_parts = 256;

}  // namespace

void Planner::Inside::count_devices(const NodeFacts& facts, std::int64_t sign) {
    for (const DeviceFacts& device : facts.devices) {
        if (!device.healthy) continue;
        std::int64_t& milli = capacity_by_flavor[device.flavor];
        milli += 1000 * sign;
        if (milli == 0) capacity_by_flavor.erase(device.flavor);
    }
}

void Planner::Inside::count_asked(const ClassKey& key, std::int64_t sign) {
    for (const ShapePart& part : key.shape) {
        const MixKey kind{part.flavor, {part.cpu_milli, part.devices}};
        std::int64_t& count = asked_counts[kind];
        count += part.count * sign;
        if (count == 0) asked_counts.erase(kind);
    }
}

void Planner::Inside::count_asked(const Slot& slot, std::int64_t sign) {
    if (slot.kind != EntryKind::allocation && slot.kind != EntryKind::claim) return;
    const MixKey key{slot.asked, {slot.cpu_milli, slot.milli}};
    std::int64_t& count = asked_counts[key];
    count += sign;
    if (count == 0) asked_counts.erase(key);
}

std::vector<MixCount> Planner::Inside::learned_counts() const {
    std::vector<std::pair<MixKey, std::int64_t>> sorted(asked_counts.begin(), asked_counts.end());
    std::ranges::sort(sorted, [this](const auto& a, const auto& b) {
        if (a.first.ask != b.first.ask) return a.first.ask < b.first.ask;
        return names.text(a.first.asked) < names.text(b.first.asked);
    });
    Wide total = 0;
    for (const auto& [key, count] : sorted) total += std::max<std::int64_t>(0, count);
    std::vector<MixCount> counts;
    for (const auto& [key, count] : sorted) {
        if (count <= 0) continue;
        const auto part =
            static_cast<std::int64_t>((static_cast<Wide>(count) * mix_parts * 2 + total) / (total * 2));
        if (part == 0) continue;
        const auto choice = flavor_choices.find(key.asked);
        counts.push_back(
            {{key.ask, choice == flavor_choices.end() ? std::vector<int>{} : choice->second.all()}, part});
    }
    return counts;
}

const TypicalMix& Planner::Inside::typical_mix() {
    if (mix_is_fresh) return mix;
    mix_is_fresh = true;
    std::vector<MixCount> counts = told_mix.empty() ? learned_counts() : told_mix;
    if (counts == mix_counts && capacity_by_flavor == mix_capacity) return mix;
    mix_counts = std::move(counts);
    mix_capacity = capacity_by_flavor;
    mix = TypicalMix(mix_counts, mix_capacity);
    capacity.forget_scores();
    return mix;
}

}  // namespace tandem::sched
