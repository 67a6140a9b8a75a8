// SPDX-License-Identifier: Apache-2.0
// WorkLimits: how much unfinished and running work somebody may have: a user, a project, a queue.
// They count jobs, an array's elements one by one; services are not counted. Devices in
// milli-devices.
#pragma once

#include <cstdint>
#include <optional>

namespace tandem::model {

inline constexpr std::int64_t unlimited = -1;

struct WorkLimits {
    std::optional<std::int64_t> submitted{};  // jobs that are not over; more are refused
    std::optional<std::int64_t> running{};    // jobs that hold capacity; more wait
    std::int64_t devices = unlimited;         // that they hold
    bool operator==(const WorkLimits&) const = default;
};

}  // namespace tandem::model
