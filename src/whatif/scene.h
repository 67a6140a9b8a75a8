// SPDX-License-Identifier: Apache-2.0
// Scene: the rows of one commit, made ready to be played on from, on a copy that nobody else has.
// What is over is left out, except what others wait for. Services keep as many replicas as they are
// to have now. Watches over output and heartbeats, which nothing would feed, are taken off. A
// maximum run time includes the time to end, as in the planner's own profile of stated ends.
//
// change() makes of a question what is asked of core: drained nodes and priorities are set in the
// rows themselves (core allows a person less), the rest are inputs for the first batch. Errors name
// the field in the question's words. PURE. Thread rule: one owner.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ports.h"
#include "model/what_if.h"
#include "whatif/typical.h"

namespace tandem::whatif {

struct Scene {
    core::RecoveredState rows{};
    TypicalTimes typical{};
    std::map<Uid, Duration> graces{};  // of jobs, as they state it; others: that of `actions`
    std::map<model::ObjectKey, Duration> graces_asked{};
    std::set<std::string> growing{};  // queues with a service that may come to want more replicas
    std::vector<model::Input> inputs{};  // machines
    std::vector<model::Action> actions{};
    std::set<RowId> drained{};  // services with a replica on a drained node
};

Scene make_scene(core::RecoveredState rows);
Status change(Scene& scene, const model::WhatIf& question);

}  // namespace tandem::whatif
