// SPDX-License-Identifier: Apache-2.0
// A packing run whose places are chosen by the server's planner under its default policy: each
// arrival is a waiting workload, planned as soon as it comes. Inside of sim/place only.
#pragma once

#include "sim/place/place.h"

namespace tandem::sim {

PlaceRun run_planned(const PlaceWorkload& work, const PlaceOptions& options, std::uint64_t seed);

}  // namespace tandem::sim
