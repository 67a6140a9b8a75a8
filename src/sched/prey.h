// SPDX-License-Identifier: Apache-2.0
// Who may be asked to leave for a demand, and what that would cost. Inside of sched only.
//
// Protection: on every level up to the common ancestor of two queues, a quota protects the work
// that it can hold, in order of precedence: what can't be asked to leave, then larger priority,
// earlier start, earlier id. What no quota on the way protects is borrowed, and may be taken back.
//
// Surplus members of elastic jobs are protected from nobody, and protect nothing: all else counts
// as if they weren't there. They go first, the youngest before the others.
//
// Price of a set of victims: first the devices of the graver groups (own work by priority; before
// it borrowed work; before that what queues of weight 0 borrow), then what is lost: device-time
// since the last complete checkpoint, the time to restart, and a penalty for each earlier eviction.
// Adding a victim never makes a set cheaper.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sched/inside.h"

namespace tandem::sched {

struct Price {
    Wide grave = 0;
    Wide lost = 0;
    Price operator+(const Price& other) const { return {grave + other.grave, lost + other.lost}; }
    bool operator<(const Price& other) const {
        return grave != other.grave ? grave < other.grave : lost < other.lost;
    }
    bool operator==(const Price&) const = default;
};

enum class Group : std::uint8_t { surplus, weightless, borrowed, own };

struct Victim {
    RowId workload{};
    Group group = Group::own;
    model::ReasonCode why = model::ReasonCode::preempted;
    std::int64_t priority = 0;
    std::int64_t milli = 0;
    std::int64_t lost = 0;  // milli-device-milliseconds, with what a restart and being evicted again cost
    std::int64_t work = 0;  // of it, what was done since the last checkpoint
    Wide faded = 0;         // decayed use of its queue, for the weightless
    Instant started{};
    bool spare = false;  // leaves before whole work of its kind
    int branch = -1;  // fair share: the child of the common ancestor that it stands below
    Price price{};
};

// How many of them the limits on evictions count: surplus is there to be given.
std::int64_t rationed(std::span<const Victim> list);

// Sorts cheapest first and sets the prices of what stands in one list.
void order_victims(std::vector<Victim>& victims);

// What a workload has of one flavor.
struct Holding {
    RowId workload{};
    bool preemptible = true;
    std::int64_t priority = 0;
    Instant started{};
    std::int64_t milli = 0;
    bool open = false;        // no quota protects it
    bool surplus = false;     // of no right of its own
    bool weightless = false;  // its queue, or one above, borrows at weight 0
};

// Holdings at and below each (node, flavor row), judged once for as long as nobody's protection can
// have changed. Ordered by precedence.
struct Planner::Inside::Judgements {
    const Inside& inside;
    std::map<std::pair<int, int>, std::vector<Holding>> judged{};

    const std::vector<Holding>& of(int node, int flavor_row);
    // An inner node's own work stands beside its children, with what the node itself is given.
    std::vector<Holding> beside_children(int node, int flavor_row) const;
    // Work that quotas on the way up protect, and would not protect the demand in its place: others
    // could take back from the demand what it takes there, and the one that left would come back.
    std::set<RowId> shielded_from(int node, const Need& need, const Holding& demand);

  private:
    std::vector<Holding> own_of(int node, int flavor_row) const;
};

}  // namespace tandem::sched
