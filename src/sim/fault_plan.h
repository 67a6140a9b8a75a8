// SPDX-License-Identifier: Apache-2.0
// FaultPlan: which faults one seed allows, and how often (per mille). Each seed enables a random subset, so that a
// defect which one fault hides is found where that fault is absent. `heal` stops them all.
// Each kind has random numbers of its own, so that one that is left out moves no other. Told which strikes to
// make, it makes those and no others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace tandem::sim {

enum class Fault : std::uint8_t {
    crash_before_commit, crash_after_commit, crash_between_batches, store_full,
    report_lost, report_late, report_twice, task_dies, shim_lost, task_hangs, node_flaps,
    usage_sent_twice, client_retries,
};
inline constexpr std::size_t fault_count = 13;
std::string_view name_of(Fault fault);
std::optional<Fault> fault_named(std::string_view name);

// The ask-th time that it might have struck, from 0.
struct Strike {
    Fault fault = Fault::crash_before_commit;
    std::int64_t ask = 0;
    auto operator<=>(const Strike&) const = default;
};

class FaultPlan {
  public:
    FaultPlan(Random& random, std::optional<std::set<Strike>> only);
    // Does it strike now? Notes every strike.
    bool strikes(Fault fault);
    void heal() { healed_ = true; }
    const std::map<Fault, std::int64_t>& struck() const { return struck_; }
    const std::vector<Strike>& strikes_made() const { return made_; }

  private:
    std::map<Fault, std::uint32_t> per_mille_;
    std::optional<std::set<Strike>> only_;
    std::vector<Random> randoms_;  // in the order of Fault
    std::map<Fault, std::int64_t> asks_;
    std::map<Fault, std::int64_t> struck_;
    std::vector<Strike> made_;
    bool healed_ = false;
};

}  // namespace tandem::sim
