// SPDX-License-Identifier: Apache-2.0
// What a snapshot is made of: cards of classes, queues, domains, nodes and holders, in maps that share
// what did not change with the one before. Names are numbers; `names` has their texts. Amounts as in types.h.
// Inside of sched only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sched/decay.h"
#include "sched/facts.h"
#include "sched/flavor_choice.h"
#include "sched/permits.h"
#include "sched/profiles.h"
#include "sched/quota.h"
#include "sched/shared_map.h"
#include "sched/waiting.h"

namespace tandem::sched {

template <class T>
using Card = std::shared_ptr<const T>;

// Members of a class in order of (submitted, id), at most `chunk_max` together.
using MemberChunk = std::vector<Member>;
inline constexpr std::size_t chunk_max = 256;

// What a part takes: flavors, and nodes by label and taint.
struct PartTerms {
    FlavorChoice flavors{};
    NodeRule nodes{};
};

struct ClassCard {
    Card<ClassKey> key{};
    PlacingRef placing{};
    Card<std::vector<PartTerms>> terms{};  // by part of its shape
    Card<std::vector<PermitNeed>> permits{};
    std::int64_t serial = 0;
    bool asleep = false;
    Finding finding{};
    std::vector<Card<MemberChunk>> members{};
    std::int64_t size = 0;
};
struct WaitingRef {
    int class_index = -1;
    Instant submitted{};
};

struct QueueCard {
    int name = no_name;
    int parent = -1;  // position in the tree
    int pool = no_name;
    bool stopped = false;
    std::vector<int> projects{};
    std::vector<QuotaRow> rows{};  // by row of flavor
    std::vector<int> children{};
    model::QueuePreemption preemption{};
    std::int64_t min_run_ms = 0;
    std::optional<Bucket> bucket{};  // of evictions; absent: full
    std::vector<Use> uses{};         // its own, that fade by
    Duration half_life{};
    bool operator==(const QueueCard&) const = default;
};

// A device in use by one project with room for more.
struct SharedDevice {
    int domain = -1;
    int project = no_name;
    std::array<std::int32_t, 2> free{};  // by view; for shares with their part of its memory
    std::array<std::int32_t, 2> unused{};
    std::array<std::int64_t, 2> memory{};
    bool operator==(const SharedDevice&) const = default;
};
struct RoomCell {
    int domain = -1;
    std::int32_t devices = 0;  // whatever their health
    std::int64_t device_memory = 0;  // of the smallest
    std::int32_t used_milli = 0;
    std::int32_t healthy = 0;  // 0 as well where the node is not usable
    std::int32_t healthy_free_milli = 0;
    std::array<std::int32_t, 2> whole{};  // free whole devices, by view
    bool operator==(const RoomCell&) const = default;
};
// Work that others select or that keeps them away.
struct NeighbourCard {
    std::int64_t workload = 0;
    int project = no_name;
    bool leaving = false;
    PlacingRef placing{};
    bool operator==(const NeighbourCard&) const = default;
};
struct NodeTraits {
    model::Labels labels{};
    std::vector<std::string> taints{};
    bool operator==(const NodeTraits&) const = default;
};
struct NodeCard {
    int order = 0;  // among all nodes
    bool usable = false;
    std::int64_t cpu_total = 0;
    std::int64_t memory_total = 0;
    std::array<std::int64_t, 2> cpu_free{};
    std::array<std::int64_t, 2> memory_free{};
    std::vector<RoomCell> cells{};
    std::vector<SharedDevice> shared{};
    std::vector<NeighbourCard> neighbours{};  // in order of workload
    Card<NodeTraits> traits{};  // the same one as long as they are equal
    bool operator==(const NodeCard&) const = default;
};

// Sums over the nodes of a domain.
struct DomainCard {
    int pool = no_name;
    int flavor = no_name;
    std::int64_t nodes = 0;
    std::int64_t usable = 0;
    std::int64_t devices = 0;
    std::int64_t used_milli = 0;
    std::int64_t healthy = 0;                             // devices
    std::int64_t free_milli = 0;                          // of healthy devices on usable nodes
    std::array<std::vector<std::int64_t>, 2> by_whole{};  // usable nodes with so many free whole ones
    Card<ProfileList> empty{};                            // its machines, with nothing on them
    bool operator==(const DomainCard&) const = default;
};

struct PoolCard {
    RowId id{};
    int name = no_name;
    model::Form form = model::Form::shared;
    int flavor = no_name;
    std::int64_t devices = 0;  // wanted
    std::int64_t held = 0;
    std::vector<int> projects{};
    std::vector<int> domains{};  // in order of their flavors' names
    std::vector<std::string> levels{};  // labels of nodes, widest first
    Card<ProfileList> empty{};   // machines that take its work without devices
    bool operator==(const PoolCard&) const = default;
};

struct HolderCard {
    int queue = no_name;
    int pool = no_name;
    int flavor = no_name;  // of its first device
    std::int64_t milli = 0;
    std::int64_t priority = 0;
    bool preemptible = true;
    Instant started{};
    bool occupant = false;
    bool claims = false;
    bool leaving = false;
    RowId owner{};  // the job or service that it is part of; zero: itself
    std::vector<int> nodes{};  // sorted
    RowId told_as(std::int64_t id) const { return owner ? owner : RowId{id}; }
    bool operator==(const HolderCard&) const = default;
};

// A counter of permits.h, with those who hold most of it.
struct CounterHolder {
    RowId workload{};
    std::int64_t amount = 0;
    bool operator==(const CounterHolder&) const = default;
};
struct CounterCard {
    Permit of{};
    std::int64_t used = 0;
    std::int64_t holders = 0;
    std::vector<CounterHolder> largest{};
    bool operator==(const CounterCard&) const = default;
};

struct SnapshotTables {
    SharedMap<Card<CounterCard>> counters{};
    SharedMap<Card<std::string>> names{};
    SharedMap<WaitingRef> waiting{};      // by workload
    SharedMap<Card<ClassCard>> classes{};
    SharedMap<Card<std::vector<int>>> classes_of_queue{};
    SharedMap<Card<QueueCard>> queues{};  // by position in the tree
    SharedMap<int> queue_of_name{};
    SharedMap<Card<PoolCard>> pools{};    // by name
    SharedMap<Card<DomainCard>> domains{};
    SharedMap<Card<NodeCard>> nodes{};    // by name
    SharedMap<Card<HolderCard>> holders{};
    SharedMap<SharedMap<Card<HolderCard>>> holders_of_queue{};
    SharedMap<bool> leavers{};
    Card<std::vector<int>> flavors{};     // by row of the quota tree
    int shared_pool = no_name;
    bool tainted = false;  // some node is
    Instant time{};
};

}  // namespace tandem::sched
