// SPDX-License-Identifier: Apache-2.0
#include "core/step.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/commands.h"
#include "core/elastic.h"
#include "core/gateways.h"
#include "core/jobs.h"
#include "core/maintenance.h"
#include "core/nodes.h"
#include "core/reservations.h"
#include "core/services.h"
#include "core/tasks.h"

namespace tandem::core {
namespace {

// Rows whose reason may follow the planner's in one batch; the rest comes with the next ones.
constexpr std::size_t news_max = 2048;
// A workload settles in a few rounds; this only keeps a defect from hanging the server.
constexpr int settle_rounds_max = 64;

struct Stepper {
    Turn& turn;
    void operator()(const model::Command& input) const { apply_command(turn, input); }
    void operator()(const model::TaskStarted& input) const { on_task_started(turn, input); }
    void operator()(const model::TaskExited& input) const { on_task_exited(turn, input); }
    void operator()(const model::TaskGone& input) const { on_task_gone(turn, input); }
    void operator()(const model::TaskProgress& input) const { on_task_progress(turn, input); }
    void operator()(const model::CheckpointSeen& input) const { on_checkpoint_seen(turn, input); }
    void operator()(const model::OutputStored& input) const { on_output_stored(turn, input); }
    void operator()(const model::TasksListed& input) const { on_tasks_listed(turn, input); }
    void operator()(const model::NodeReported& input) const { on_node_reported(turn, input); }
    void operator()(const model::ReplicaProbed& input) const { on_replica_probed(turn, input); }
    void operator()(const model::GatewayLoad& input) const { on_gateway_load(turn, input); }
    void operator()(const model::LeaseRequested& input) const { on_lease_requested(turn, input); }
    void operator()(const model::UsageShipped& input) const { on_usage_shipped(turn, input); }
    void operator()(const model::DenialSeen& input) const { on_denial_seen(turn, input); }
    void operator()(const model::TimerFired&) const { drop_old_idempotency(turn.state, turn.now); }
    void operator()(const model::ClockJumped& input) const { on_clock_jumped(turn, input); }
    void operator()(const model::ErrandDone& input) const { on_errand_done(turn, input); }
};

void wake_due(Turn& turn) {
    const auto& order = turn.state.live.wake.index().all();
    while (!order.empty() && order.begin()->first <= turn.now) {
        const RowId id = order.begin()->second;
        set_wake(turn.state.live, id, std::nullopt);
        const bool is_job = turn.state.table<model::Job>().find(id) != nullptr;
        touch(turn, is_job ? model::Kind::job : model::Kind::service, id);
    }
}

void settle(Turn& turn) {
    Live& live = turn.state.live;
    for (int round = 0; !live.jobs_touched.empty() || !live.services_touched.empty(); ++round) {
        TANDEM_ASSERT(round < settle_rounds_max, "workloads must settle");
        const std::set<RowId> jobs = std::exchange(live.jobs_touched, {});
        const std::set<RowId> services = std::exchange(live.services_touched, {});
        for (RowId id : jobs) reconcile_job(turn, id);
        for (RowId id : services) reconcile_service(turn, id);
    }
}

std::string name_of_workload(const State& state, RowId id) {
    if (const auto* job = state.table<model::Job>().find(id)) return "job/" + job->meta.name;
    if (const auto* service = state.table<model::Service>().find(id)) return "service/" + service->meta.name;
    return {};
}

void send_away(Turn& turn, RowId workload, const model::Reason& why) {
    const auto* part = turn.state.table<model::Replica>().find(workload);
    if (part && part->spec.owner_kind == model::Kind::service)
        evict_spare(turn, workload, why);
    else if (part)
        evict_member(turn, workload, why);
    else if (turn.state.table<model::Job>().find(workload))
        evict_job(turn, workload, why);
    else
        evict_service(turn, workload, why);
}

// The reason carries what it may cost: device-time since the last checkpoint. What it did cost is
// told when the work has stopped.
void evict(Turn& turn, const sched::Eviction& eviction, const std::string& by) {
    const std::string at_risk = render_duration(Duration{eviction.lost / 1000});
    const model::Reason why = reason_of(eviction.why, {{"by", by}, {"atRisk", at_risk}});
    send_away(turn, eviction.workload, why);
}

// What the planner remembers of queues is stored once a minute where it changes, and at once where it
// limits evictions.
void store_memory(Turn& turn) {
    constexpr Duration period = minutes(1);
    for (const sched::QueueMemory& memory : turn.state.planner.changed_memory()) {
        const model::Queue* queue = turn.state.table<model::Queue>().find_named(memory.queue);
        if (!queue || queue->status == memory.status) continue;
        const bool same_evictions = queue->status.evictions_left == memory.status.evictions_left &&
                                    queue->status.evictions_at == memory.status.evictions_at;
        const bool recent = queue->status.used.size() == memory.status.used.size() &&
                            !queue->status.used.empty() && queue->status.used.front().at + period > turn.now;
        if (same_evictions && recent) continue;
        turn.table<model::Queue>().edit(queue->meta.id).status = memory.status;
    }
}

// Whoever has to leave for a window.
void fill_booking(Turn& turn, const sched::BookingFilled& filled) {
    fill_reservation(turn, filled);
    const auto& reservation = turn.state.table<model::Reservation>().get(filled.id);
    for (const sched::Eviction& eviction : filled.evictions) {
        const model::Reason why = reason_of(
            eviction.why, {{"reservation", reservation.meta.name},
                           {"start", render_instant(reservation.status.start)},
                           {"atRisk", render_duration(Duration{eviction.lost / 1000})}});
        send_away(turn, eviction.workload, why);
    }
}

void make_true(Turn& turn, const sched::Plan& plan) {
    for (const sched::BookingFilled& filled : plan.bookings) fill_booking(turn, filled);
    for (const sched::PoolFilled& filled : plan.pools) fill_pool(turn, filled);
    for (const sched::Placement& placement : plan.placements) {
        const std::string by = name_of_workload(turn.state, placement.workload);
        for (const sched::Eviction& eviction : placement.evictions) evict(turn, eviction, by);
        if (placement.grows)
            grow_job(turn, placement);
        else if (turn.state.table<model::Job>().find(placement.workload))
            claim_job(turn, placement);
        else
            claim_replica(turn, placement);
    }
}

// A row's reason is written when the code changes, not with each attempt.
void tell_cause(Turn& turn, const sched::News& news) {
    if (const auto* job = turn.state.table<model::Job>().find(news.workload)) {
        if (job->status.phase != model::Phase::pending || job->status.reason.code == news.reason.code) return;
        turn.table<model::Job>().edit(news.workload).status.reason = news.reason;
    } else if (const auto* service = turn.state.table<model::Service>().find(news.workload)) {
        if (service->status.phase == model::ServicePhase::ready || service->status.reason.code == news.reason.code)
            return;
        turn.table<model::Service>().edit(news.workload).status.reason = news.reason;
    }
}

void tell_causes(Turn& turn) {
    std::vector<sched::News> news;
    turn.state.live.more_news = turn.state.planner.take_news(news_max, news);
    for (const sched::News& one : news) tell_cause(turn, one);
}

}  // namespace

void step(Turn& turn, const model::Input& input) { std::visit(Stepper{turn}, input); }

void plan_batch(Turn& turn) {
    wake_due(turn);
    move_windows(turn);
    move_maintenance(turn);
    settle(turn);
    for (int round = 0; round < settle_rounds_max && !turn.state.live.recovering; ++round) {
        const sched::Plan plan = turn.state.planner.plan(turn.now, plan_step_budget);
        if (plan.placements.empty() && plan.pools.empty() && plan.bookings.empty() &&
            !let_growing_start(turn))
            break;
        make_true(turn, plan);
        settle(turn);
    }
    if (let_growing_start(turn)) settle(turn);
    store_memory(turn);
    tell_causes(turn);
}

std::optional<Instant> next_wake(const State& state) {
    if (state.live.more_news) return state.meta.time;
    const auto& order = state.live.wake.index().all();
    std::optional<Instant> next = state.planner.next_look();
    const auto sooner = [&](Instant at) { next = next ? std::min(*next, at) : at; };
    if (const auto window = next_window(state)) sooner(*window);
    if (const auto maintenance = next_maintenance(state)) sooner(*maintenance);
    if (!order.empty()) sooner(order.begin()->first);
    return next;
}

}  // namespace tandem::core
