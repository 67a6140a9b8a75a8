// SPDX-License-Identifier: Apache-2.0
// Views of queues and pools for people.
#include <algorithm>
#include <map>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

std::vector<QueueLine> Planner::queue_lines() const {
    inside_->ensure_built();
    const QuotaTree& quota = inside_->quota;
    std::vector<std::int64_t> waiting(quota.nodes().size(), 0);  // of the whole subtree
    for (std::size_t n = 0; n < quota.nodes().size(); ++n) {
        const std::int64_t own = inside_->waiting.count_in(quota.nodes()[n].name);
        for (int above = static_cast<int>(n); above >= 0; above = quota.nodes()[spot(above)].parent)
            waiting[spot(above)] += own;
    }
    std::vector<QueueLine> lines;
    for (std::size_t n = 0; n < quota.nodes().size(); ++n) {
        const QueueNode& node = quota.nodes()[n];
        const std::size_t first = lines.size();
        const std::string parent = node.parent < 0
                                       ? std::string{}
                                       : inside_->names.text(quota.nodes()[spot(node.parent)].name);
        QueueLine line{
            .queue = inside_->names.text(node.name), .parent = parent, .waiting = waiting[n]};
        for (std::size_t f = 0; f < quota.flavors().size(); ++f) {
            const QuotaRow& row = quota.row(static_cast<int>(n), static_cast<int>(f));
            if (row.nominal == 0 && row.used[at(View::now)] == 0) continue;
            line.flavor = inside_->names.text(quota.flavors()[f]);
            line.nominal = row.nominal;
            line.used = row.used[at(View::now)];
            line.borrowed = row.limited ? std::max<std::int64_t>(0, line.used - row.quota) : 0;
            lines.push_back(line);
        }
        if (lines.size() == first)
            lines.push_back(line);  // nothing used, nothing stated: still a queue
    }
    std::ranges::sort(lines, [](const QueueLine& a, const QueueLine& b) {
        return std::tie(a.queue, a.flavor) < std::tie(b.queue, b.flavor);
    });
    return lines;
}

std::vector<PoolLine> Planner::pool_lines() const {
    inside_->ensure_built();
    std::map<std::pair<std::string, std::string>, PoolLine> lines;
    for (const auto& [name, facts] : inside_->pools) {
        if (inside_->capacity.domains_of(name).empty()) {
            const std::string& text = inside_->names.text(name);
            const std::string& flavor = inside_->names.text(facts.flavor);
            lines[{text, flavor}] = {.pool = text, .flavor = flavor};
        }
    }
    for (const NodeState& node : inside_->capacity.nodes()) {
        for (const Dev& device : node.devices) {
            if (device.owner == no_name) continue;
            const std::string& pool = inside_->names.text(device.owner);
            const std::string& flavor = inside_->names.text(device.flavor);
            PoolLine& line = lines[{pool, flavor}];
            line.pool = pool;
            line.flavor = flavor;
            line.total += 1000;
            line.used += 1000 - device.free(View::now);
            line.idle += device.free(View::now);
        }
    }
    std::vector<PoolLine> list;
    for (auto& [key, line] : lines) list.push_back(std::move(line));
    return list;
}

std::string Planner::owner_of(const std::string& node, std::int64_t device) const {
    inside_->ensure_built();
    const int position = inside_->capacity.find(inside_->names.find(node));
    if (position < 0) return {};
    const Dev* found = Capacity::find_device(inside_->capacity.node(position), device);
    return found == nullptr ? std::string{} : inside_->names.text(found->owner);
}

}  // namespace tandem::sched
