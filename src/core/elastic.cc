// SPDX-License-Identifier: Apache-2.0
#include "core/elastic.h"

#include <algorithm>

#include "core/arrays.h"
#include "core/capacity.h"
#include "core/jobs.h"
#include "core/members.h"

namespace tandem::core {
namespace {

using model::Job;
using model::Phase;
using model::ReasonCode;
using model::Replica;

constexpr Duration calm = hours(1);  // who keeps its size for so long has not been pushed about
constexpr std::int64_t doublings_max = 6;
constexpr std::int64_t restarts_repaid = 10;
constexpr std::int64_t rank_max = 9'999;  // four digits of a name

std::string text_of(std::int64_t number) { return std::to_string(number); }

Instant grows_from(const Job& job) {
    Duration wait = job.spec.elastic.grow_after;
    if (model::restarts_to_resize(job.spec))
        wait.ms = std::max(wait.ms, restarts_repaid * job.spec.checkpoint.restart_time.ms);
    const Instant since = job.status.resized.value_or(job.status.started.value_or(Instant{}));
#if defined(TANDEM_PLANT_GROWTH_BACKOFF)
    wait.ms = 0;
#endif
    return since + Duration{wait.ms << std::min(job.status.shrinks, doublings_max)};
}

// Of the same flavor as the others of its role.
std::string flavor_of_role(const State& state, const Job& job, const model::JobRole& role) {
    for (RowId id : members_of(state, job.meta.id)) {
        const Replica& replica = state.table<Replica>().get(id);
        if (replica.spec.role != role.name) continue;
        const sched::Entry* entry =
            state.planner.find_entry(job.meta.id, replica.spec.rank);
        if (entry && !entry->flavor.empty()) return entry->flavor;
    }
    return role.resources.flavor;
}

// Of roles whose replicas are alike: what is counted in limits is stated once.
void put_wish(Turn& turn, const Job& job) {
    sched::Demand wish = demand_of(turn.state, job);
    wish.parts.clear();
    wish.forced = false;
    std::map<std::string, std::int64_t> present;
    for (RowId id : members_of(turn.state, job.meta.id))
        present[turn.state.table<Replica>().get(id).spec.role] += 1;
    std::int64_t rank = std::max(job.status.next_rank, model::least_members(job.spec));
    for (const model::JobRole& role : job.spec.roles) {
        const std::int64_t more =
            std::min(role.most() - present[role.name], rank_max + 1 - rank);
        if (more <= 0) continue;
        if (!wish.parts.empty() && wish.parts.front().each.devices != role.resources.devices)
            continue;
        model::Resources each = role.resources;
        each.flavor = flavor_of_role(turn.state, job, role);
        wish.parts.push_back(
            {.role = role.name, .first_rank = rank, .count = more, .each = std::move(each)});
        rank += more;
    }
    if (wish.parts.empty()) return turn.state.planner.remove_growth(job.meta.id);
    wish.permits = permits_of_member(turn.state, job, wish.parts.front().each.devices);
    turn.state.planner.put_growth(wish);
}

// A rank that no other workload's replica is named after.
std::optional<std::int64_t> take_rank(const State& state, Job& job, const std::string& role) {
    std::int64_t& next = job.status.next_rank;
    next = std::max(next, model::least_members(job.spec));
    for (; next <= rank_max; ++next) {
        const std::string name = job.meta.name + "-" + role + "-" + text_of(next);
        if (!state.table<Replica>().find_named(job.meta.project, job.meta.name_space, name))
            return next++;
    }
    return std::nullopt;
}

void stop_member(Turn& turn, const Job& job, RowId id) {
    const Replica& replica = turn.state.table<Replica>().get(id);
    if (!model::may_be_alive(replica.status.phase) || is_gone(replica)) return;
    if (replica.status.phase == Phase::stopping) return;
    const model::TaskName task = task_name(turn.state, replica);
    close_intents(turn, task);
    move_replica(turn, id, Phase::stopping);
    turn.open_intent(
        model::StopTask{.task = task, .node = replica.status.node, .grace = job.spec.grace});
}

void begin_resize(Turn& turn, RowId id, std::int64_t from) {
    Job& job = turn.table<Job>().edit(id);
    job.status.phase = Phase::stopping;
    job.status.ending = model::Ending::resized;
    job.status.reason =
        reason_of(ReasonCode::resizing,
                  {{"from", text_of(from)}, {"to", text_of(job.status.replicas)}});
    for (RowId replica : replicas_of(turn.state, id)) stop_member(turn, job, replica);
    TANDEM_REACHED("job.resized");
}

bool may_grow_now(const State& state, const Job& job) {
    if (job.status.phase != Phase::running || job.status.cancel_requested ||
        job.meta.deletion_requested || is_suspended(state, job))
        return false;
    if (job.status.replicas >= model::most_members(job.spec)) return false;
    for (RowId id : members_of(state, job.meta.id))  // it is coming to its end
        if (is_gone(state.table<Replica>().get(id))) return false;
    return !model::restarts_to_resize(job.spec) || job.spec.checkpoint.enabled;
}

}  // namespace

bool asks_for_more(Turn& turn, const Job& job) {
    if (!model::is_elastic(job.spec) || !turn.asked_for_more.insert(job.meta.id).second)
        return false;
    turn.growing.insert(job.meta.id);
    put_wish(turn, job);
    return true;
}

bool let_growing_start(Turn& turn) {
    const std::set<RowId> growing = std::exchange(turn.growing, {});
    for (RowId id : growing) {
        turn.state.planner.remove_growth(id);
        touch(turn, model::Kind::job, id);
    }
    return !growing.empty();
}

void grow_job(Turn& turn, const sched::Placement& placement) {
    const RowId id = placement.workload;
    turn.state.planner.remove_growth(id);
    const Job* known = turn.state.table<Job>().find(id);
    const bool starts = turn.growing.contains(id);
    if (!known || !(starts ? known->status.phase == Phase::claimed
                           : may_grow_now(turn.state, *known)))
        return;
    Job& job = turn.table<Job>().edit(id);
    const std::int64_t from = job.status.replicas;
    for (const sched::PlacedReplica& placed : placement.replicas) {
        const auto rank = take_rank(turn.state, job, placed.role);
        if (!rank) break;
        sched::PlacedReplica member = placed;
        member.rank = *rank;
        claim_member(turn, job, member, placement, true);
        job.status.replicas += 1;
    }
    touch(turn, model::Kind::job, id);
    if (starts || job.status.replicas == from) return;
    TANDEM_REACHED("job.grew");
    job.status.resized = turn.now;
    turn.note(key_of_row(job), job.meta.uid,
              reason_of(ReasonCode::grew, {{"from", text_of(from)},
                                           {"to", text_of(job.status.replicas)},
                                           {"max", text_of(model::most_members(job.spec))}}));
    if (model::restarts_to_resize(job.spec)) begin_resize(turn, id, from);
}

void evict_member(Turn& turn, RowId id, model::Reason why) {
    const Replica* member = turn.state.table<Replica>().find(id);
    const Job* owner = member ? turn.state.table<Job>().find(member->spec.owner_id) : nullptr;
    if (!owner || member->status.draining) return;
    const bool resizes = owner->status.ending == model::Ending::resized;
    if (owner->status.phase == Phase::stopping && !resizes) return;  // it leaves as a whole
    TANDEM_REACHED("job.gave_surplus");
    Job& job = turn.table<Job>().edit(owner->meta.id);
    const std::int64_t from = job.status.replicas;
    job.status.replicas -= 1;
    const bool again = job.status.resized && turn.now - *job.status.resized < calm;
    job.status.shrinks = again ? job.status.shrinks + 1 : 1;
    job.status.resized = turn.now;
    why.params.push_back({"replica", member->meta.name});
    why.params.push_back({"left", text_of(job.status.replicas)});
    why.params.push_back({"min", text_of(model::least_members(job.spec))});
    turn.note(key_of_row(job), job.meta.uid, why);
    turn.state.planner.remove_growth(job.meta.id);
    turn.state.planner.set_leaving(job.meta.id, member->spec.rank);
    touch(turn, model::Kind::job, job.meta.id);
    if (member->status.phase == Phase::claimed) return dismiss(turn, id, {});
    Replica& leaver = turn.table<Replica>().edit(id);
    leaver.status.draining = true;
    leaver.status.reason = std::move(why);
    if (!model::restarts_to_resize(job.spec)) return stop_member(turn, job, id);
    if (!resizes) begin_resize(turn, job.meta.id, from);
}

void tend_members(Turn& turn, RowId id) {
    const Job& job = turn.state.table<Job>().get(id);
    if (!model::is_elastic(job.spec)) return;
    bool waits = false;
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        if (replica.status.draining && is_gone(replica)) {
            std::optional<Instant> safe_at;
            if (!exited_well(replica))
                safe_at = occupant_of_member(turn.state, job, replica).safe_at;
            dismiss(turn, replica_id, safe_at);
        } else if (replica.status.phase == Phase::claimed) {
            if (hold_if_free(turn, replica))
                start_member(turn, job, replica_id);
            else
                waits = true;
        }
    }
    if (waits)
        turn.state.live.claimed.put(id, true);
    else
        turn.state.live.claimed.erase(id);
}

