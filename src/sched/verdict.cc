// SPDX-License-Identifier: Apache-2.0
// Verdicts: why a workload waits, with the numbers of the snapshot's moment.
#include <algorithm>

#include "base/quantity.h"
#include "sched/rules.h"
#include "sched/snapshot.h"
#include "sched/verdict_writer.h"

namespace tandem::sched {
namespace {

using model::Reason;
using model::ReasonCode;

constexpr std::size_t choices_shown = 4;

std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string labels_text(const model::Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels) text += (text.empty() ? "" : ",") + name + "=" + value;
    return text;
}

}  // namespace

Reason VerdictWriter::closed() const {
    const std::string pool = judge_.queue() == nullptr ? "" : text(judge_.queue()->pool);
    switch (judge_.closed()) {
        case ReasonCode::queue_unavailable:
        case ReasonCode::queue_stopped:
            return {judge_.closed(), {{"queue", text(card_.key->queue)}}};
        case ReasonCode::pool_unavailable:
            return {judge_.closed(), {{"pool", pool}}};
        default:
            return {judge_.closed(), {{"pool", pool}, {"project", text(card_.key->project)}}};
    }
}

Reason VerdictWriter::of_limit(const LimitLack& lack) const {
    const std::string queue = text(judge_.queue_at(lack.limit.node).name);
    const std::string flavor = flavor_text(lack.flavor);
    if (!lack.ever)
        return {ReasonCode::quota_too_small,
                {{"queue", queue},
                 {"flavor", flavor},
                 {"needed", render_milli(lack.needed)},
                 {"limit", render_milli(lack.limit.limit)},
                 {"bound", std::string(name_of(lack.limit.kind))}}};
    return {ReasonCode::quota_exhausted,
            {{"queue", queue},
             {"flavor", flavor},
             {"needed", render_milli(lack.needed)},
             {"used", render_milli(lack.limit.used)},
             {"limit", render_milli(lack.limit.limit)},
             {"bound", std::string(name_of(lack.limit.kind))}}};
}

// Each part has room by itself; the planner tried, and in its order of filling nodes they have not.
std::optional<Reason> VerdictWriter::of_finding() const {
    const Finding& finding = card_.finding;
    if (card_.asleep && is_rule_of_places(finding.code) && card_.placing.rules)
        return Reason{finding.code,
                      params_of(finding.code, *card_.placing.rules, finding.members)};
    if (card_.asleep && finding.code == ReasonCode::reserved_ahead)
        return Reason{finding.code, params_of_promise(text(finding.booking), finding.start)};
    if (card_.asleep && finding.code == ReasonCode::node_closes)
        return Reason{finding.code,
                      {{"maintenance", text(finding.booking)},
                       {"start", render_instant(finding.start)}}};
    if (!card_.asleep || finding.code != ReasonCode::no_capacity) return std::nullopt;
    return Reason{finding.code,
                  {{"flavor", flavor_text(finding.flavor)}, {"needed", render_milli(finding.needed)}}};
}

Reason VerdictWriter::of_places(const PlaceLack& lack) const {
    const PoolCard& pool = *judge_.pool();
    if (lack.possible < lack.part.count && pool.form != model::Form::shared &&
        pool.held < pool.devices)
        return {ReasonCode::pool_unavailable,
                {{"pool", text(pool.name)},
                 {"held", number(pool.held)},
                 {"wanted", number(pool.devices)}}};
    Reason reason{.code = ReasonCode::never_fits};
    const bool devices = lack.part.devices > 0;
    const auto amount = [&](std::int64_t members) {
        return render_milli(bounded_product(lack.part.devices, members));
    };
    if (devices) {
        reason.params.push_back({"flavor", flavor_text(lack.part.flavor)});
        reason.params.push_back({"needed", amount(lack.part.count)});
    }
    if (lack.possible < lack.part.count) {
        if (devices) reason.params.push_back({"largest", amount(lack.possible)});
        reason.params.push_back({"members", number(lack.part.count)});
        reason.params.push_back({"membersThatFit", number(lack.possible)});
        if (!lack.level.empty()) reason.params.push_back({"level", lack.level});
        return reason;
    }
    if (is_rule_of_places(lack.rule)) {
        reason = {lack.rule, params_of(lack.rule, *card_.placing.rules, lack.part.count)};
        reason.params.push_back({"largest", number(lack.fit)});
        if (!lack.in_domain.empty() && lack.rule != ReasonCode::no_allowed_company)
            reason.params.push_back({"domain", lack.in_domain});
        if (lack.rule == ReasonCode::no_topology_domain)
            reason.params.push_back({"domains", number(lack.of_domains)});
        return reason;
    }
    reason.code = ReasonCode::no_capacity;
    if (lack.domain >= 0 && !lack.some_nodes) {
        const DomainCard& domain = **tables_.domains.find(lack.domain);
        reason.params.push_back({"free", render_milli(domain.free_milli)});
        reason.params.push_back({"total", render_milli(domain.devices * 1000)});
    }
    reason.params.push_back({"places", number(lack.part.count)});
    reason.params.push_back({"placesFree", number(lack.fit)});
    if (lack.of_cpu_or_memory) reason.params.push_back({"short", "cpuOrMemory"});
    return reason;
}

