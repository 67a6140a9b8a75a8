// SPDX-License-Identifier: Apache-2.0
// Views of queues and pools for people.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

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
std::int64_t lent_by(const QuotaRow& own, const std::vector<const QuotaRow*>& cohort) {
    const auto idle_of = [](const QuotaRow& row) {
        return std::max<std::int64_t>(0, row.quota - std::max(row.kept, row.used[at(View::now)]));
    };
    std::int64_t borrowed = 0;
    std::int64_t idle = 0;
    for (const QuotaRow* row : cohort) {
        borrowed += std::max<std::int64_t>(0, row->used[at(View::now)] - row->quota);
        idle += idle_of(*row);
    }
    if (idle == 0) return 0;
    const Wide part = static_cast<Wide>(std::min(borrowed, idle)) * idle_of(own) / idle;
    return static_cast<std::int64_t>(part);
}

}  // namespace

const std::string& Snapshot::text(int name) const {
    static const std::string none{};
    const Card<std::string>* found = name == no_name ? nullptr : tables_.names.find(name);
    return found == nullptr ? none : **found;
}

std::int64_t Snapshot::waiting_in(int queue) const {
    const Card<std::vector<int>>* list = tables_.classes_of_queue.find(queue);
    std::int64_t count = 0;
    if (list == nullptr) return count;
    for (int index : **list)
        if (const Card<ClassCard>* card = tables_.classes.find(index)) count += (*card)->size;
    return count;
}

std::optional<Assignment> Snapshot::assignment(RowId workload) const {
    const Card<HolderCard>* found = tables_.holders.find(workload.value);
    if (found == nullptr) return std::nullopt;
    Assignment assignment{.queue = text((*found)->queue),
                          .flavor = text((*found)->flavor),
                          .milli = (*found)->milli};
    for (int node : (*found)->nodes) assignment.nodes.push_back(text(node));
    std::ranges::sort(assignment.nodes);
    return assignment;
}

// Of all flavors, at and below a queue.
Wide Snapshot::faded_of(int position) const {
    const QueueCard& queue = queue_at(position);
    Wide sum = 0;
    for (const Use& use : queue.uses) sum += faded(use, tables_.time, queue.half_life).amount;
    for (int child : queue.children) sum += faded_of(child);
    return sum;
}

std::int64_t Snapshot::hardware_of(const QueueCard& queue, int flavor) const {
    const Card<PoolCard>* pool = tables_.pools.find(queue.pool);
    if (pool == nullptr) return 0;
    for (int index : (*pool)->domains)
        if (const DomainCard& domain = **tables_.domains.find(index); domain.flavor == flavor)
            return domain.healthy * 1000;
    return 0;
}

QueueLine Snapshot::line_of(const QueueCard& queue, std::size_t flavor_row, QueueLine line) const {
    const QuotaRow& row = queue.rows[flavor_row];
    const int flavor = (*tables_.flavors)[flavor_row];
    const QueueCard* above = queue.parent < 0 ? nullptr : &queue_at(queue.parent);
    line.flavor = text(flavor);
    line.nominal = row.nominal;
    line.used = row.used[at(View::now)];
    line.quota = row.quota;
    line.borrowed = row.limited ? std::max<std::int64_t>(0, line.used - row.quota) : 0;
    line.weight = row.weight;
    line.hardware = hardware_of(queue, flavor);
    line.share = render_share(share_of(row, above == nullptr ? row : above->rows[flavor_row], 0));
    if (above == nullptr) return line;
    std::vector<const QuotaRow*> beside;
    for (int child : above->children) beside.push_back(&queue_at(child).rows[flavor_row]);
    line.lent = lent_by(row, beside);
    return line;
}

std::vector<QueueLine> Snapshot::queue_lines() const {
    std::map<std::int64_t, std::int64_t> waiting;  // of the whole subtree
    tables_.queues.each([&](std::int64_t position, const Card<QueueCard>& queue) {
        const std::int64_t own = waiting_in(queue->name);
        for (std::int64_t above = position; above >= 0;
             above = (*tables_.queues.find(above))->parent)
            waiting[above] += own;
    });
    std::vector<QueueLine> lines;
    tables_.queues.each([&](std::int64_t position, const Card<QueueCard>& queue) {
        const std::size_t first = lines.size();
        constexpr Wide hour = Wide{3'600'000} << 32;
        QueueLine line{.queue = text(queue->name), .waiting = waiting[position]};
        line.faded_hours = static_cast<std::int64_t>(faded_of(static_cast<int>(position)) / hour);
        if (queue->parent >= 0) line.parent = text((*tables_.queues.find(queue->parent))->name);
        for (std::size_t f = 0; f < queue->rows.size(); ++f) {
            const QuotaRow& row = queue->rows[f];
            if (row.nominal == 0 && row.used[at(View::now)] == 0) continue;
            lines.push_back(line_of(*queue, f, line));
        }
        // Nothing used, nothing stated: still a queue, with what its pool has.
        for (std::size_t f = 0; lines.size() == first && f < queue->rows.size(); ++f)
            if (hardware_of(*queue, (*tables_.flavors)[f]) > 0)
                lines.push_back(line_of(*queue, f, line));
        if (lines.size() == first) lines.push_back(line);
    });
    std::ranges::sort(lines, [](const QueueLine& a, const QueueLine& b) {
        return std::tie(a.queue, a.flavor) < std::tie(b.queue, b.flavor);
    });
    return lines;
}

std::vector<PoolLine> Snapshot::pool_lines() const {
    std::vector<PoolLine> lines;
    tables_.pools.each([&](std::int64_t, const Card<PoolCard>& pool) {
        const std::size_t first = lines.size();
        for (int index : pool->domains) {
            const DomainCard& domain = **tables_.domains.find(index);
            if (domain.devices == 0) continue;
            lines.push_back({.pool = text(pool->name),
                             .flavor = text(domain.flavor),
                             .total = domain.devices * 1000,
                             .used = domain.used_milli,
                             .idle = domain.devices * 1000 - domain.used_milli});
        }
        if (lines.size() == first)
            lines.push_back({.pool = text(pool->name), .flavor = text(pool->flavor)});
    });
    std::ranges::sort(lines, [](const PoolLine& a, const PoolLine& b) {
        return std::tie(a.pool, a.flavor) < std::tie(b.pool, b.flavor);
    });
    return lines;
}

std::string Planner::owner_of(const std::string& node, std::int64_t device) const {
    inside_->ensure_built();
    const int position = inside_->capacity.find(inside_->names.find(node));
    if (position < 0) return {};
    const Dev* found = Capacity::find_device(inside_->capacity.node(position), device);
    return found == nullptr ? std::string{} : inside_->names.text(found->owner);
}

}  // namespace tandem::sched
