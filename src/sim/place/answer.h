// SPDX-License-Identifier: Apache-2.0
// The answer of `tandem sim place`: one JSON object, or a table for people.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/place/place.h"

namespace tandem::sim {

struct PlaceAnswer {
    sched::Policy policy = sched::Policy::tandem;
    std::vector<std::uint64_t> seeds{};
    std::vector<PlaceCurves> runs{};     // in order of the seeds
    std::vector<PlaceCurves> learned{};  // tandem: with the mix learned from what is there
};

// {policy, seeds, shuffle, allocation: {mean: {"80": ...}, per_seed: {"42": {...}}}, fragmented:
// the same}; for tandem also learned_mix: {allocation, fragmented}.
std::string render_json(const PlaceAnswer& answer);
std::string render_table(const PlaceAnswer& answer);

}  // namespace tandem::sim
