// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's tool says about a machine's GPUs. PURE text readers, no process is started here.
// Format of the table: nvidia-smi(1), --query-gpu and --format=csv: one header line of property
// names, some with a unit in brackets, then one line a GPU; values may be "[N/A]" or "[Not
// Supported]". Format of the log: nvidia-smi -q -x, an XML document <nvidia_smi_log> with one <gpu>
// element a GPU.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/capacity.h"

namespace tandem::executor {

// The properties asked for, as --query-gpu takes them.
inline constexpr std::string_view nvidia_query =
    "index,uuid,name,memory.total,driver_version,pci.bus_id,compute_cap,mig.mode.current";

struct NvidiaReading {
    std::vector<model::Device> devices{};
    std::vector<model::Fact> facts{};  // gpu<index>.<property>, as the tool names it
};

// Columns are found by the header, in any order; index, uuid and name are needed. The error names
// the column.
Result<NvidiaReading> parse_nvidia_table(std::string_view csv);
// Facts that only the log has (CUDA version, ECC mode, product brand and architecture).
std::vector<model::Fact> parse_nvidia_log(std::string_view xml);

// "NVIDIA A100-SXM4-80GB" -> "nvidia-a100-sxm4-80gb": the flavor that a manifest asks for.
std::string flavor_of(std::string_view model);

}  // namespace tandem::executor
