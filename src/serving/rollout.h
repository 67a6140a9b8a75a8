// SPDX-License-Identifier: Apache-2.0
// Change of a service's version without a failed request: start one replica of the new version more than wanted,
// wait until it is ready, drain one old, and so on. Called by core whenever a replica of the service changed or
// next_look_at has come. PURE.
//
//   start_new -> wait -> drain_old -> (again) -> done          a new one not ready in time: give_up,
//                  '-----------------------------> give_up     the old ones never stopped serving
//
// Capacity never sinks below what is wanted: an old replica goes only when ready ones exceed `desired`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/reason.h"

namespace tandem::serving {

// One live replica (pending to running); stopping ones are left out.
struct RolloutReplica {
    RowId id{};
    bool is_new = false;                // of the target version
    bool ready = false;
    bool draining = false;              // takes nothing new
    std::optional<Instant> started{};   // of its process; absent while it waits for capacity
};

struct RolloutFacts {
    std::vector<RolloutReplica> replicas{};  // in any order
    std::int64_t desired = 0;                // wanted of the service; 0: asleep
    std::int64_t starts_failed = 0;          // of the new version, in a row
    std::int64_t starts_limit = 3;
    Duration ready_timeout{};
    std::string from{};                      // versions, for reasons
    std::string to{};
};

enum class RolloutStep : std::uint8_t { start_new, wait, drain_old, done, give_up };

struct RolloutDecision {
    RolloutStep step = RolloutStep::wait;
    RowId replica{};                         // to drain, or the one that was not ready in time
    model::Reason reason{};
    std::optional<Instant> next_look_at{};
};

RolloutDecision decide_rollout(const RolloutFacts& facts, Instant now);

}  // namespace tandem::serving
