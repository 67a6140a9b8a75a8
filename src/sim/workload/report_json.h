// SPDX-License-Identifier: Apache-2.0
// Figures of a chronicle as JSON, members of the object that the writer is in:
//   lengthSeconds, bucketMilliseconds (of the curves: entry i is the mean from i buckets on),
//   waiting: [jobs x 1000, ...],
//   flavors: [{flavor, capacityMilli: [...], usedMilli: [...], fragmentedMilli: [...],
//              usedPerMille, fragmentedPerMille}],        of all device-time
//   queues: [{queue, parent, flavor, nominalMilli, weight, usedMilli: [...], deviceSeconds,
//             borrowedDeviceSeconds, shareOfUsePerMille, shareOfBorrowedPerMille,
//             shareByWeightPerMille}],
//   classes: [{class, jobs, started, ended, evictions, deviceSeconds, usedPerMille,
//              waitSeconds: {mean, p50, p95, p99, max}, waits: [{underSeconds, jobs}, ...]}]
// In "waits" each job that started counts once, in the first range that it fits; the last has no
// bound. Devices are milli-devices. Thread rule: pure functions.
#pragma once

#include <array>

#include "codec/json_writer.h"
#include "sim/workload/chronicle.h"

namespace tandem::sim {

// Ranges of waits: shorter than so many seconds.
inline constexpr std::array<std::int64_t, 13> wait_bounds{
    1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 21'600, 86'400, 604'800};
// By range; one more than bounds.
std::array<std::int64_t, wait_bounds.size() + 1> spread_of(
    const std::vector<std::int64_t>& waits_ms);

void write_waits(codec::JsonWriter& json, const std::vector<std::int64_t>& ascending_ms);
void write_chronicle(codec::JsonWriter& json, const ChronicleFigures& figures);
// Of all classes together, ascending.
std::vector<std::int64_t> all_waits(const ChronicleFigures& figures);
Wide capacity_of(const ChronicleFigures& figures);

}  // namespace tandem::sim
