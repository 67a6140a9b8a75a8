// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sched/affinity.h"
#include "sched/rules.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

std::string text_of(const model::Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels) text += name + '\n' + value + '\n';
    return text + '\n';
}

std::string text_of(const std::vector<model::WorkSelector>& list) {
    std::string text;
    for (const model::WorkSelector& one : list) text += one.level + '\n' + text_of(one.labels);
    return text + "\n\n";
}

}  // namespace

bool Company::admits(const std::vector<int>& domains) const {
    for (const Near& one : near) {
        if (one.level < 0 || !one.domains.contains(domains[spot(one.level)])) return false;
    }
    return std::ranges::none_of(apart, [&](const auto& shut) {
        return shut.first < 0 || domains[spot(shut.first)] == shut.second;
    });
}

// The first of a kind that wants to be near its like may go anywhere.
Company company_of(const model::JobPlacing& own, const DomainNumbers& numbers,
                   const std::vector<std::pair<Neighbour, const std::vector<int>*>>& neighbours) {
    Company company;
    for (const model::WorkSelector& selector : own.near) {
        Company::Near near{.level = numbers.level(selector.level)};
        bool some = false;
        for (const auto& [neighbour, domains] : neighbours) {
            if (!selects(selector.labels, neighbour.rules->labels)) continue;
            some = true;
            if (near.level >= 0 && (*domains)[spot(near.level)] >= 0)
                near.domains.insert((*domains)[spot(near.level)]);
        }
        if (some || !selects(selector.labels, own.labels)) company.near.push_back(std::move(near));
    }
    const auto shut = [&](const model::WorkSelector& selector, const std::vector<int>& domains) {
        const int level = numbers.level(selector.level);
        if (level < 0) return;
        if (const int domain = domains[spot(level)]; domain >= 0)
            company.apart.emplace(level, domain);
    };
    for (const model::WorkSelector& selector : own.apart) {
        if (numbers.level(selector.level) < 0) company.apart.emplace(unknown_level, -1);
        for (const auto& [neighbour, domains] : neighbours)
            if (selects(selector.labels, neighbour.rules->labels)) shut(selector, *domains);
    }
#if !defined(TANDEM_PLANT_MUTUAL_DISTANCE)
    for (const auto& [neighbour, domains] : neighbours) {
        for (const model::WorkSelector& selector : neighbour.rules->apart)
            if (selects(selector.labels, own.labels)) shut(selector, *domains);
    }
#endif
    return company;
}

std::string text_of(const model::JobPlacing& placing) {
    const model::JobTopology& topology = placing.topology;
    std::string text = "placing\n" + topology.required + '\n' + topology.preferred + '\n';
    text += std::to_string(topology.balanced ? 1 : 0) + '\n' + std::to_string(topology.slice.size);
    text += '\n' + topology.slice.required + '\n' + placing.spread.level + '\n';
    text += std::to_string(placing.spread.max_skew) + '\n' + text_of(placing.labels);
    text += text_of(placing.near) + text_of(placing.apart);
    return text + std::string(model::name_of(placing.sharing));
}

std::vector<model::ReasonParam> params_of(model::ReasonCode of, const model::JobPlacing& placing,
                                          std::int64_t members) {
    const std::string needed = std::to_string(members);
    const model::JobTopology& topology = placing.topology;
    if (of == model::ReasonCode::no_even_spread)
        return {{"level", placing.spread.level},
                {"maxSkew", std::to_string(placing.spread.max_skew)},
                {"needed", needed}};
    if (of == model::ReasonCode::no_topology_domain) {
        const bool slices = topology.slice.size > 0;
        std::vector<model::ReasonParam> params{
            {"level", topology.required.empty() ? topology.slice.required : topology.required},
            {"needed", needed}};
        if (slices) params.push_back({"slice", std::to_string(topology.slice.size)});
        return params;
    }
    const bool near = !placing.near.empty();
    const model::Labels& labels = near                     ? placing.near.front().labels
                                  : !placing.apart.empty() ? placing.apart.front().labels
                                                           : placing.labels;
    const std::string level = near                     ? placing.near.front().level
                              : !placing.apart.empty() ? placing.apart.front().level
                                                       : std::string(model::host_level);
    return {{"rule", near ? "near" : "apart from"},
            {"level", level},
            {"labels", shown(labels)},
            {"needed", needed}};
}

}  // namespace tandem::sched
