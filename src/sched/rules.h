// SPDX-License-Identifier: Apache-2.0
// Rules: what one attempt to place by rules rests on (by_rules.cc). Inside of sched only.
#pragma once

#include "sched/inside.h"

namespace tandem::sched {

struct Planner::Inside::Rules {
    const ClassView& view;
    const Demand& demand;
    const Topology& topology;
    const model::JobPlacing& placing;
    TopologyAsk ask{};
    Company company{};
    bool may_meet() const;  // members have shares of one device
};

// The first constraint that binds `count` members: room, then company, then what belongs together.
// room: of all places; unsocial: with no heed to other work.
model::ReasonCode binding_rule(const TopologyAsk& ask, std::int64_t room, std::int64_t unsocial,
                               std::int64_t count);

constexpr bool is_rule_of_places(model::ReasonCode code) {
    return code == model::ReasonCode::no_topology_domain ||
           code == model::ReasonCode::no_even_spread ||
           code == model::ReasonCode::no_allowed_company;
}
// What can be said of such a reason whatever is free: of the code `of`, for `members` replicas.
std::vector<model::ReasonParam> params_of(model::ReasonCode of, const model::JobPlacing& placing,
                                          std::int64_t members);

// Of the window of the booking with this pool.
std::vector<model::ReasonParam> params_of_promise(const std::string& pool, Instant start);

}  // namespace tandem::sched
