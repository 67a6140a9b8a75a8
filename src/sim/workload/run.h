// SPDX-License-Identifier: Apache-2.0
// Runs a workload on a stage, checks what it expects, and tells what happened as one JSON object:
// {name, virtualSeconds, jobs: {total, running, pending, succeeded, failed}, starts, evictions:
// [{at, job, reason, ...}], waits: {p50, p99, max} in seconds, pending: {reason: count}, problems:
// [text]}, and the figures of report_json.h. A workload whose own operations are refused or whose expectations fail has problems.
#pragma once

#include <string>
#include <vector>

#include "sim/workload/chronicle.h"
#include "sim/workload/workload.h"

namespace tandem::sim {

struct WorkloadReport {
    std::vector<std::string> problems{};  // empty: all expectations held, no rule broke
    std::string json{};
    ChronicleFigures figures{};
};
WorkloadReport run_workload(const Workload& workload);

}  // namespace tandem::sim
