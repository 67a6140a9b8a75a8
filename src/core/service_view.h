// SPDX-License-Identifier: Apache-2.0
// Reads of a service and its replicas, as facts for serving's pure decisions.
#pragma once

#include "core/turn.h"
#include "serving/rollout.h"
#include "serving/scale.h"

namespace tandem::core {

// Counts towards what is wanted: claimed, starting or running, and staying.
bool is_live(const model::Replica& replica);

struct ReplicaCounts {
    std::int64_t ready = 0;
    std::int64_t starting = 0;
    std::int64_t present = 0;  // any row at all
    std::int64_t draining = 0;
    std::int64_t doubted = 0;  // of before a restore, not decided on
};
ReplicaCounts count_replicas(const State& state, RowId service);

serving::ScaleFacts scale_facts(const State& state, const model::Service& service);
serving::RolloutFacts rollout_facts(const State& state, const model::Service& service, Duration ready_timeout,
                                    std::int64_t starts_limit);
model::ServicePhase phase_of(const State& state, const model::Service& service, const ReplicaCounts& counts,
                             std::int64_t starts_limit);

inline void keep_earliest(std::optional<Instant>& first, std::optional<Instant> other) {
    if (other && (!first || *other < *first)) first = other;
}

// What a service that is as it should be says, instead of what it went through; absent while something else is to
// be told: a version that was given up, or one that is missing.
std::optional<model::Reason> settled_reason(const model::Service& service, model::ServicePhase phase,
                                            const ReplicaCounts& counts);

}  // namespace tandem::core
