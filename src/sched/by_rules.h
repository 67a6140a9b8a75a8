// SPDX-License-Identifier: Apache-2.0
// What the planner knows for work that asks more of its places than room (by_rules.cc): which
// domain of each level a node is in, and which domains other work opens or shuts. Inside of sched
// only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/topology.h"
#include "sched/types.h"

namespace tandem::sched {

// Of one pool's levels.
struct Topology {
    DomainNumbers numbers{{}};
    std::vector<std::vector<int>> domains{};  // by the node's position, then by level
    std::map<std::pair<int, int>, std::vector<int>>
        nodes{};  // positions by (level, domain), no hosts
};

// Domains by other work: only into those of each `near`, into none of `apart`.
struct Company {
    struct Near {
        int level = no_level;
        std::set<int> domains{};
    };
    std::vector<Near> near{};
    std::set<std::pair<int, int>> apart{};  // level and domain
    bool asks() const { return !near.empty() || !apart.empty(); }
    bool admits(const std::vector<int>& domains) const;
};

// Placed work as others see it.
struct Neighbour {
    int node = -1;  // as in the topology
    const model::JobPlacing* rules = nullptr;
};
// `own`: rules of the work that is placed; neighbours are of its project, itself not among them.
Company company_of(const model::JobPlacing& own, const DomainNumbers& numbers,
                   const std::vector<std::pair<Neighbour, const std::vector<int>*>>& neighbours);

// Everything that the rules say, for their names.
std::string text_of(const model::JobPlacing& placing);

}  // namespace tandem::sched
