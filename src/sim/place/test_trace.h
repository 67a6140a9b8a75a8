// SPDX-License-Identifier: Apache-2.0
// A trace in the openb form that fits on a page. Tests only.
#pragma once

#include <string>
#include <vector>

#include "sim/place/workload.h"

namespace tandem::sim {

// Eight nodes of three models; ten kinds of pods over a hundred rows.
inline std::string small_nodes() {
    std::string csv = "sn,cpu_milli,memory_mib,gpu,model\n";
    for (int i = 0; i < 4; ++i) csv += "n" + std::to_string(i) + ",64000,262144,4,g2\n";
    for (int i = 4; i < 6; ++i) csv += "n" + std::to_string(i) + ",32000,131072,2,t4\n";
    csv += "n6,96000,393216,8,v100\nn7,32000,131072,0,\n";
    return csv;
}

inline std::string small_pods(bool with_cpu_alone = true) {
    const std::vector<std::string> kinds{"4000,8192,1,1000,",     "6000,12288,1,460,",
                                         "8000,16384,1,1000,t4",  "2000,4096,0,0,",
                                         "16000,32768,2,1000,",   "3000,4096,1,250,v100|t4",
                                         "32000,65536,4,1000,",   "1000,2048,1,100,",
                                         "8000,8192,1,1000,v100", "64000,131072,8,1000,"};
    std::string csv = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n";
    for (int i = 0; i < 100; ++i) {
        const std::size_t kind = i % 33 == 0 ? 9 : static_cast<std::size_t>(i * 7 % 9);
        if (kind == 3 && !with_cpu_alone) continue;
        csv += "p" + std::to_string(100 + i) + "," + kinds[kind] + ",LS\n";
    }
    return csv;
}

inline PlaceWorkload small_workload(bool with_cpu_alone = true) {
    return read_place_workload({"nodes.csv", small_nodes()},
                               {"pods.csv", small_pods(with_cpu_alone)})
        .value();
}

}  // namespace tandem::sim
