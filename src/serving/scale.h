// SPDX-License-Identifier: Apache-2.0
// How many replicas a service should have now, and which replica takes the next request. PURE: core calls
// decide_scale after each load report and at next_look_at; the gateway calls choose_replica.
//
// Rules
//  1. needed = ceil((in_flight + waiting) / concurrency), held within [min, max]; a waiting request needs >= 1.
//  2. Up at once. Down only after `needed` stayed below for the whole window, to the peak seen in it.
//  3. To min (and to 0) only when no request came for idle_timeout; the last replica never goes for less.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/reason.h"
#include "model/service.h"

namespace tandem::serving {

// Sums over all gateways, and of live replicas.
struct Load {
    std::int64_t waiting = 0;    // requests held for want of a replica
    std::int64_t in_flight = 0;
    std::int64_t ready = 0;
    std::int64_t starting = 0;
};

// Kept by core between decisions; a fresh one only delays going down.
struct ScaleMemory {
    std::optional<Instant> low_since{};  // fewer would do, since
    std::int64_t peak = 0;               // most needed since then
    bool operator==(const ScaleMemory&) const = default;
};

struct ScaleDecision {
    std::int64_t desired = 0;
    model::Reason reason{};                 // none: unchanged
    std::optional<Instant> next_look_at{};  // when time alone may change the answer
    ScaleMemory memory{};
};

struct ScaleFacts {
    Load load{};
    std::int64_t desired = 0;    // now
    Instant last_request{};      // last seen in any gateway; when there was none, since the service was made or changed
    ScaleMemory memory{};
};

ScaleDecision decide_scale(const model::ServiceScale& scale, const ScaleFacts& facts, Instant now);

// Low load must last this long before replicas beyond the first go: min(idle_timeout, 30 s).
Duration stability_window(const model::ServiceScale& scale);

struct ReplicaLoad {
    std::int64_t in_flight = 0;
    std::int64_t limit = 0;      // takes no more than this
    bool draining = false;
};
// Index of the least loaded (in_flight / limit) that has room; ties go to the first from `rotation` on.
std::optional<std::size_t> choose_replica(std::span<const ReplicaLoad> replicas, std::uint64_t rotation);

}  // namespace tandem::serving
