// SPDX-License-Identifier: Apache-2.0
// The nodes of a packing run in order of rank, with what is free on each, and the curves that come
// of it. Inside of sim/place only.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "base/wide.h"
#include "sim/place/place.h"

namespace tandem::sim {

struct Host {
    int place = 0;  // in the workload's nodes
    int model = 0;
    std::int64_t memory_left = 0;
    std::int64_t cpu_left = 0;
    std::vector<std::int32_t> left{};
    std::array<std::int32_t, sched::work_kinds> kinds{};
    std::int64_t fragmented = 0;
    sched::NodeRoom room() const { return {cpu_left, left, kinds}; }
};

std::map<int, std::int64_t> capacity_of(const PlaceWorkload& work);

class PlaceCluster {
  public:
    PlaceCluster(const PlaceWorkload& work, const sched::TypicalMix& mix, std::uint64_t seed);

    const std::vector<Host>& hosts() const { return hosts_; }
    const sched::FlavorMix& mix_of(const Host& host) const { return mix_->of(host.model); }
    // `device`: of a share; whole devices are taken in order of their index.
    void take(int rank, const sched::Ask& ask, std::int64_t memory_mib, int device);
    std::int64_t allocated() const { return allocated_; }
    std::int64_t fragmented() const { return fragmented_; }

  private:
    const sched::TypicalMix* mix_;
    std::vector<Host> hosts_{};
    std::int64_t allocated_ = 0;
    std::int64_t fragmented_ = 0;
};

// Collects the state after each arrival into curves.
class CurveBook {
  public:
    CurveBook(std::int64_t total_milli, std::int64_t load);
    void note(std::int64_t arrived, const PlaceCluster& cluster);
    PlaceCurves close() const;

  private:
    struct Sum {
        Wide allocated = 0;
        Wide fragmented = 0;
        std::int64_t count = 0;
    };
    std::int64_t total_;
    std::int64_t load_;
    std::vector<Sum> sums_{};
};

}  // namespace tandem::sim
