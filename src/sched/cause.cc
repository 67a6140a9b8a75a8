// SPDX-License-Identifier: Apache-2.0
// The cause that a class sleeps with: the first that binds, found from the failed attempt and from products
// over kinds of machines. Constant in the number of nodes.
#include <algorithm>

#include "base/quantity.h"
#include "sched/bounds.h"
#include "sched/rules.h"

namespace tandem::sched {

using model::ReasonCode;

// What a window has is its pool's again when it ends.
Lent Planner::Inside::lent_pools() const {
    Lent lent;
    for (const auto& [id, booking] : bookings) lent.emplace(booking.pool, booking.from);
    return lent;
}

const Profiles& Planner::Inside::empty_machines(int rule) {
    if (profiles_stale) profiles.clear();
    profiles_stale = false;
    const auto [entry, added] = profiles.try_emplace(rule);
    if (added)
        entry->second.build(capacity, shared_pool, lent_pools(),
                            [&](int position) { return rule_admits(rule, position); });
    return entry->second;
}

// Proved by the part alone: even on empty machines its members have no place.
bool Planner::Inside::never_fits(const ClassView& view, const ShapePart& part) {
    const Profiles& machines = empty_machines(part.rule);
    if (part.devices == 0)
        return members_on_all(*machines.of_pool(view.pool), part) < part.count;
    const FlavorChoice& choice = choice_of(part.flavor);
    for (int domain : capacity.domains_of(view.pool)) {
        if (!choice.admits(capacity.domain(domain).flavor)) continue;
        if (members_on_all(*machines.of_domain(domain), part) >= part.count) return false;
    }
    return true;
}

Finding Planner::Inside::find_cause(int class_index, const Attempt& attempt) {
    const ClassView& view = view_of(class_index);
    const WorkClass& group = waiting.group(class_index);
    Finding finding{.code = view.closed, .queue = group.key.queue, .project = group.key.project};
    if (view.closed == ReasonCode::queue_unavailable && view.node >= 0)
        finding.code = ReasonCode::queue_stopped;
    if (finding.code != ReasonCode::none) return finding;
    for (const ShapePart& part : group.key.shape) {
        if (!never_fits(view, part) && !never_by_rules(view, part)) continue;
        const PoolFacts& pool = pools.at(view.pool);
        const bool filling = pool.form != model::Form::shared &&
                             static_cast<std::int64_t>(pool.held.size()) < pool.devices;
        finding.code = filling ? ReasonCode::pool_unavailable : ReasonCode::never_fits;
        finding.flavor = part.flavor;
        finding.needed = bounded_product(part.devices, part.count);
        return finding;
    }
    if (attempt.shortages.empty()) {
        finding.code = ReasonCode::no_capacity;
        return finding;
    }
    // Of several flavors that would do, one that it may have some day.
    std::optional<Finding> first;
    for (const Shortage& shortage : attempt.shortages) {
        const Finding found = cause_of(view, shortage, finding);
        if (!first) first = found;
        if (found.code != ReasonCode::quota_too_small) return found;
    }
    return *first;
}

Finding Planner::Inside::cause_of(const ClassView& view, const Shortage& shortage,
                                  Finding finding) const {
    finding.code = shortage.code;
    finding.flavor = shortage.flavor;
    finding.needed = shortage.needed;
    if (is_rule_of_places(shortage.code)) {
        finding.placing = shortage.placing;
        finding.members = shortage.members;
    }
    if (shortage.code != ReasonCode::quota_exhausted || shortage.bound.node < 0) return finding;
    const auto name_at = [&](int node) {
        return quota.nodes()[static_cast<std::size_t>(node)].name;
    };
    finding.queue = name_at(shortage.bound.node);
    const int row = quota.flavor_row(shortage.flavor);
    each_limit(
        view.node, shortage.needed, View::now, true,
        [&](int node) -> const QuotaRow& { return quota.row(node, row); },
        [&](int node) { return quota.nodes()[static_cast<std::size_t>(node)].parent; },
        [&](const Limit& limit) {
            if (finding.code == ReasonCode::quota_too_small) return;
            finding.code = ReasonCode::quota_too_small;
            finding.queue = name_at(limit.node);
        });
    return finding;
}

model::Reason Planner::Inside::tell_cause(const Finding& finding) const {
    model::Reason reason{.code = finding.code};
    const auto add = [&](const char* name, std::string value) {
        reason.params.push_back({name, std::move(value)});
    };
    if (finding.counter != no_name) {  // without what changes from moment to moment
        reason =
            reason_of_full(permits.counter(finding.counter).of, finding.needed, 0, finding.limit);
        std::erase_if(reason.params, [](const auto& param) { return param.name == "used"; });
        return reason;
    }
    switch (finding.code) {
        case ReasonCode::queue_unavailable:
        case ReasonCode::queue_stopped:
            add("queue", names.text(finding.queue));
            break;
        case ReasonCode::not_allowed_in_pool:
        case ReasonCode::pool_unavailable: {
            const auto queue = queues.find(finding.queue);
            add("pool", queue == queues.end() ? "" : names.text(queue->second.pool));
            if (finding.code == ReasonCode::not_allowed_in_pool)
                add("project", names.text(finding.project));
            break;
        }
        case ReasonCode::reserved_ahead:
            reason.params = params_of_promise(names.text(finding.booking), finding.start);
            break;
        case ReasonCode::node_closes:
            reason.params = {{"maintenance", names.text(finding.booking)},
                             {"start", render_instant(finding.start)}};
            break;
        case ReasonCode::no_topology_domain:
        case ReasonCode::no_even_spread:
        case ReasonCode::no_allowed_company:
            reason.params = params_of(finding.code, *placings.at(finding.placing).rules,
                                      finding.members);
            break;
        default:
            if (finding.code == ReasonCode::quota_exhausted ||
                finding.code == ReasonCode::quota_too_small || finding.code == ReasonCode::behind)
                add("queue", names.text(finding.queue));
            if (finding.needed == 0) break;
            add("flavor", finding.flavor == no_name ? "*" : names.text(finding.flavor));
            add("needed", render_milli(finding.needed));
    }
    return reason;
}

}  // namespace tandem::sched
