// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/fragments.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/wide.h"
#include "core/jobs.h"
#include "sched/mix.h"

namespace tandem::sim {
namespace {

using Numbers = std::map<std::string, int>;

struct Held {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> milli{};  // by node and device
    std::map<std::string, std::int64_t> cpu_milli{};
};

Held held_on(const core::State& state) {
    Held held;
    for (const auto& [id, replica] : state.table<model::Replica>().rows()) {
        if (!model::may_be_alive(replica.status.phase) || core::is_gone(replica)) continue;
        held.cpu_milli[replica.status.node] += replica.spec.resources.cpu_milli;
        for (const model::DeviceShare& share : replica.status.devices)
            held.milli[{replica.status.node, share.index}] += share.milli;
    }
    return held;
}

// "a|b,c": all of them that exist here.
std::vector<int> flavors_in(std::string_view text, const Numbers& numbers) {
    std::vector<int> flavors;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("|,"), text.size());
        const auto known = numbers.find(std::string(text.substr(0, end)));
        if (known != numbers.end()) flavors.push_back(known->second);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::ranges::sort(flavors);
    return flavors;
}

std::vector<sched::MixCount> asked_for(const core::State& state, const Numbers& numbers) {
    std::map<sched::MixShape, std::int64_t> counts;
    for (const auto& [id, job] : state.table<model::Job>().rows()) {
        if (job.spec.array) continue;
        for (const model::JobRole& role : job.spec.roles) {
            if (role.resources.devices == 0) continue;
            counts[{{role.resources.cpu_milli, role.resources.devices},
                    flavors_in(role.resources.flavor, numbers)}] += role.replicas;
        }
    }
    std::vector<sched::MixCount> list;
    for (const auto& [shape, count] : counts) list.push_back({shape, count});
    return list;
}

}  // namespace

std::map<std::string, std::int64_t> measure_fragments(const core::State& state) {
    Numbers numbers;
    std::map<int, std::int64_t> capacity;
    for (const auto& [id, node] : state.table<model::Node>().rows())
        for (const model::Device& device : node.status.devices)
            numbers.try_emplace(device.flavor, static_cast<int>(numbers.size()));
    for (const auto& [id, node] : state.table<model::Node>().rows())
        for (const model::Device& device : node.status.devices)
            capacity[numbers.at(device.flavor)] += 1000;
    const std::vector<sched::MixCount> asked = asked_for(state, numbers);
    if (asked.empty()) return {};
    const sched::TypicalMix mix(asked, capacity);
    Held held = held_on(state);
    std::map<std::string, Wide> parts;
    for (const auto& [id, node] : state.table<model::Node>().rows()) {
        if (!node.status.ready || node.spec.unschedulable) continue;
        std::map<std::string, std::vector<std::int32_t>> left;
        for (const model::Device& device : node.status.devices) {
            if (!device.healthy) continue;
            const std::int64_t free = 1000 - held.milli[{node.meta.name, device.index}];
            left[device.flavor].push_back(
                static_cast<std::int32_t>(std::max<std::int64_t>(0, free)));
        }
        const std::int64_t cpu = node.status.cpu_milli - held.cpu_milli[node.meta.name];
        for (const auto& [flavor, devices] : left)
            parts[flavor] += mix.of(numbers.at(flavor)).fragmented(cpu, devices);
    }
    std::map<std::string, std::int64_t> milli;
    for (const auto& [flavor, sum] : parts)
        milli[flavor] = static_cast<std::int64_t>(sum / sched::mix_one);
    return milli;
}

}  // namespace tandem::sim
