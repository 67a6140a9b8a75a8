// SPDX-License-Identifier: Apache-2.0
// What the planner keeps to make the next snapshot out of the one before. Inside of sched only.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "sched/snapshot.h"
#include "sched/waiting.h"

namespace tandem::sched {

// What changed since the last snapshot; may name one thing several times. Kept only while `on`.
struct Unshown {
    bool on = false;
    bool tables = true;  // queues, flavors, who owns what
    bool pools = true;
    std::vector<RowId> workloads{};
    std::vector<int> queues{};
    std::vector<int> nodes{};
};
// Changes of one class's members between two snapshots.
struct MemberChanges {
    std::vector<Member> gone{};
    std::vector<Member> come{};
};
void change_members(std::vector<Card<MemberChunk>>& chunks, MemberChanges& changes);
// The newest snapshot, and the tables that the next one is made of.
struct Published {
    SnapshotTables tables{};
    std::uint64_t stamp = 0;
    std::vector<DomainCard> sums{};
    std::set<int> changed_domains{};
    std::shared_ptr<const Snapshot> newest{};
};

}  // namespace tandem::sched
