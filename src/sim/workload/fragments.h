// SPDX-License-Identifier: Apache-2.0
// Fragments: what is free on a stage's nodes and of no use to what is typical there, by the measure
// of sched/mix.h. Typical is what jobs have asked for so far, ended ones too, each replica once;
// work without devices has no say, and before any came nothing is of no use. Units: milli-devices
// by flavor. Costs a pass over the rows. Thread rule: pure function.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/state.h"

namespace tandem::sim {

std::map<std::string, std::int64_t> measure_fragments(const core::State& state);

}  // namespace tandem::sim
