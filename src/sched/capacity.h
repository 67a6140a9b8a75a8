// SPDX-License-Identifier: Apache-2.0
// Capacity: what is free on every device and node, with histograms of free whole devices per
// domain. A domain is the devices of one flavor that one pool owns; a node takes part in a domain
// by one cell. Amounts as in types.h. Inside of sched only.
//
// Two views. now: what may be started on at once; whatever a claim, a reservation or a leaving
// entry has is not free. future: what will be free when everything that leaves is gone. And beside
// them a bound: what would be free if everybody left who may ever be asked to, claims apart.
//
// Invariants
//  1. occupied <= 1000 and occupied - leaving + claimed <= 1000 on each device, as long as entries
//  obey it.
//  2. A node stands in bucket g of a domain exactly when it is usable and has g free whole devices
//  there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sched/facts.h"
#include "sched/node_bitmap.h"
#include "sched/quota.h"
#include "sched/rooms.h"

namespace tandem::sched {

// Histograms of a domain: one for each view, and the bound.
inline constexpr std::size_t histogram_count = 3;
inline constexpr std::size_t at_most = 2;

struct Dev {
    std::int64_t index = 0;
    int flavor = no_name;
    int owner = no_name;  // pool
    bool healthy = true;
    int cell = -1;
    std::int32_t occupied = 0;  // by entries that may be alive, leaving ones among them
    std::int32_t leaving = 0;
    std::int32_t claimed = 0;  // by claims, reservations, holds of people
    std::int32_t stayers = 0;  // entries that don't leave
    std::int32_t leavers = 0;
    std::int32_t pinned = 0;     // of the stayers: never asked to leave
    int stay_project = no_name;  // a shared device has one project
    int leave_project = no_name;
    std::int64_t memory = 0;  // bytes
    // Memory that shares have beyond their part of the device, in thousandths of a byte.
    std::int64_t beyond_occupied = 0;
    std::int64_t beyond_leaving = 0;
    std::int64_t beyond_claimed = 0;
    std::int32_t odd = 0;  // entries with memory of their own choice
    // For shares with their part of the memory.
    std::int32_t free(View view) const {
        return odd == 0 ? unused(view) : std::min(unused(view), free_by_memory(view));
    }
    std::int32_t unused(View view) const {
        return std::max(0, 1000 - (view == View::now ? occupied : occupied - leaving) - claimed);
    }
    std::int64_t free_memory(View view) const { return free_thousandths(view) / 1000; }
    bool is_whole_free(View view) const {
        return healthy && claimed == 0 &&
               (view == View::now ? occupied == 0 : occupied == leaving);
    }
    // In use, and takes a share more of this project: nobody of another project is on it, nor on
    // its way to it. memory_bytes 0: its part.
    bool takes(std::int64_t milli, std::int64_t memory_bytes, int project, View view) const;
    // Physically free for a claim that has its place here.
    bool is_free_for(const Share& share) const;
    bool operator==(const Dev&) const = default;

  private:
    std::int64_t free_thousandths(View view) const;  // of a byte
    std::int32_t free_by_memory(View view) const;
};
struct Cell {
    int domain = -1;
    std::int32_t devices = 0;                           // healthy ones
    std::array<std::int32_t, histogram_count> whole{};  // free whole devices
    std::int32_t partial = 0;  // devices in use by one project with room for more
    bool operator==(const Cell&) const = default;
};
struct Amount {
    std::int64_t total = 0;
    std::int64_t occupied = 0;
    std::int64_t leaving = 0;
    std::int64_t claimed = 0;
    std::int64_t free(View view) const {
        return total - claimed - (view == View::now ? occupied : occupied - leaving);
    }
    bool operator==(const Amount&) const = default;
};
struct NodeState {
    int name = no_name;
    RowId id{};
    bool present = false;
    bool usable = false;
    Amount cpu{};
    Amount memory{};
    std::vector<Dev> devices{};
    std::vector<Cell> cells{};
    bool operator==(const NodeState&) const = default;
};

// Nodes by their number of free whole devices.
struct Buckets {
    std::vector<NodeBitmap> nodes{};
    std::vector<std::int64_t> count{};
    void move(int node, std::int32_t from, std::int32_t to);  // -1: was not, or is no longer there
    // Replicas of `size` whole devices that fit, by device count alone.
    std::int64_t fitting(std::int64_t size) const;
    std::int64_t free_devices() const;
};
struct Domain {
    int pool = no_name;
    int flavor = no_name;
    std::array<Buckets, histogram_count> whole{};
    NodeBitmap nodes{};  // usable, with a healthy device
    NodeBitmap partial{};
    Rooms rooms{};
};

// Who holds which device, when it is not the shared pool.
using Owners = std::map<DeviceKey, int>;

class Capacity {
  public:
    explicit Capacity(const Names& names) : names_(&names) {}
    void clear();
    // Nodes stand in order of (id, name). False: this one is new and its id is not the largest:
    // build anew.
    bool put(int name, const NodeFacts& facts, const Owners& owners, int shared_pool);
    // The same without a look at the order: the caller keeps it.
    void append(int name, const NodeFacts& facts, const Owners& owners, int shared_pool);
    void remove(int name);

    void apply(const Slot& slot) { change(slot, 1); }
    void unapply(const Slot& slot) { change(slot, -1); }

    int find(int name) const {
        return name < 0 || static_cast<std::size_t>(name) >= by_name_.size()
                   ? -1
                   : by_name_[static_cast<std::size_t>(name)];
    }
    const std::vector<NodeState>& nodes() const { return nodes_; }
    const NodeState& node(int position) const { return nodes_[static_cast<std::size_t>(position)]; }
    const std::vector<Domain>& domains() const { return domains_; }
    const Domain& domain(int index) const { return domains_[static_cast<std::size_t>(index)]; }
    int find_domain(int pool, int flavor) const;
    // Domains of a pool in order of their flavors' names.
    const std::vector<int>& domains_of(int pool) const;
    static const Dev* find_device(const NodeState& node, std::int64_t index);
    // Of a domain, with all changes taken in.
    Rooms& rooms_of(int domain);
    // Usable nodes that take part in no domain.
    const NodeBitmap& bare() const { return bare_; }
    void forget_scores() {
        for (Domain& domain : domains_) domain.rooms.forget_scores();
    }

  private:
    static Dev* find_device(NodeState& node, std::int64_t index);
    void change(const Slot& slot, int sign);
    void change_device(Dev& device, const Slot& slot, const Share& share, int sign);
    static void change_memory(Dev& device, const Slot& slot, const Share& share, int sign);
    void make_cells(NodeState& node, const NodeFacts& facts, const Owners& owners, int shared_pool);
    void enlist(int position, bool in);
    void settle(int position, Cell& cell, const Cell& before);
    int need_domain(int pool, int flavor);
    void fill_key(const NodeState& node, int domain);

    const Names* names_;
    std::vector<NodeState> nodes_{};
    std::vector<int> by_name_{};
    std::vector<Domain> domains_{};
    std::map<std::pair<int, int>, int> by_pool_flavor_{};
    std::map<int, std::vector<int>> by_pool_{};
    std::vector<int> none_{};
    NodeBitmap bare_{};
    RoomKey key_{};  // being filled; kept for their memory
    std::vector<std::pair<std::int32_t, int>> order_{};
};

}  // namespace tandem::sched