std::vector<Reason> VerdictWriter::constraints(const Choice& choice) const {
    std::vector<Reason> list;
    for (const PlaceLack& lack : choice.places)
        if (lack.possible < lack.part.count) list.push_back(of_places(lack));
    for (const LimitLack& lack : choice.limits) list.push_back(of_limit(lack));
    for (const PlaceLack& lack : choice.places)
        if (lack.possible >= lack.part.count) list.push_back(of_places(lack));
    return list;
}

model::Remedy VerdictWriter::remedy(const Choice& choice) const {
    model::Remedy remedy;
    for (const LimitLack& lack : choice.limits)
        remedy.steps.push_back({ReasonCode::quota_exhausted,
                                {{"queue", text(judge_.queue_at(lack.limit.node).name)},
                                 {"flavor", flavor_text(lack.flavor)},
                                 {"missing", render_milli(lack.limit.missing)},
                                 {"bound", std::string(name_of(lack.limit.kind))}}});
    for (const PlaceLack& lack : choice.places) {
        if (lack.rule == ReasonCode::no_even_spread || lack.rule == ReasonCode::no_allowed_company)
            return {};  // more room alone is not what it lacks
        Reason step{ReasonCode::places, {{"places", number(lack.part.count - lack.fit)}}};
        if (lack.rule == ReasonCode::no_topology_domain) {
            step.code = lack.rule;
            step.params.push_back(
                params_of(lack.rule, *card_.placing.rules, lack.part.count).front());
            if (!lack.in_domain.empty()) step.params.push_back({"domain", lack.in_domain});
        }
        if (lack.part.devices > 0) {
            step.params.push_back({"each", render_milli(lack.part.devices)});
            step.params.push_back({"flavor", flavor_text(lack.part.flavor)});
        }
        if (lack.part.cpu_milli > 0)
            step.params.push_back({"cpu", render_milli(lack.part.cpu_milli)});
        if (!lack.selector->empty()) step.params.push_back({"nodes", labels_text(*lack.selector)});
        if (lack.part.memory_bytes > 0)
            step.params.push_back({"memory", render_bytes(lack.part.memory_bytes)});
        remedy.steps.push_back(std::move(step));
    }
    return remedy;
}

// It would fit once those that are leaving are gone.
Reason VerdictWriter::waiting_for_leavers() const {
    std::int64_t leavers = 0;
    std::string node;
    tables_.leavers.each([&](std::int64_t workload, bool) {
        const HolderCard& holder = **tables_.holders.find(workload);
        if (holder.pool != judge_.pool()->name) return;
        leavers += 1;
        for (int name : holder.nodes)
            if (node.empty() || text(name) < node) node = text(name);
    });
    return {ReasonCode::waiting_for_victims, {{"victims", number(leavers)}, {"node", node}}};
}

// The first step after which too few nodes are left.
std::string VerdictWriter::cut_of(const Choice& choice, const DomainCard& domain) {
    if (choice.places.empty()) return {};
    if (domain.nodes == 0) return "flavor";
    if (domain.usable == 0) return "usable";
    const ReasonCode rule = choice.places.front().rule;
    if (choice.admitted == 0 || rule == ReasonCode::no_allowed_company) return "admitted";
    return is_rule_of_places(rule) ? "domain" : "room";
}

