// SPDX-License-Identifier: Apache-2.0
// What `tandem sim place` packs: nodes and pods of the openb form.
//   nodes  sn,cpu_milli,memory_mib,gpu,model
//   pods   name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec]     gpu_milli is of each device;
//          gpu_spec names the models it may have ("A|B"), empty: any; other columns are ignored
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/mix.h"
#include "sim/trace/text.h"

namespace tandem::sim {

struct PlaceNode {
    std::string name{};
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t devices = 0;
    int model = 0;  // place in `models`
};
struct PlacePod {
    std::string name{};
    std::int64_t memory_mib = 0;
    int shape = 0;  // place in `shapes`
};
struct PlaceWorkload {
    std::vector<std::string> models{};
    std::vector<PlaceNode> nodes{};
    std::vector<PlacePod> pods{};  // by name, then by row
    std::vector<sched::MixCount>
        shapes{};                   // and how many pods have it; flavors: places in `models`
    std::int64_t total_milli = 0;   // of all devices
    std::int64_t demand_milli = 0;  // of all pods
};

Result<PlaceWorkload> read_place_workload(const TraceText& nodes, const TraceText& pods);

// The pods of one seed in order of arrival: shuffled, then pods drawn with repetition are appended,
// or drawn ones removed, until their demand is `load` percent of all devices. Places in `pods`.
std::vector<int> arrivals_of(const PlaceWorkload& work, std::uint64_t seed, std::int64_t load);
// Node places in order of their random rank, drawn once a run.
std::vector<int> ranks_of(const PlaceWorkload& work, std::uint64_t seed);
inline constexpr const char* shuffle_name = "chacha20-fisher-yates";

}  // namespace tandem::sim
