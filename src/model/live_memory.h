// SPDX-License-Identifier: Apache-2.0
// LiveMemory: what core knows without rows (what the world told lately), as it stood when a replay segment was opened
// in the middle of a server's life. A start needs none of it: the world tells it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/input.h"

namespace tandem::model {

struct LiveTask {
    TaskName task{};
    std::int64_t step = -1;
    std::optional<Instant> beat{};
    Instant output{};
};
struct LiveStray {
    TaskName task{};
    std::string handle{};
    std::string node{};
    std::vector<DeviceShare> devices{};
    bool operator==(const LiveStray&) const = default;
};
struct LiveLoad {
    std::string gateway{};
    ServiceLoad load{};
};
struct LiveRequest {
    RowId service{};
    Instant at{};
};
struct LiveDenial {
    std::string subject{};
    Instant since{};
    std::int64_t count = 0;
};
struct LiveScale {
    RowId service{};
    std::optional<Instant> low_since{};
    std::int64_t peak = 0;
};
struct LiveWake {
    RowId workload{};
    Instant at{};
};
struct LiveMemory {
    bool recovering = false;
    std::vector<LiveTask> tasks{};
    std::vector<LiveStray> strays{};
    std::vector<LiveLoad> loads{};
    std::vector<LiveRequest> requests{};
    std::vector<LiveDenial> denials{};
    std::vector<LiveScale> scale{};
    std::vector<LiveWake> wakes{};
};

}  // namespace tandem::model
