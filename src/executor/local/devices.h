// SPDX-License-Identifier: Apache-2.0
// The devices of this machine: NVIDIA GPUs by nvidia-smi when it is there, else declared slices of
// the CPU. A cpu-slice is a device that is pinned to cores and named so everywhere; sharing cores
// between slices is done only when asked for, and shown (overCommitted). Thread rule: called once
// at start; discover_devices() runs nvidia-smi for at most ten seconds.
#pragma once

#include <string>
#include <vector>

#include "executor/local/nvidia.h"

namespace tandem::executor {

struct DeviceChoice {
    std::int64_t cpu_slices = 0;            // 0: one a core, or none where there are GPUs
    std::int64_t over_commit = 1;           // slices a core
    std::string nvidia_smi = "nvidia-smi";  // looked up in the PATH; empty: not asked
};

struct Discovery {
    std::vector<model::Device> devices{};
    std::vector<model::Fact> facts{};
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::string warning{};  // the tool is there and could not be read
};

// Errors name over_commit or cpu_slices as "--over-commit" and "--slices".
Result<Discovery> discover_devices(const DeviceChoice& choice);

// `cores` are the CPU numbers that may be used, ascending. Slices are dealt round the cores; with
// fewer slices than cores each gets its even part of them.
Result<std::vector<model::Device>> make_cpu_slices(const std::vector<int>& cores,
                                                   const DeviceChoice& choice);

std::vector<int> usable_cores();  // of this process

}  // namespace tandem::executor
