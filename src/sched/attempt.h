// SPDX-License-Identifier: Apache-2.0
// Attempt: one try to place a demand whole, and why it failed. Inside of sched only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/by_rules.h"
#include "sched/names.h"
#include "sched/quota.h"
#include "sched/waiting.h"

namespace tandem::sched {

// Why a placement failed, for verdicts: the first constraint that bound.
struct Shortage {
    model::ReasonCode code = model::ReasonCode::none;  // what bound
    int flavor = no_name;
    std::int64_t needed = 0;  // milli-devices
    QuotaBound bound{};
    bool of_cpu_or_memory = false;
    int rule = no_name;  // which nodes were looked at
    int placing = no_name;
    std::int64_t members = 0;
};

// One attempt to place a demand whole.
struct Attempt {
    View view = View::now;
    EntryKind kind = EntryKind::allocation;
    int only_flavor = no_name;    // parts without a single flavor take this one
    bool within_nominal = false;  // without borrowing
    std::optional<Scope> only_scope{};
    std::vector<WakeKey> keys{};  // what could change a failure
    std::vector<Shortage> shortages{};
    struct Placed {
        int slot;
        std::size_t part;
        std::int64_t member;
    };
    std::vector<Placed> placed{};
    void add_key(WakeKey key);
};

// Parts in the order of their placement: those that are hardest to place come first.
std::vector<std::size_t> order_of(const Demand& demand);

}  // namespace tandem::sched
