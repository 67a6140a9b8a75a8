// SPDX-License-Identifier: Apache-2.0
// Why nobody is asked to leave for work that waits: rights and policies of its queues, and those who run.
#include <algorithm>

#include "base/quantity.h"
#include "sched/verdict_writer.h"

namespace tandem::sched {

using model::ReasonCode;

// The lowest queue on the way to the root whose own quota covers the needs (by row of flavor): from outside
// it what is borrowed may be taken back. -1: none.
int VerdictWriter::reclaim_level(const std::map<int, std::int64_t>& needs) const {
    for (int queue = judge_.queue_position(); queue >= 0; queue = judge_.queue_at(queue).parent) {
        const bool covered = std::ranges::all_of(needs, [&](const auto& need) {
            const QuotaRow& row = *row_at(queue, need.first);
            return row.limited && row.used[at(View::future)] + need.second <= row.quota;
        });
        if (covered && !needs.empty()) return queue;
    }
    return -1;
}

bool VerdictWriter::has_borrowers(int level, const std::map<int, std::int64_t>& needs) const {
    for (int queue = level; queue >= 0; queue = judge_.queue_at(queue).parent) {
        const int parent = judge_.queue_at(queue).parent;
        if (parent < 0) return false;
        for (int child : judge_.queue_at(parent).children) {
            if (child == queue) continue;
            for (const auto& [flavor_row, need] : needs) {
                const QuotaRow& row = *row_at(child, flavor_row);
                if (row.used[at(View::future)] > row.quota) return true;
            }
        }
    }
    return false;
}

// When its queues may cause one eviction more; absent: now.
std::optional<Instant> VerdictWriter::when_allowed() const {
    std::optional<Instant> when;
    for (int at = judge_.queue_position(); at >= 0; at = judge_.queue_at(at).parent) {
        const QueueCard& queue = judge_.queue_at(at);
        const auto next = next_eviction(queue.preemption, queue.bucket, tables_.time, 1);
        if (next && (!when || *next > *when)) when = next;
    }
    return when;
}

// What forbids or puts off an eviction that would otherwise be looked for.
bool VerdictWriter::add_rights(const Choice& choice, bool lower, model::Verdict& verdict) const {
    std::map<int, std::int64_t> needs;
    for (std::size_t i = 0; i < choice.flavors.size(); ++i) {
        const int row = choice.flavors[i] == no_name ? -1 : judge_.flavor_row(choice.flavors[i]);
        const ShapePart& part = card_.key->shape[i];
        if (row >= 0) needs[row] += bounded_product(part.devices, part.count);
    }
    const std::string queue = text(card_.key->queue);
    const model::QueuePreemption& policy = judge_.queue()->preemption;
    const auto forbid = [&](const char* which) {
        verdict.protections.push_back(
            {ReasonCode::preemption_forbidden, {{"queue", queue}, {"policy", which}}});
    };
    const bool lower_forbidden = lower && policy.within_queue == model::WithinQueue::never;
    if (lower_forbidden) forbid("withinQueue");
    const int level = reclaim_level(needs);
    const bool borrowers = has_borrowers(level, needs);
    if (borrowers && policy.reclaim == model::ReclaimFrom::never) forbid("reclaim");
    const auto allowed = when_allowed();
    if (allowed && (lower || borrowers))
        verdict.protections.push_back(
            {ReasonCode::evictions_limited, {{"until", render_instant(*allowed)}}});
    if (level >= 0 || judge_.queue()->parent < 0) return lower_forbidden;
    for (const auto& [flavor_row, need] : needs) {
        const QuotaRow& row = *row_at(judge_.queue_position(), flavor_row);
        if (!row.limited || row.used[at(View::future)] + need <= row.quota) continue;
        verdict.protections.push_back(
            {ReasonCode::no_right_to_reclaim,
             {{"queue", queue},
              {"flavor", text((*tables_.flavors)[static_cast<std::size_t>(flavor_row)])},
              {"used", render_milli(row.used[at(View::future)])},
              {"needed", render_milli(need)},
              {"nominal", render_milli(row.quota)}}});
    }
    return lower_forbidden;
}

// Facts about those that run, each true by itself; which of them the planner found when it looked for
// victims follows from them.
void VerdictWriter::add_protections(const Choice& choice, model::Verdict& verdict) const {
    const std::string queue = text(card_.key->queue);
    std::int64_t lower = 0;
    std::int64_t never = 0;
    std::int64_t young = 0;
    std::optional<Instant> until;
    std::optional<std::int64_t> lowest;
    std::size_t seen = 0;
    if (const auto* own = tables_.holders_of_queue.find(card_.key->queue)) {
        own->each([&](std::int64_t, const Card<HolderCard>& holder) -> bool {
            if (!holder->occupant || holder->leaving) return true;
            if (!lowest || holder->priority < *lowest) lowest = holder->priority;
            if (holder->priority < card_.key->priority) {
                const Instant from{holder->started.ms + judge_.queue()->min_run_ms};
                const bool is_young =
                    holder->preemptible && judge_.queue()->min_run_ms > 0 && from > tables_.time;
                if (is_young && (!until || from < *until)) until = from;
                (!holder->preemptible ? never : is_young ? young : lower) += 1;
            }
            return ++seen < holders_scanned;
        });
    }
    const auto tell = [&](ReasonCode code, std::int64_t count) {
        if (count > 0)
            verdict.protections.push_back(
                {code, {{"queue", queue}, {"count", std::to_string(count)}}});
    };
    tell(ReasonCode::never_preempt, never);
    tell(ReasonCode::ran_too_short, young);
    if (young > 0) verdict.protections.back().params.push_back({"until", render_instant(*until)});
    const bool forbidden = add_rights(choice, lower > 0, verdict);
    if (!forbidden) tell(ReasonCode::victims_not_enough, lower);
    if (lower + never + young == 0 && lowest)
        verdict.protections.push_back({ReasonCode::no_lower_priority,
                                       {{"queue", queue},
                                        {"priority", std::to_string(card_.key->priority)},
                                        {"lowest", std::to_string(*lowest)}}});
}

}  // namespace tandem::sched
