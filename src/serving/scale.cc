// SPDX-License-Identifier: Apache-2.0
#include "serving/scale.h"

#include <algorithm>
#include <string>

#include "base/wide.h"

namespace tandem::serving {
namespace {

std::int64_t needed_for(const model::ServiceScale& scale, const Load& load) {
    const std::int64_t per_replica = std::max<std::int64_t>(scale.concurrency, 1);
    const std::int64_t requests = load.waiting + load.in_flight;
    // Division first: the sum may be near the type's end when a gateway reports nonsense.
    const std::int64_t needed = requests / per_replica + (requests % per_replica != 0 ? 1 : 0);
    return std::clamp(needed, scale.min, scale.max);
}

model::Reason reason_of_change(std::int64_t from, std::int64_t to, const Load& load,
                               Duration idle) {
    using model::ReasonCode;
    if (from == 0 && load.waiting > 0)
        return {ReasonCode::woken, {{"waiting", std::to_string(load.waiting)}}};
    if (to == 0) return {ReasonCode::asleep_idle, {{"idle", render_duration(idle)}}};
    return {ReasonCode::scaling, {{"from", std::to_string(from)}, {"to", std::to_string(to)}}};
}

ScaleDecision stay(std::int64_t desired, std::optional<Instant> next, const ScaleMemory& memory) {
    return {.desired = desired, .next_look_at = next, .memory = memory};
}

// Fewer replicas would do: which count, and from when on, time allows.
ScaleDecision consider_down(const model::ServiceScale& scale, const ScaleFacts& facts,
                            std::int64_t needed, Instant now) {
    ScaleMemory memory = facts.memory;
    if (!memory.low_since) memory = {.low_since = now, .peak = needed};
    memory.peak = std::max(memory.peak, needed);
    const bool quiet = facts.load.waiting + facts.load.in_flight == 0;
    const Instant idle_at = facts.last_request + scale.idle_timeout;
    const Instant stable_at = *memory.low_since + stability_window(scale);
    // Idle long enough: nothing needs to be waited for. Else the last replica stays.
    const bool idle = quiet && now >= idle_at;
    const std::int64_t floor = idle ? scale.min : std::max<std::int64_t>(scale.min, 1);
    const std::int64_t target = std::max(idle ? needed : memory.peak, floor);
    if ((idle || now >= stable_at) && target < facts.desired) {
        const bool may_fall_on = quiet && target > scale.min;
        return {
            .desired = target,
            .reason = reason_of_change(facts.desired, target, facts.load, now - facts.last_request),
            .next_look_at = may_fall_on ? std::optional(std::max(idle_at, now)) : std::nullopt};
    }
    if (now >= stable_at)
        memory = {.low_since = now, .peak = needed};  // the peak forbade it: a new window
    Instant next = *memory.low_since + stability_window(scale);
    if (quiet && idle_at > now) next = std::min(next, idle_at);
    if (facts.desired <= std::max<std::int64_t>(scale.min, 1))
        next = idle_at;  // only idleness can lower it
    if (!quiet && facts.desired <= std::max<std::int64_t>(scale.min, 1))
        return stay(facts.desired, {}, memory);
    return stay(facts.desired, next, memory);
}

}  // namespace

Duration stability_window(const model::ServiceScale& scale) {
    return std::min(scale.idle_timeout, seconds(30));
}

ScaleDecision decide_scale(const model::ServiceScale& scale, const ScaleFacts& facts, Instant now) {
    const std::int64_t needed = needed_for(scale, facts.load);
    const std::int64_t held = std::clamp(facts.desired, scale.min, scale.max);
    if (held != facts.desired || needed > held) {  // limits were edited, or more is needed: at once
        const std::int64_t target = std::max(held, needed);
        if (target == facts.desired) return stay(target, std::nullopt, {});
        return {
            .desired = target,
            .reason = reason_of_change(facts.desired, target, facts.load, now - facts.last_request),
            .next_look_at =
                target > scale.min ? std::optional(now + stability_window(scale)) : std::nullopt};
    }
    if (needed == held) return stay(held, std::nullopt, {});
    return consider_down(scale, facts, needed, now);
}

std::optional<std::size_t> choose_replica(std::span<const ReplicaLoad> replicas,
                                          std::uint64_t rotation) {
    std::optional<std::size_t> best;
    const std::size_t count = replicas.size();
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t at = (rotation % count + k) % count;
        const ReplicaLoad& here = replicas[at];
        if (here.draining || here.in_flight >= here.limit) continue;
        // a/b < c/d exactly, in 128 bits.
        if (best && static_cast<Wide>(here.in_flight) * replicas[*best].limit >=
                        static_cast<Wide>(replicas[*best].in_flight) * here.limit) {
            continue;
        }
        best = at;
    }
    return best;
}

}  // namespace tandem::serving
