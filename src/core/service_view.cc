// SPDX-License-Identifier: Apache-2.0
#include "core/service_view.h"

#include "core/jobs.h"

namespace tandem::core {

using model::Phase;
using model::Replica;
using model::ServicePhase;

bool is_live(const Replica& replica) {
    const Phase phase = replica.status.phase;
    const bool up = phase == Phase::claimed || phase == Phase::starting || phase == Phase::running ||
                    phase == Phase::unknown;
    return up && !replica.status.draining && !is_gone(replica);
}

ReplicaCounts count_replicas(const State& state, RowId service) {
    ReplicaCounts counts;
    for (RowId id : replicas_of(state, service)) {
        const Replica& replica = state.table<Replica>().get(id);
        counts.present += 1;
        if (replica.status.draining) counts.draining += 1;
        if (!is_live(replica)) continue;
        if (replica.status.phase == Phase::running)
            counts.ready += 1;
        else
            counts.starting += 1;
    }
    return counts;
}

serving::ScaleFacts scale_facts(const State& state, const model::Service& service) {
    serving::ScaleFacts facts;
    const auto& loads = state.live.loads.rows();
    for (auto it = loads.lower_bound({service.meta.uid, ""}); it != loads.end() && it->first.first == service.meta.uid; ++it) {
        facts.load.waiting += it->second.waiting;
        facts.load.in_flight += it->second.in_flight;
    }
    const ReplicaCounts counts = count_replicas(state, service.meta.id);
    facts.load.ready = counts.ready;
    facts.load.starting = counts.starting;
    facts.desired = service.status.desired;
    const Instant* last = state.live.last_request.find(service.meta.id);
    facts.last_request = last ? *last : service.meta.created;
    if (const serving::ScaleMemory* memory = state.live.scale.find(service.meta.id)) facts.memory = *memory;
    return facts;
}

serving::RolloutFacts rollout_facts(const State& state, const model::Service& service, Duration ready_timeout,
                                    std::int64_t starts_limit) {
    serving::RolloutFacts facts{.replicas = {},
                                .desired = service.status.desired,
                                .starts_failed = service.status.starts_failed,
                                .starts_limit = starts_limit,
                                .ready_timeout = ready_timeout,
                                .from = service.status.serving_version,
                                .to = service.status.target_version};
    for (RowId id : replicas_of(state, service.meta.id)) {
        const Replica& replica = state.table<Replica>().get(id);
        if (replica.status.phase == Phase::stopping || is_gone(replica)) continue;
        facts.replicas.push_back({.id = id,
                                  .is_new = replica.spec.model_version == service.status.target_version,
                                  .ready = replica.status.phase == Phase::running,
                                  .draining = replica.status.draining,
                                  .started = replica.status.started});
    }
    return facts;
}

ServicePhase phase_of(const State&, const model::Service& service, const ReplicaCounts& counts,
                      std::int64_t starts_limit) {
    if (service.meta.deletion_requested) return ServicePhase::draining;
    if (service.status.target_version.empty()) return ServicePhase::pending;
    if (service.status.target_version != service.status.serving_version) return ServicePhase::updating;
    if (counts.ready >= service.status.desired && counts.ready > 0) return ServicePhase::ready;
    if (counts.ready > 0) return ServicePhase::degraded;
    if (service.status.starts_failed >= starts_limit) return ServicePhase::failed;
    if (service.status.desired == 0) return ServicePhase::asleep;
    return counts.starting > 0 ? ServicePhase::starting : ServicePhase::pending;
}

std::optional<model::Reason> settled_reason(const model::Service& service, ServicePhase phase, const ReplicaCounts& counts) {
    using model::ReasonCode;
    const ReasonCode now = service.status.reason.code;
    const bool passing = now == ReasonCode::none || now == ReasonCode::submitted || now == ReasonCode::woken ||
                         now == ReasonCode::scaling || now == ReasonCode::ready || model::is_cause_of_waiting(now);
    if (phase == ServicePhase::asleep && passing) return model::Reason{.code = ReasonCode::asleep_idle};
    const bool overcome = passing || now == ReasonCode::asleep_idle ||
                          now == ReasonCode::replica_failed ||
                          now == ReasonCode::not_ready_in_time || now == ReasonCode::start_failed ||
                          now == ReasonCode::replica_ended || now == ReasonCode::shim_lost ||
                          now == ReasonCode::out_of_memory;
    if (phase != ServicePhase::ready || !overcome || !service.status.refused_version.empty()) return std::nullopt;
    return model::Reason{ReasonCode::ready, {{"replicas", std::to_string(counts.ready)}}};
}

}  // namespace tandem::core
