// SPDX-License-Identifier: Apache-2.0
#include "sim/place/cluster.h"

#include <algorithm>

namespace tandem::sim {
namespace {

std::int64_t percent_of(Wide part, Wide whole) {
    return static_cast<std::int64_t>((part * (100 * percent_scale) + whole / 2) / whole);
}

Curve average(const std::vector<PlaceCurves>& runs, Curve PlaceCurves::* which) {
    Curve mean;
    if (runs.empty()) return mean;
    for (const auto& [percent, first] : runs.front().*which) {
        std::int64_t sum = 0;
        for (const PlaceCurves& run : runs) sum += (run.*which).at(percent);
        const auto count = static_cast<std::int64_t>(runs.size());
        mean[percent] = (sum + count / 2) / count;
    }
    return mean;
}

}  // namespace

std::map<int, std::int64_t> capacity_of(const PlaceWorkload& work) {
    std::map<int, std::int64_t> capacity;
    for (const PlaceNode& node : work.nodes) capacity[node.model] += node.devices * 1000;
    return capacity;
}

PlaceCluster::PlaceCluster(const PlaceWorkload& work, const sched::TypicalMix& mix,
                           std::uint64_t seed)
    : mix_(&mix) {
    for (int place : ranks_of(work, seed)) {
        const PlaceNode& node = work.nodes[static_cast<std::size_t>(place)];
        Host& host = hosts_.emplace_back();
        host.place = place;
        host.model = node.model;
        host.memory_left = node.memory_mib;
        host.cpu_left = node.cpu_milli;
        host.left.assign(static_cast<std::size_t>(node.devices), 1000);
        host.fragmented = mix_of(host).fragmented(host.cpu_left, host.left);
        fragmented_ += host.fragmented / 1000;
    }
}

void PlaceCluster::take(int rank, const sched::Ask& ask, std::int64_t memory_mib, int device) {
    Host& host = hosts_[static_cast<std::size_t>(rank)];
    host.cpu_left -= ask.cpu_milli;
    host.memory_left -= memory_mib;
    if (ask.is_share()) {
        host.left[static_cast<std::size_t>(device)] -= static_cast<std::int32_t>(ask.devices);
    } else {
        std::int64_t wanted = ask.count();
        for (std::int32_t& milli : host.left) {
            if (wanted == 0) break;
            if (milli != 1000) continue;
            milli = 0;
            wanted -= 1;
        }
    }
    if (const auto kind = sched::kind_of(ask)) host.kinds[*kind] += 1;
    allocated_ += ask.devices;
    fragmented_ -= host.fragmented / 1000;
    host.fragmented = mix_of(host).fragmented(host.cpu_left, host.left);
    fragmented_ += host.fragmented / 1000;
}

CurveBook::CurveBook(std::int64_t total_milli, std::int64_t load)
    : total_(total_milli), load_(load), sums_(static_cast<std::size_t>(load) + 1) {}

void CurveBook::note(std::int64_t arrived, const PlaceCluster& cluster) {
    const Wide percent =
        (static_cast<Wide>(arrived) * 200 + total_) / (2 * static_cast<Wide>(total_));
    if (percent > load_) return;
    Sum& sum = sums_[static_cast<std::size_t>(percent)];
    sum.allocated += cluster.allocated();
    sum.fragmented += cluster.fragmented();
    sum.count += 1;
}

// Where nothing arrived within a percent, the one before it holds.
PlaceCurves CurveBook::close() const {
    PlaceCurves curves;
    std::int64_t allocated = 0;
    std::int64_t fragmented = 0;
    for (std::int64_t percent = 0; percent <= load_; ++percent) {
        const Sum& sum = sums_[static_cast<std::size_t>(percent)];
        if (sum.count > 0) {
            allocated = percent_of(sum.allocated, static_cast<Wide>(total_) * sum.count);
            // Kept in thousandths of a milli-device times mix_one.
            fragmented = percent_of(sum.fragmented * 1000,
                                    static_cast<Wide>(total_) * sched::mix_one * sum.count);
        }
        if (percent < std::min(first_percent, load_)) continue;
        curves.allocation[percent] = allocated;
        curves.fragmented[percent] = fragmented;
    }
    return curves;
}

PlaceCurves mean_of(const std::vector<PlaceCurves>& runs) {
    return {average(runs, &PlaceCurves::allocation), average(runs, &PlaceCurves::fragmented)};
}

}  // namespace tandem::sim
