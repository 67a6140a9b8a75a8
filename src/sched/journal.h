// SPDX-License-Identifier: Apache-2.0
// The planner's journal: what each change of a primary table was before it. Inside of sched only.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "sched/decay.h"
#include "sched/facts.h"

namespace tandem::sched {

struct SlotAdded {
    int slot = -1;
};
struct SlotRemoved {
    int index = -1;
    std::unique_ptr<Slot> slot{};
};
struct LeavingChanged {
    int slot = -1;
};
struct DemandAdded {
    RowId workload{};
};
struct DemandTaken {
    std::unique_ptr<Demand> demand{};
};
struct OccupantBefore {
    RowId workload{};
    std::unique_ptr<OccupantFacts> facts{};
};
struct GrowthBefore {
    RowId workload{};
    std::unique_ptr<Demand> wish{};
};
struct NodeBefore {
    int name = no_name;
    std::unique_ptr<NodeFacts> facts{};
};
struct PoolBefore {
    int name = no_name;
    std::unique_ptr<PoolFacts> facts{};
};
struct BookingBefore {
    RowId id{};
    std::unique_ptr<BookingFacts> facts{};
};
struct QueueBefore {
    int name = no_name;
    std::unique_ptr<QueueFacts> facts{};
};
using UseKey = std::pair<int, int>;  // queue, flavor
// `first`: the queue was not among those to store before; taking it back takes it from them again.
struct UseBefore {
    UseKey key{};
    std::optional<Use> use{};
    bool first = false;
};
struct BucketBefore {
    int queue = no_name;
    std::optional<Bucket> bucket{};
    bool first = false;
};
using Undo =
    std::variant<SlotAdded, SlotRemoved, LeavingChanged, DemandAdded, DemandTaken, GrowthBefore,
                 OccupantBefore, NodeBefore, PoolBefore, QueueBefore, UseBefore, BucketBefore,
                 BookingBefore>;

}  // namespace tandem::sched
