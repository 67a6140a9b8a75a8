// SPDX-License-Identifier: Apache-2.0
// Topology: how replicas of one shape are shared out over nodes that stand in domains (zone, block,
// rack, ..., host), so that all of them, or each slice of them, are inside one domain, or no two
// domains differ by more than a skew. PURE. The planner asks it with what is free, the judge with a
// snapshot, the proof of "never" with empty machines.
//
// Levels are numbered from 0, the widest; the last one is the node itself. A domain of a level is
// told by its own label and those of all wider levels; a node without the label of a level is in no
// domain of it.
//
// Exact for one shape: what it says of "fits" and "largest" is so, because replicas are alike and
// each node's room is its own. The words required, preferred, slice and balanced are those of
// Kueue's Topology Aware Scheduling, maxSkew is that of Kubernetes' topology spread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/meta.h"
#include "model/placing.h"

namespace tandem::sched {

inline constexpr int no_level = -1;
inline constexpr int unknown_level = -2;  // the pool has none of that name

// Numbers of the domains that nodes are in, by the labels of levels.
class DomainNumbers {
  public:
    explicit DomainNumbers(std::span<const std::string> labels)
        : labels_(labels.begin(), labels.end()) {}
    // Domains of a node by level, the node itself last; -1: in none.
    std::vector<int> of(const model::Labels& labels, int node);
    int host() const { return static_cast<int>(labels_.size()); }  // the level
    // no_level for an empty name.
    int level(std::string_view name) const;
    std::string level_name(int level) const;
    // "europe/b2/r7": label values from the widest level on; of a host nothing.
    std::string text(int level, int domain) const;

  private:
    struct Domain {
        int level = 0;
        std::string path{};
    };
    std::vector<std::string> labels_{};
    std::map<std::pair<int, std::string>, int> numbers_{};  // level and path
    std::vector<Domain> domains_{};
};

struct TopologyAsk {
    int required = no_level;
    int preferred = no_level;
    bool balanced = false;
    int slice_level = no_level;
    std::int64_t slice = 1;
    int spread = no_level;
    std::int64_t max_skew = 1;
    bool asks() const {
        return required != no_level || preferred != no_level || slice_level != no_level ||
               spread != no_level;
    }
    bool is_known() const {
        return required != unknown_level && preferred != unknown_level &&
               slice_level != unknown_level && spread != unknown_level;
    }
};
TopologyAsk ask_of(const model::JobPlacing& placing, const DomainNumbers& numbers);

// A node that may have replicas, whether it has room now or not.
struct Site {
    int node = -1;
    std::int64_t members = 0;  // room
    std::int64_t worth = 0;    // larger first
    std::int64_t free = 0;     // of equals with the same room, the smaller first
    std::int64_t shut = 0;     // room that it may not have for the sake of other work
    const std::vector<int>* domains = nullptr;
};

// One domain; level no_level: all there is.
struct Scope {
    int level = no_level;
    int domain = -1;
    bool holds(const Site& site) const {
        return level == no_level || (*site.domains)[static_cast<std::size_t>(level)] == domain;
    }
    bool operator==(const Scope&) const = default;
};

// How many replicas would fit inside a scope by its slices and spread.
std::int64_t room_in(const TopologyAsk& ask, std::span<const Site> sites, const Scope& scope);

// Where `count` of them fit, best first: of the level asked for, or preferred, and of the next
// wider only after that.
std::vector<Scope> scopes_for(const TopologyAsk& ask, std::span<const Site> sites,
                              std::int64_t count);

struct BestScope {
    Scope scope{};
    std::int64_t room = 0;     // the largest of any that will do
    std::int64_t domains = 0;  // how many there are
};
BestScope best_scope(const TopologyAsk& ask, std::span<const Site> sites);

// Nodes with their numbers of replicas, in order of rank. They must fit.
std::vector<std::pair<int, std::int64_t>> lay_out(const TopologyAsk& ask,
                                                  std::span<const Site> sites, const Scope& scope,
                                                  std::int64_t count);

// The domain that has least room, which keeps a spread from growing.
Scope narrowest(const TopologyAsk& ask, std::span<const Site> sites, const Scope& scope);

}  // namespace tandem::sched
