// SPDX-License-Identifier: Apache-2.0
#include "core/live_memory.h"

#include "core/commands.h"
#include "core/recover.h"

namespace tandem::core {

model::LiveMemory remember(const State& state) {
    const Live& live = state.live;
    model::LiveMemory memory{.recovering = live.recovering};
    for (const auto& [task, life] : live.tasks.rows())
        memory.tasks.push_back({.task = task, .step = life.step, .beat = life.beat, .output = life.output});
    for (const auto& [task, stray] : live.strays.rows()) memory.strays.push_back(stray);
    for (const auto& [key, load] : live.loads.rows()) memory.loads.push_back({.gateway = key.second, .load = load});
    for (const auto& [service, at] : live.last_request.rows()) memory.requests.push_back({.service = service, .at = at});
    for (const auto& [subject, seen] : live.denials.rows())
        memory.denials.push_back({.subject = subject, .since = seen.since, .count = seen.count});
    for (const auto& [service, scale] : live.scale.rows())
        memory.scale.push_back({.service = service, .low_since = scale.low_since, .peak = scale.peak});
    for (const auto& [workload, wake] : live.wake.rows()) memory.wakes.push_back({.workload = workload, .at = wake.at});
    return memory;
}

void recall(State& state, const model::LiveMemory& memory) {
    Live& live = state.live;
    live.recovering = memory.recovering;
    live.look_at_all = true;
    for (const model::LiveTask& one : memory.tasks)
        live.tasks.put(one.task, {.step = one.step, .beat = one.beat, .output = one.output});
    for (const model::LiveStray& one : memory.strays) live.strays.put(one.task, one);
    for (const model::LiveLoad& one : memory.loads) live.loads.put({one.load.service, one.gateway}, one.load);
    for (const model::LiveRequest& one : memory.requests) live.last_request.put(one.service, one.at);
    for (const model::LiveDenial& one : memory.denials) live.denials.put(one.subject, {.since = one.since, .count = one.count});
    for (const model::LiveScale& one : memory.scale)
        live.scale.put(one.service, {.low_since = one.low_since, .peak = one.peak});
    for (const model::LiveWake& one : memory.wakes) set_wake(live, one.workload, one.at);
}

void begin_anew(State& state) {
    // As the store does it: a segment's rows hold no answers that are older than their day.
    drop_old_idempotency(state, state.meta.time);
    std::vector<RowId> claimed;
    for (const auto& [id, unused] : state.live.claimed.rows()) claimed.push_back(id);
    for (RowId id : claimed) state.live.claimed.erase(id);
    state.planner.clear();
    rebuild_planner(state);
    state.live.look_at_all = true;
    state.live.more_news = false;  // the planner, made anew, tells all again
    state.forget();
}

void look_at_all(Turn& turn) {
    turn.state.live.look_at_all = false;
    touch_all(turn);
}

}  // namespace tandem::core
