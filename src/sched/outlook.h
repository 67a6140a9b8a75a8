// SPDX-License-Identifier: Apache-2.0
// Outlook: when a head that is one shape of whole devices, with one domain to go to, gets its
// place, counted instead of tried: those who hold something are let go in order of their ends on
// copies of what is free by node, until as many members fit and no quota binds. Members of one
// shape take nothing from each other but what they need, so the count is what placing would find.
// What is placed later in the same plan changes the count on its own nodes alone. Inside of sched
// only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sched/quota.h"
#include "sched/releases.h"
#include "sched/types.h"

namespace tandem::sched {

// What a head wants, in numbers.
struct Wanted {
    int domain = -1;
    int flavor = no_name;
    int rule = no_name;
    int queue = -1;  // of the quota tree
    int flavor_row = -1;
    std::int64_t count = 0;
    std::int64_t size = 0;  // devices of one member
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t milli = 0;  // of all members
    std::int64_t members(std::int64_t devices, std::int64_t cpu, std::int64_t memory) const;
};

// What one domain's nodes will have when everything that leaves is gone, by position.
struct Tally {
    std::vector<std::size_t> first{};  // place of a node's first device in `held`
    std::vector<std::int32_t> held{};  // milli, by device; -1: not of the domain, or unhealthy
    std::vector<std::int32_t> free{};  // whole devices
    std::vector<std::int64_t> cpu{};
    std::vector<std::int64_t> memory{};
};

struct Outlook {
    Wanted wanted{};
    std::vector<std::int64_t> members{};  // at the start, by position
    std::int64_t total = 0;
    std::vector<QuotaRow> rows{};  // at the start, of the flavor, by queue
    std::int64_t last_end = 0;     // of those who must have left by then, the last
    RowId last{};
    std::set<RowId> passers{};   // leave for it or by then, whatever their end
    std::size_t seen_nodes = 0;  // of what this plan changed
    std::size_t seen_placed = 0;
};

// When the first of a queue without a place gets one, and who must have left by then.
struct Headway {
    bool possible = false;           // it fits once all have left that hold something
    std::optional<Instant> start{};  // absent: one of them stated no end
    std::vector<RowId> leavers{};    // of a head that is not counted
    std::optional<Outlook> outlook{};
};

// Kept for one plan.
struct Outlooks {
    struct Base {
        Tally tally{};
        std::size_t seen = 0;
    };
    std::map<int, Base> bases{};  // by domain
    std::vector<RowId> placed{};  // by this plan, in its order
};

}  // namespace tandem::sched
