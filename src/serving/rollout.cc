// SPDX-License-Identifier: Apache-2.0
#include "serving/rollout.h"

#include <algorithm>

namespace tandem::serving {
namespace {

struct Counts {
    std::int64_t new_live = 0;
    std::int64_t new_ready = 0;
    std::int64_t old_live = 0;   // not draining
    std::int64_t old_ready = 0;  // not draining
};

Counts count(const RolloutFacts& facts) {
    Counts counts;
    for (const RolloutReplica& replica : facts.replicas) {
        if (replica.draining) continue;
        (replica.is_new ? counts.new_live : counts.old_live) += 1;
        if (replica.ready) (replica.is_new ? counts.new_ready : counts.old_ready) += 1;
    }
    return counts;
}

// The old replica that goes next: one that serves nobody before one that does, then the oldest.
RowId next_to_drain(const RolloutFacts& facts) {
    const RolloutReplica* best = nullptr;
    for (const RolloutReplica& replica : facts.replicas) {
        if (replica.is_new || replica.draining) continue;
        const bool earlier =
            best == nullptr ||
            (replica.ready != best->ready ? !replica.ready : replica.id < best->id);
        if (earlier) best = &replica;
    }
    return best == nullptr ? RowId{} : best->id;
}

const RolloutReplica* first_unready(const RolloutFacts& facts) {
    const RolloutReplica* first = nullptr;
    for (const RolloutReplica& replica : facts.replicas) {
        if (!replica.is_new || replica.ready || replica.draining) continue;
        if (first == nullptr || replica.id < first->id) first = &replica;
    }
    return first;
}

model::Reason updating(const RolloutFacts& facts) {
    return {model::ReasonCode::updating_version, {{"from", facts.from}, {"to", facts.to}}};
}
model::Reason not_ready(const RolloutFacts& facts) {
    return {model::ReasonCode::not_ready_in_time,
            {{"replica", facts.to}, {"timeout", render_duration(facts.ready_timeout)}}};
}

}  // namespace

RolloutDecision decide_rollout(const RolloutFacts& facts, Instant now) {
    const Counts counts = count(facts);
    const bool enough_new = counts.new_ready >= facts.desired;
    if (counts.old_live == 0 && (enough_new || counts.new_live >= facts.desired))
        return {.step = RolloutStep::done};
    if (enough_new || counts.old_ready + counts.new_ready > facts.desired) {
        if (counts.old_live > 0) {
            return {.step = RolloutStep::drain_old,
                    .replica = next_to_drain(facts),
                    .reason = updating(facts)};
        }
    }
    if (facts.starts_failed >= facts.starts_limit)
        return {.step = RolloutStep::give_up, .reason = not_ready(facts)};
    if (const RolloutReplica* waits = first_unready(facts)) {
        if (!waits->started)
            return {.step = RolloutStep::wait, .replica = waits->id, .reason = updating(facts)};
        const Instant deadline = *waits->started + facts.ready_timeout;
        if (now >= deadline)
            return {.step = RolloutStep::give_up, .replica = waits->id, .reason = not_ready(facts)};
        return {.step = RolloutStep::wait,
                .replica = waits->id,
                .reason = updating(facts),
                .next_look_at = deadline};
    }
    return {.step = RolloutStep::start_new, .reason = updating(facts)};
}

}  // namespace tandem::serving
