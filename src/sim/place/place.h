// SPDX-License-Identifier: Apache-2.0
// Packing pods on nodes under a placement policy: pods arrive one by one and stay; one that fits
// nowhere is dropped. What is measured: the devices allocated, in percent of all, as the demand
// that has arrived grows, and the part of all devices that is free and of no use to typical work.
// PURE: the same input gives the same figures on every machine and compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sched/policy.h"
#include "sim/place/workload.h"

namespace tandem::sim {

inline constexpr std::int64_t first_percent = 80;
inline constexpr std::int64_t percent_scale = 10'000;  // figures are percent times this

// By percent of arrived demand, from 80 (or the load, if that is less) to the load.
using Curve = std::map<std::int64_t, std::int64_t>;
struct PlaceCurves {
    Curve allocation{};
    Curve fragmented{};
};

// Where each arrival went: places in `nodes`, -1: dropped.
struct PlaceRun {
    PlaceCurves curves{};
    std::vector<int> placed{};
};

enum class MixSource : std::uint8_t { trace, learned };  // tandem alone: what it takes as typical

struct PlaceOptions {
    sched::Policy policy = sched::Policy::tandem;
    std::int64_t load = 130;  // percent
    MixSource mix = MixSource::trace;
};

PlaceRun run_place(const PlaceWorkload& work, const PlaceOptions& options, std::uint64_t seed);
// Means over runs, rounded half up.
PlaceCurves mean_of(const std::vector<PlaceCurves>& runs);

}  // namespace tandem::sim