void VerdictWriter::add_funnels(const std::vector<Choice>& choices, model::Verdict& verdict) const {
    for (const Choice& choice : choices) {
        for (int index : choice.domains) {
            if (verdict.funnels.size() == choices_shown) return;
            const DomainCard& domain = **tables_.domains.find(index);
            const bool first = index == choice.domains.front();
            verdict.funnels.push_back(
                {.pool = text(domain.pool),
                 .flavor = text(domain.flavor),
                 .nodes = static_cast<std::int64_t>(tables_.nodes.size()),
                 .with_flavor = domain.nodes,
                 .usable = domain.usable,
                 .admitted = first ? choice.admitted : 0,
                 .with_room = first ? choice.with_room : 0,
                 .in_domain = !first                              ? 0
                              : choice.scope.level == no_level ? choice.with_room
                                                                  : choice.in_scope,
                 .cut = first ? cut_of(choice, domain) : std::string{},
                 .free_milli = domain.free_milli,
                 .total_milli = domain.devices * 1000});
        }
    }
}

bool VerdictWriter::is_below(int queue, int above) const {
    for (; queue >= 0; queue = judge_.queue_at(queue).parent)
        if (queue == above) return true;
    return false;
}

// Of its pool and flavors; where a quota binds, of those that use it up.
void VerdictWriter::add_holders(const Choice& choice, model::Verdict& verdict) const {
    const int above = choice.limits.empty() ? -1 : choice.limits.front().limit.node;
    std::vector<int> flavors;
    for (int index : choice.domains) flavors.push_back((*tables_.domains.find(index))->flavor);
    std::vector<std::pair<std::size_t, int>> order;
    tables_.queues.each([&](std::int64_t position, const Card<QueueCard>& queue) {
        if (above >= 0 ? !is_below(static_cast<int>(position), above)
                       : queue->pool != judge_.pool()->name)
            return;
        const auto* list = tables_.holders_of_queue.find(queue->name);
        if (list != nullptr && list->size() > 0) order.emplace_back(list->size(), queue->name);
    });
    std::ranges::sort(order, std::greater<>{});
    using Found = std::pair<std::int64_t, const HolderCard*>;
    const auto is_larger = [](const Found& a, const Found& b) {
        return a.second->milli != b.second->milli ? a.second->milli > b.second->milli
                                                  : a.first < b.first;
    };
    std::vector<Found> largest;  // in order
    std::int64_t all = 0;
    std::size_t seen = 0;
    for (const auto& [size, queue] : order) {
        tables_.holders_of_queue.find(queue)->each(
            [&](std::int64_t id, const Card<HolderCard>& holder) -> bool {
                const bool counts =
                    holder->milli > 0 && std::ranges::find(flavors, holder->flavor) != flavors.end();
                const Found one{id, holder.get()};
                all += counts ? 1 : 0;
                if (counts && (largest.size() < holders_shown || is_larger(one, largest.back()))) {
                    largest.insert(std::ranges::upper_bound(largest, one, is_larger), one);
                    if (largest.size() > holders_shown) largest.pop_back();
                }
                return ++seen < holders_scanned;
            });
        if (seen >= holders_scanned) break;
    }
    verdict.holders_more = all - static_cast<std::int64_t>(largest.size());
    for (const auto& [id, card] : largest) {
        const HolderCard& holder = *card;
        verdict.holders.push_back({.workload = holder.told_as(id),
                                   .queue = text(holder.queue),
                                   .flavor = text(holder.flavor),
                                   .milli = holder.milli,
                                   .priority = holder.priority,
                                   .preemptible = holder.preemptible,
                                   .leaving = holder.leaving});
    }
}

