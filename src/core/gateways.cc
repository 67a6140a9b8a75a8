// SPDX-License-Identifier: Apache-2.0
#include "core/gateways.h"

#include <algorithm>

#include "core/access.h"

namespace tandem::core {
namespace {

// A subject's refused reads are audited up to this many a minute; beyond, one row carries the count.
constexpr std::int64_t denials_per_minute = 60;
constexpr std::size_t denial_subjects_max = 10'000;

}  // namespace

void on_gateway_load(Turn& turn, const model::GatewayLoad& input) {
    for (const model::ServiceLoad& load : input.services) {
        const model::Service* service = turn.state.table<model::Service>().find_uid(load.service);
        if (!service) continue;
        turn.state.live.loads.put({load.service, input.gateway}, load);
        if (load.waiting > 0 || load.in_flight > 0) turn.state.live.last_request.put(service->meta.id, turn.now);
        touch(turn, model::Kind::service, service->meta.id);
    }
}

void on_lease_requested(Turn& turn, const model::LeaseRequested& input) {
    std::vector<traffic::LeaseAuthority::Asked> batch;
    for (const model::LeaseAsk& ask : input.asks) {
        const model::ApiKey* key = find_key(turn.state, ask.key_id);
        const bool usable = key && !key->spec.revoked;
        batch.push_back({.ask = ask,
                         .limits = usable ? traffic::LeaseLimits{key->spec.requests_per_minute, key->spec.concurrency}
                                          : traffic::LeaseLimits{}});
    }
    turn.state.effects.grants.push_back(
        {.ticket = input.ticket, .grants = turn.state.leases.ask(input.gateway, batch, turn.now)});
}

namespace {

// Calls too short to be seen in a sample of the load keep a service awake as well.
void note_request(Turn& turn, const model::RequestUsage& row) {
    const model::Service* service =
        turn.state.table<model::Service>().find_named(row.project, row.name_space, row.service);
    if (!service || (row.service_uid && row.service_uid != service->meta.uid)) return;
    const Instant at = std::min(row.at, turn.now);
    const Instant* last = turn.state.live.last_request.find(service->meta.id);
    if (last && *last >= at) return;
    turn.state.live.last_request.put(service->meta.id, at);
    touch(turn, model::Kind::service, service->meta.id);
}

// A gateway that was killed settles calls of which it knows the name alone.
void name_service(const Turn& turn, model::RequestUsage& row) {
    if (row.service_uid) return;
    const model::Service* service =
        turn.state.table<model::Service>().find_named(row.project, row.name_space, row.service);
    if (service) row.service_uid = service->meta.uid;
}

}  // namespace

void on_usage_shipped(Turn& turn, const model::UsageShipped& input) {
    const CursorKey key{input.gateway, input.epoch};
    const model::GatewayCursor* cursor = turn.state.cursors.find(key);
    std::int64_t booked = cursor ? cursor->sequence : 0;
    for (const model::RequestUsage& row : input.rows) {
        if (row.sequence <= booked) {
            TANDEM_REACHED("usage.shipped_again");
            continue;
        }
        booked = row.sequence;
        turn.state.effects.requests.push_back(row);
        turn.state.effects.requests.back().gateway = input.gateway;
        turn.state.effects.requests.back().epoch = input.epoch;
        name_service(turn, turn.state.effects.requests.back());
        note_request(turn, row);
    }
    turn.state.cursors.put(key, {.gateway = input.gateway, .epoch = input.epoch, .sequence = booked});
    turn.state.effects.acknowledgements.push_back({.ticket = input.ticket, .sequence = booked});
}

void on_denial_seen(Turn& turn, const model::DenialSeen& input) {
    auto& denials = turn.state.live.denials;
    Denials& seen = denials.find(input.caller.subject) ? denials.edit(input.caller.subject)
                                                       : denials.insert(input.caller.subject, {.since = turn.now, .count = 0});
    if (turn.now - seen.since >= minutes(1)) seen = {.since = turn.now, .count = 0};
    seen.count += input.count;
    const bool told = seen.count <= denials_per_minute || seen.count % denials_per_minute == 0;
    if (told) audit(turn, input.caller, input.action, input.object, false, "denied", std::max<std::int64_t>(input.count, 1));
    if (denials.size() > denial_subjects_max) denials.erase(denials.rows().begin()->first);
}

void on_errand_done(Turn& turn, const model::ErrandDone& input) {
    audit(turn, input.caller, input.action, input.object, true, input.rule);
}

void audit(Turn& turn, const model::Caller& caller, std::string action, std::string object, bool allowed,
           std::string rule, std::int64_t count) {
    turn.state.effects.audit.push_back({.sequence = ++turn.state.meta.audit_sequence,
                                        .at = turn.now,
                                        .caller = caller,
                                        .action = std::move(action),
                                        .object = std::move(object),
                                        .allowed = allowed,
                                        .rule = std::move(rule),
                                        .count = count,
                                        .hash = {}});
}

}  // namespace tandem::core
