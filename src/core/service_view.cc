// SPDX-License-Identifier: Apache-2.0
#include "core/service_view.h"

#include "core/jobs.h"
#include "core/old_tasks.h"
#include "core/service_target.h"

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
        if (is_doubted(replica)) counts.doubted += 1;
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
                                  .is_new = is_of_target(service, replica),
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
    if (is_updating(service)) return ServicePhase::updating;
    if (counts.ready >= service.status.desired && counts.ready > 0) return ServicePhase::ready;
    if (counts.ready > 0) return ServicePhase::degraded;
    if (counts.doubted > 0) return ServicePhase::degraded;
    // One that nobody asks for is not failed: the next request tries anew.
    if (service.status.desired == 0) return ServicePhase::asleep;
    if (service.status.starts_failed >= starts_limit) return ServicePhase::failed;
    return counts.starting > 0 ? ServicePhase::starting : ServicePhase::pending;
}

namespace {

using model::ReasonCode;

// Of what came and went: a better state puts itself in its place.
bool is_passing(ReasonCode code) {
    switch (code) {
        case ReasonCode::none:
        case ReasonCode::submitted:
        case ReasonCode::woken:
        case ReasonCode::scaling:
        case ReasonCode::ready:
        case ReasonCode::updating_version:
        case ReasonCode::old_generation: return true;
        default: return model::is_cause_of_waiting(code);
    }
}

bool is_failure(ReasonCode code) {
    switch (code) {
        case ReasonCode::replica_failed:
        case ReasonCode::not_ready_in_time:
        case ReasonCode::start_failed:
        case ReasonCode::replica_ended:
        case ReasonCode::shim_lost:
        case ReasonCode::out_of_memory: return true;
        default: return false;
    }
}

// Why it was last tried in vain stays told while it sleeps.
model::Reason asleep(const model::Service& service) {
    model::Reason reason{.code = ReasonCode::asleep_idle};
    if (service.status.reason.code == ReasonCode::asleep_idle)
        for (const model::ReasonParam& param : service.status.reason.params)
            if (param.name == "idle") reason.params.push_back(param);
    if (service.status.starts_failed == 0 || !service.status.last_failure) return reason;
    const model::Reason& failure = service.status.last_failure->reason;
    reason.params.push_back({"failure", std::string(model::name_of(failure.code))});
    for (const model::ReasonParam& param : failure.params)
        if (param.name != "output") reason.params.push_back(param);
    return reason;
}

model::Reason updating(const model::Service& service) {
    model::Reason reason{.code = ReasonCode::updating_version};
    if (service.status.serving_version != service.status.target_version)
        reason.params = {{"from", service.status.serving_version},
                         {"to", service.status.target_version}};
    return reason;
}

}  // namespace

std::optional<model::Reason> settled_reason(const model::Service& service, ServicePhase phase,
                                            const ReplicaCounts& counts) {
    const ReasonCode now = service.status.reason.code;
    const bool overcome = is_passing(now) || is_failure(now) || now == ReasonCode::asleep_idle;
    if (!overcome) return std::nullopt;
    if (counts.doubted > 0) return model::Reason{.code = ReasonCode::old_generation};
    if (phase == ServicePhase::asleep) return asleep(service);
    // That it waits for room says more, while it does.
    const bool to_tell = is_passing(now) && !model::is_cause_of_waiting(now);
    if (phase == ServicePhase::failed && service.status.last_failure && to_tell)
        return service.status.last_failure->reason;
    if (phase == ServicePhase::updating && service.status.starts_failed == 0 && to_tell)
        return updating(service);
    const bool is_past = now == ReasonCode::old_generation ||
                         (now == ReasonCode::updating_version && !is_updating(service));
    if (phase != ServicePhase::ready && is_past) return model::Reason{};
    if (phase != ServicePhase::ready) return std::nullopt;
    if (!service.status.refused_version.empty()) return std::nullopt;
    return model::Reason{ReasonCode::ready, {{"replicas", std::to_string(counts.ready)}}};
}

}  // namespace tandem::core
