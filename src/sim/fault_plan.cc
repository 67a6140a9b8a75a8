// SPDX-License-Identifier: Apache-2.0
#include "sim/fault_plan.h"

#include <array>

namespace tandem::sim {
namespace {

struct Rate {
    std::string_view name;
    std::uint32_t per_mille;  // at most, when the seed enables it
};
// In the order of Fault.
constexpr std::array<Rate, fault_count> rates{{{"crash_before_commit", 20},
                                               {"crash_after_commit", 20},
                                               {"crash_between_batches", 20},
                                               {"store_full", 30},
                                               {"report_lost", 30},
                                               {"report_late", 200},
                                               {"report_twice", 100},
                                               {"task_dies", 100},
                                               {"shim_lost", 30},
                                               {"task_hangs", 40},
                                               {"node_flaps", 50},
                                               {"usage_sent_twice", 300},
                                               {"client_retries", 300}}};
constexpr std::uint32_t enabled_per_mille = 600;

}  // namespace

std::string_view name_of(Fault fault) { return rates[static_cast<std::size_t>(fault)].name; }

std::optional<Fault> fault_named(std::string_view name) {
    for (std::size_t i = 0; i < fault_count; ++i)
        if (rates[i].name == name) return static_cast<Fault>(i);
    return {};
}

FaultPlan::FaultPlan(Random& random, std::optional<std::set<Strike>> only)
    : only_(std::move(only)) {
    for (std::size_t i = 0; i < fault_count; ++i) {
        const bool enabled = random.chance(enabled_per_mille);
        const auto rate = static_cast<std::uint32_t>(random.below(rates[i].per_mille)) + 1;
        if (enabled) per_mille_[static_cast<Fault>(i)] = rate;
    }
    for (const Rate& rate : rates) randoms_.push_back(random.fork(rate.name));
}

bool FaultPlan::strikes(Fault fault) {
    if (healed_) return false;
    const Strike strike{fault, asks_[fault]++};
    if (only_) {
        if (!only_->contains(strike)) return false;
    } else {
        const auto rate = per_mille_.find(fault);
        if (rate == per_mille_.end()) return false;
        if (!randoms_[static_cast<std::size_t>(fault)].chance(rate->second)) return false;
    }
    struck_[fault] += 1;
    made_.push_back(strike);
    return true;
}

}  // namespace tandem::sim
