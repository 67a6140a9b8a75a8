// SPDX-License-Identifier: Apache-2.0
// Views of queues and pools for people.
#include <algorithm>
#include <map>
#include <numeric>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

// Over the weighted amount that could be lent, in lowest terms.
std::string render_share(const BorrowShare& share) {
    if (share.over <= 0) return "0";
    if (share.unbounded()) return "unbounded";
    const Wide whole = static_cast<Wide>(share.lendable) * share.weight;
    const auto bottom = static_cast<std::int64_t>(std::min<Wide>(whole, INT64_MAX));
    const std::int64_t common = std::gcd(share.over, bottom);
    return std::to_string(share.over / common) + "/" + std::to_string(bottom / common);
}

// What others in the cohort borrow is lent by those with idle quota, in proportion to it.
std::int64_t lent_by(const QuotaTree& quota, int node, int flavor_row) {
    const int above = quota.nodes()[spot(node)].parent;
    if (above < 0) return 0;
    const auto idle_of = [&](int child) {
        const QuotaRow& row = quota.row(child, flavor_row);
        return std::max<std::int64_t>(0, row.quota - std::max(row.kept, row.used[at(View::now)]));
    };
    std::int64_t borrowed = 0;
    std::int64_t idle = 0;
    for (int child : quota.nodes()[spot(above)].children) {
        const QuotaRow& row = quota.row(child, flavor_row);
        borrowed += std::max<std::int64_t>(0, row.used[at(View::now)] - row.quota);
        idle += idle_of(child);
    }
    if (idle == 0) return 0;
    const Wide part = static_cast<Wide>(std::min(borrowed, idle)) * idle_of(node) / idle;
    return static_cast<std::int64_t>(part);
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
    std::map<std::pair<int, int>, std::int64_t> hardware;  // by pool and flavor
    for (const NodeState& node : inside_->capacity.nodes()) {
        for (const Dev& device : node.devices)
            hardware[{device.owner, device.flavor}] += device.healthy ? 1000 : 0;
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
        constexpr Wide hour = Wide{3'600'000} << 32;
        line.faded_hours = static_cast<std::int64_t>(inside_->faded_of(static_cast<int>(n)) / hour);
        for (std::size_t f = 0; f < quota.flavors().size(); ++f) {
            const QuotaRow& row = quota.row(static_cast<int>(n), static_cast<int>(f));
            if (row.nominal == 0 && row.used[at(View::now)] == 0) continue;
            line.flavor = inside_->names.text(quota.flavors()[f]);
            line.nominal = row.nominal;
            line.used = row.used[at(View::now)];
            line.quota = row.quota;
            line.borrowed = row.limited ? std::max<std::int64_t>(0, line.used - row.quota) : 0;
            line.lent = lent_by(quota, static_cast<int>(n), static_cast<int>(f));
            line.weight = row.weight;
            line.share = render_share(quota.share_of(static_cast<int>(n), static_cast<int>(f), 0));
            line.hardware = hardware[{node.pool, quota.flavors()[f]}];
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
