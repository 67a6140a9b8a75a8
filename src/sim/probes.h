// SPDX-License-Identifier: Apache-2.0
// Rare paths of core that a campaign of seeds must have taken (TANDEM_REACHED marks them).
#pragma once

#include <array>
#include <string_view>

namespace tandem::sim {

inline constexpr std::array<std::string_view, 12> rare_paths{
    "job.retried", "job.preempted", "job.hung", "task.leftover_stopped", "task.gone", "usage.shipped_again",
    "service.replica_lost", "driver.rolled_back", "driver.segment_opened",
    "job.grew", "job.gave_surplus", "job.resized"};

}  // namespace tandem::sim