void wish_for_more(Turn& turn, RowId id) {
    const Job* job = turn.state.table<Job>().find(id);
    if (turn.growing.contains(id)) return;
    if (!job || !model::is_elastic(job->spec) || !may_grow_now(turn.state, *job))
        return turn.state.planner.remove_growth(id);
    const Instant from = grows_from(*job);
    if (from <= turn.now) return put_wish(turn, *job);
    turn.state.planner.remove_growth(id);
    const Wake* next = turn.state.live.wake.find(id);
    if (!next || from < next->at) set_wake(turn.state.live, id, from);
}

void resume_resized(Turn& turn, RowId id, const std::optional<Instant>& safe_at) {
    Job& job = turn.table<Job>().edit(id);
    const sched::Placement kept{.workload = id};
    for (RowId replica_id : replicas_of(turn.state, id)) {
        const Replica& replica = turn.state.table<Replica>().get(replica_id);
        if (replica.status.phase == Phase::claimed) continue;
        if (replica.status.draining) {
            dismiss(turn, replica_id, safe_at);
            continue;
        }
        const sched::Entry* entry = turn.state.planner.find_entry(id, replica.spec.rank);
        TANDEM_ASSERT(entry, "a member that stays has its capacity");
        const sched::PlacedReplica place{.role = replica.spec.role,
                                         .rank = replica.spec.rank,
                                         .node = replica.status.node,
                                         .devices = replica.status.devices,
                                         .flavor = entry->flavor};
        const bool surplus = replica.status.surplus;
        release(turn, replica,
                {.safe_at = safe_at, .lost = model::LedgerState::lost_to_preemption});
        turn.state.live.tasks.erase(task_name(turn.state, replica));
        claim_member(turn, job, place, kept, surplus);
    }
    job.status.phase = Phase::claimed;
    job.status.ending = model::Ending::none;
    turn.asked_for_more.insert(id);
    turn.state.live.claimed.put(id, true);
    touch(turn, model::Kind::job, id);
}

}  // namespace tandem::core
