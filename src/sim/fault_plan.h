// SPDX-License-Identifier: Apache-2.0
// FaultPlan: which faults one seed allows, and how often (per mille). Each seed enables a random subset, so that a
// defect which one fault hides is found where that fault is absent. `heal` stops them all.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/random.h"

namespace tandem::sim {

enum class Fault : std::uint8_t {
    crash_before_commit, crash_after_commit, crash_between_batches, store_full,
    report_lost, report_late, report_twice, task_dies, shim_lost, task_hangs, node_flaps,
    usage_sent_twice, client_retries,
};
inline constexpr std::size_t fault_count = 13;
std::string_view name_of(Fault fault);

class FaultPlan {
  public:
    explicit FaultPlan(Random& random);
    // Does it strike now? Counts every strike.
    bool strikes(Fault fault, Random& random);
    void heal() { healed_ = true; }
    const std::map<Fault, std::int64_t>& struck() const { return struck_; }

  private:
    std::map<Fault, std::uint32_t> per_mille_;
    std::map<Fault, std::int64_t> struck_;
    bool healed_ = false;
};

}  // namespace tandem::sim
