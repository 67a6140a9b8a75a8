// SPDX-License-Identifier: Apache-2.0
// Planner::Inside: the planner's tables, its journal, and the steps of a plan. What core told
// (names, facts, slots, occupants, demands) is primary; capacity and quota counters are derived
// from it, kept up to date with each change, and built anew after a change of queues or pools.
// Inside of sched only.
//
// Journal: every change of the primary tables leaves its inverse. Undoing walks them backwards
// through the same functions, so that derived counters come back exactly. Classes that slept are
// awake after an undo by core.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sched/capacity.h"
#include "sched/facts.h"
#include "sched/planner.h"
#include "sched/quota.h"
#include "sched/waiting.h"

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
struct NodeBefore {
    int name = no_name;
    std::unique_ptr<NodeFacts> facts{};
};
struct PoolBefore {
    int name = no_name;
    std::unique_ptr<PoolFacts> facts{};
};
struct QueueBefore {
    int name = no_name;
    std::unique_ptr<QueueFacts> facts{};
};
using Undo = std::variant<SlotAdded, SlotRemoved, LeavingChanged, DemandAdded, DemandTaken,
                          OccupantBefore, NodeBefore, PoolBefore, QueueBefore>;

struct EntryKey {
    RowId id{};
    std::int64_t part = 0;
    bool operator==(const EntryKey&) const = default;
};
struct EntryKeyHash {
    std::size_t operator()(const EntryKey& key) const noexcept {
        return std::hash<RowId>{}(RowId{key.id.value * 31 + key.part});
    }
};

struct WorkloadState {
    std::vector<int> slots{};
    std::optional<OccupantFacts> occupant{};
    bool empty() const { return slots.empty() && !occupant; }
};

// What a class needs of quota, with its places in the derived tables. Made when first asked for
// after a build.
struct ClassView {
    std::int64_t built = -1;
    std::int64_t serial = -1;
    int node = -1;  // of the quota tree
    int pool = no_name;
    model::ReasonCode closed =
        model::ReasonCode::none;  // why it may not be placed whatever is free
    std::vector<Need> needs{};
};

// Why a placement failed, for verdicts: the first constraint that bound.
struct Shortage {
    model::ReasonCode code = model::ReasonCode::none;  // quota_exhausted | no_capacity
    int flavor = no_name;
    std::int64_t needed = 0;  // milli-devices
    QuotaBound bound{};
    bool of_cpu_or_memory = false;
};

// One attempt to place a demand whole.
struct Attempt {
    View view = View::now;
    EntryKind kind = EntryKind::allocation;
    int only_flavor = no_name;    // parts without a flavor take this one
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

struct Planner::Inside {
    // --- primary ---
    Names names{};
    std::map<int, NodeFacts> nodes{};
    std::map<int, PoolFacts> pools{};
    std::map<int, QueueFacts> queues{};
    std::vector<Slot> slots{};
    std::vector<int> free_slots{};
    std::unordered_map<EntryKey, int, EntryKeyHash> entries{};
    std::unordered_map<RowId, WorkloadState> workloads{};
    std::vector<std::vector<int>> slots_of_node{};  // by name
    std::unordered_map<int, std::set<RowId>> occupants_of_queue{};
    Waiting waiting{};
    // --- derived ---
    bool dirty = true;
    std::int64_t builds = 0;
    int shared_pool = no_name;
    Owners owners{};
    Capacity capacity{names};
    QuotaTree quota{};
    std::vector<ClassView> views{};
    std::uint64_t fingerprint = 0;            // sum over the primary tables
    std::uint64_t occupants_fingerprint = 0;  // the part of it that is spread over a hash table
    // --- journal ---
    std::vector<Undo> journal{};
    bool marked = false;
    std::vector<int> provisional{};  // slots that a plan made; some may be gone
    std::set<int> grown_roots{};     // trees and pools whose use grew during this plan
    std::set<int> grown_pools{};
    std::vector<int> released{};  // slots of this plan's victims

    // primary.cc: changes of the primary tables, journaled
    void set_node(int name, std::unique_ptr<NodeFacts> facts);
    void set_pool(int name, std::unique_ptr<PoolFacts> facts);
    void change_owners(int pool, const std::vector<DeviceKey>& before,
                       const std::vector<DeviceKey>& after);
    void set_queue(int name, std::unique_ptr<QueueFacts> facts);
    void set_occupant(RowId workload, std::unique_ptr<OccupantFacts> facts);
    int add_slot(Slot slot);
    void remove_slot(int index);
    void change_leaving(int index);
    void put_demand(Demand demand);
    Demand take_demand(int slot);
    void undo_to(std::size_t mark);
    void end_call();  // without a mark nothing needs to be undone

    // derived.cc
    void derive(Owners& owners, Capacity& capacity, QuotaTree& quota) const;
    int find_shared_pool() const;
    std::vector<int> list_flavors() const;
    void build();
    void ensure_built() {
        if (dirty) build();
    }
    bool is_ownership(const Slot& slot) const;
    void own(const Slot& slot, bool gains);
    void reattach(int node_name);
    void apply(const Slot& slot, int sign);
    void wake_after_release(const Slot& slot);
    void wake_node(int node_name);
    ClassKey key_of(const Demand& demand);
    const ClassView& view_of(int class_index);
    struct Recount;
    std::string recount();

    // placement.cc
    bool place(int class_index, const Demand& demand, Attempt& attempt, Plan& plan);
    bool place_part(const ClassView& view, const Demand& demand, std::size_t part, Attempt& attempt,
                    Plan& plan);
    bool place_in(int domain, const Demand& demand, std::size_t part, Attempt& attempt, Plan& plan);
    bool place_without_devices(const ClassView& view, const Demand& demand, std::size_t part,
                               Attempt& attempt, Plan& plan);
    int find_node(const Domain& domain, const model::Resources& each, View view, Plan& plan) const;
    bool find_share(const Domain& domain, const Demand& demand, const model::Resources& each,
                    const Attempt& attempt, int& node, std::int64_t& device, Plan& plan) const;
    void take(int node, int flavor, std::vector<Share> shares, const Demand& demand,
              std::size_t part, Attempt& attempt);
    void write(const Demand& demand, Attempt& attempt, Placement& out) const;

    // preemption.cc
    struct Hunt;
    bool preempt(int class_index, const Demand& demand, Instant now, Attempt& failed, Plan& plan,
                 Placement& out);

    // cycle.cc
    Plan plan(Instant now, std::int64_t step_budget);
    bool attempt_class(int class_index, Instant now, Plan& plan);
    void wake_after_pass();
    void fill_pools(Plan& plan);
    void fill_pool(int name, Plan& plan);
    void drop_provisional();

    // verdict.cc
    struct Inquiry;
    std::optional<model::Verdict> verdict(RowId workload);
    std::optional<model::Verdict> verdict_of_claim(RowId workload) const;
};

}  // namespace tandem::sched
