// SPDX-License-Identifier: Apache-2.0
#include "sched/profiles.h"

#include <set>

namespace tandem::sched {
namespace {

using Counts = std::map<int, std::map<NodeProfile, std::int64_t>>;

void keep(const Counts& counts, std::map<int, std::shared_ptr<const ProfileList>>& out) {
    out.clear();
    for (const auto& [index, kinds] : counts)
        out[index] = std::make_shared<const ProfileList>(kinds.begin(), kinds.end());
}

}  // namespace

NodeProfile profile_of(const NodeState& node, int domain, const Capacity& capacity,
                       const Lent& lent) {
    NodeProfile profile{.cpu = node.cpu.total, .memory = node.memory.total};
    if (domain < 0) return profile;
    const Domain& here = capacity.domain(domain);
    for (const Dev& device : node.devices) {
        const auto owner = lent.find(device.owner);
        const bool belongs = device.owner == here.pool ||
                             (owner != lent.end() && owner->second == here.pool);
        if (!belongs || device.flavor != here.flavor) continue;
        profile.device_memory = profile.devices == 0
                                    ? device.memory
                                    : std::min(profile.device_memory, device.memory);
        profile.devices += 1;
    }
    return profile;
}

void Profiles::build(const Capacity& capacity, int shared_pool, const Lent& lent,
                     const std::function<bool(int)>& admits) {
    Counts domains;
    Counts pools;
    for (std::size_t position = 0; position < capacity.nodes().size(); ++position) {
        const NodeState& node = capacity.nodes()[position];
        if (!node.present || !admits(static_cast<int>(position))) continue;
        std::set<int> in_domains;
        std::set<int> in_pools;
        if (shared_pool != no_name) in_pools.insert(shared_pool);
        for (const Dev& device : node.devices) {
            if (device.owner == no_name) continue;
            in_domains.insert(capacity.find_domain(device.owner, device.flavor));
            in_pools.insert(device.owner);
            const auto owner = lent.find(device.owner);
            if (owner == lent.end()) continue;
            in_pools.insert(owner->second);
            const int domain = capacity.find_domain(owner->second, device.flavor);
            if (domain >= 0) in_domains.insert(domain);
        }
        for (int domain : in_domains) domains[domain][profile_of(node, domain, capacity, lent)] += 1;
        for (int pool : in_pools) pools[pool][{0, node.cpu.total, node.memory.total}] += 1;
    }
    keep(domains, by_domain_);
    keep(pools, by_pool_);
}

const std::shared_ptr<const ProfileList>& Profiles::of_domain(int domain) const {
    const auto found = by_domain_.find(domain);
    return found == by_domain_.end() ? none_ : found->second;
}
const std::shared_ptr<const ProfileList>& Profiles::of_pool(int pool) const {
    const auto found = by_pool_.find(pool);
    return found == by_pool_.end() ? none_ : found->second;
}

}  // namespace tandem::sched
