// SPDX-License-Identifier: Apache-2.0
// Profiles: what the machines of a domain or pool are like when empty, as counts of nodes that are alike;
// so that "would never fit" is proved by a few products, however many nodes there are. Devices count whatever
// their health, and nodes whether they are ready or not: both may come back. Inside of sched only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sched/capacity.h"
#include "sched/waiting.h"

namespace tandem::sched {

struct NodeProfile {
    std::int64_t devices = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t device_memory = 0;  // of its smallest device
    auto operator<=>(const NodeProfile&) const = default;
};
// Kinds of nodes and how many there are of each.
using ProfileList = std::vector<std::pair<NodeProfile, std::int64_t>>;

// Members that have shares of one empty device.
inline std::int64_t meeting(const NodeProfile& node, const ShapePart& shape) {
    if (shape.device_memory > node.device_memory) return 0;
    if (!shape.may_meet) return 1;
    const std::int64_t members = 1000 / shape.devices;
    return shape.device_memory == 0 ? members
                                    : std::min(members, node.device_memory / shape.device_memory);
}
// Members of one shape that a node of this kind holds; members of a gang share no device, unless
// they may.
inline std::int64_t members_on(const NodeProfile& node, const ShapePart& shape) {
    std::int64_t members = std::int64_t{1} << 40;
    if (shape.devices > 0)
        members = shape.devices >= 1000 ? node.devices * 1000 / shape.devices
                                        : node.devices * meeting(node, shape);
    if (shape.cpu_milli > 0) members = std::min(members, node.cpu / shape.cpu_milli);
    if (shape.memory_bytes > 0) members = std::min(members, node.memory / shape.memory_bytes);
    return members;
}
inline std::int64_t members_on_all(const ProfileList& nodes, const ShapePart& shape) {
    std::int64_t sum = 0;
    for (const auto& [node, count] : nodes)
        sum += bounded_product(members_on(node, shape), count);
    return sum;
}

// Pools whose devices are another's again some day, and whose.
using Lent = std::map<int, int>;

// What a node would be in a domain with nothing on it, and with what is lent given back; domain -1:
// without devices.
NodeProfile profile_of(const NodeState& node, int domain, const Capacity& capacity,
                       const Lent& lent = {});

class Profiles {
  public:
    // Of the nodes at the positions that are admitted.
    void build(const Capacity& capacity, int shared_pool, const Lent& lent,
               const std::function<bool(int)>& admits);
    // Empty lists where there is nothing.
    const std::shared_ptr<const ProfileList>& of_domain(int domain) const;
    // Nodes that take work without devices of a pool.
    const std::shared_ptr<const ProfileList>& of_pool(int pool) const;

  private:
    std::map<int, std::shared_ptr<const ProfileList>> by_domain_{};
    std::map<int, std::shared_ptr<const ProfileList>> by_pool_{};
    std::shared_ptr<const ProfileList> none_ = std::make_shared<const ProfileList>();
};

}  // namespace tandem::sched