void VerdictWriter::write(model::Verdict& verdict) {
    if (judge_.closed() != ReasonCode::none) {
        verdict.reason = closed();
        verdict.constraints = {verdict.reason};
        return;
    }
    std::vector<Choice> choices = judge_.choices(View::now);
    std::ranges::sort(choices, [](const Choice& a, const Choice& b) {
        if (a.never() != b.never()) return b.never();
        return a.missing() != b.missing() ? a.missing() < b.missing() : a.domains < b.domains;
    });
    const Choice& best = choices.front();
    add_permits(verdict);
    add_funnels(choices, verdict);
    if (!verdict.constraints.empty()) return;
    if (best.fits()) {
        if (const auto known = of_finding()) {
            verdict.proved = true;
            verdict.constraints = {*known};
            verdict.reason = *known;
            return add_holders(best, verdict);
        }
        // Held up for the sake of one that came before, or not tried yet.
        verdict.proved = card_.asleep && card_.finding.code == ReasonCode::behind;
        verdict.reason = {ReasonCode::behind,
                          {{"position", number(verdict.position)},
                           {"queue", text(card_.key->queue)}}};
        return;
    }
    // Not tried yet: that nobody would be asked to leave for it is not known either.
    verdict.proved = card_.asleep && card_.finding.code != ReasonCode::none;
    verdict.constraints = constraints(best);
    verdict.reason = verdict.constraints.front();
    add_holders(best, verdict);
    if (best.never() && judge_.judges_all()) {
        verdict.proved = true;
    } else if (tables_.leavers.size() > 0 &&
               std::ranges::any_of(judge_.choices(View::future),
                                   [](const Choice& choice) { return choice.fits(); })) {
        verdict.reason = waiting_for_leavers();
    } else {
        const auto same = std::ranges::find(verdict.constraints, card_.finding.code, &Reason::code);
        if (same != verdict.constraints.end()) verdict.reason = *same;
        add_protections(best, verdict);
    }
    for (const Choice& choice : choices) {
        if (verdict.remedies.size() == choices_shown) break;
        model::Remedy known = remedy(choice);
        if (!known.steps.empty()) verdict.remedies.push_back(std::move(known));
    }
}

// What was placed by claims waits for those who still are there.
std::optional<model::Verdict> Snapshot::verdict_of_claim(RowId workload) const {
    const Card<HolderCard>* own = tables_.holders.find(workload.value);
    if (own == nullptr || !(*own)->claims) return std::nullopt;
    const HolderCard& card = **own;
    model::Verdict verdict{.workload = workload};
    std::int64_t victims = 0;
    tables_.leavers.each([&](std::int64_t id, bool) {
        const HolderCard& leaver = **tables_.holders.find(id);
        if (id == workload.value || std::ranges::none_of(leaver.nodes, [&](int node) {
                return std::ranges::binary_search(card.nodes, node);
            }))
            return;
        victims += 1;
        if (verdict.holders.size() == holders_shown) return;
        verdict.holders.push_back({.workload = leaver.told_as(id),
                                   .queue = text(leaver.queue),
                                   .flavor = text(leaver.flavor),
                                   .milli = leaver.milli,
                                   .priority = leaver.priority,
                                   .preemptible = leaver.preemptible,
                                   .leaving = true});
    });
    std::string node;
    for (int name : card.nodes)
        if (node.empty() || text(name) < node) node = text(name);
    verdict.reason = {ReasonCode::waiting_for_victims,
                      {{"victims", number(victims)}, {"node", node}}};
    return verdict;
}

std::int64_t Snapshot::position(RowId workload) const {
    const WaitingRef* ref = tables_.waiting.find(workload.value);
    if (ref == nullptr) return 0;
    const ClassCard& own = **tables_.classes.find(ref->class_index);
    const Member self{ref->submitted, workload};
    std::int64_t before = 0;
    for (int index : **tables_.classes_of_queue.find(own.key->queue)) {
        const Card<ClassCard>* found = tables_.classes.find(index);
        if (found == nullptr || (*found)->key->priority < own.key->priority) continue;
        const ClassCard& other = **found;
        if (other.key->priority > own.key->priority) {
            before += other.size;
            continue;
        }
        const auto after = std::partition_point(
            other.members.begin(), other.members.end(),
            [&](const Card<MemberChunk>& chunk) { return chunk->back() < self; });
        for (auto chunk = other.members.begin(); chunk != after; ++chunk)
            before += static_cast<std::int64_t>((*chunk)->size());
        if (after == other.members.end()) continue;
        before += std::lower_bound((*after)->begin(), (*after)->end(), self) - (*after)->begin();
    }
    return before + 1;
}

std::optional<model::Verdict> Snapshot::verdict(RowId workload) const {
    const WaitingRef* ref = tables_.waiting.find(workload.value);
    if (ref == nullptr) return verdict_of_claim(workload);
    const ClassCard& card = **tables_.classes.find(ref->class_index);
    model::Verdict verdict{.workload = workload, .position = position(workload)};
    verdict.waiting = waiting_in(card.key->queue);
    VerdictWriter(tables_, card).write(verdict);
    return verdict;
}

}  // namespace tandem::sched
