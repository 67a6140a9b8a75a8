// SPDX-License-Identifier: Apache-2.0
#include "core/reservations.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/capacity.h"
#include "core/jobs.h"
#include "core/nodes.h"
#include "model/limits.h"

namespace tandem::core {
namespace {

using model::Job;
using model::ReasonCode;
using model::Replica;
using model::Reservation;
using model::WindowPhase;

std::string pool_name(const std::string& reservation) { return "reservation/" + reservation; }

const Reservation* named_by(const State& state, const Job& job) {
    if (job.spec.reservation.empty()) return nullptr;
    return state.table<Reservation>().find_named(job.spec.reservation);
}

std::string queue_pool(const State& state, const std::string& name) {
    const model::Queue* queue = state.table<model::Queue>().find_named(name);
    return queue ? queue->spec.pool : "";
}

std::vector<RowId> jobs_naming(const State& state, const std::string& reservation) {
    std::vector<RowId> jobs;
    for (const auto& [id, job] : state.table<Job>().rows())
        if (job.spec.reservation == reservation && !model::is_terminal(job.status.phase))
            jobs.push_back(id);
    return jobs;
}

// While a window is open its queue is charged for what it holds.
void put_entries(State& state, const Reservation& reservation) {
    if (reservation.status.phase != WindowPhase::open) return;
    std::int64_t part = 0;
    for (const model::HeldDevice& held : reservation.status.held)
        state.planner.put_entry({.id = reservation.meta.id,
                                 .part = part++,
                                 .kind = sched::EntryKind::reservation,
                                 .node = held.node,
                                 .devices = {{held.index, 1000}},
                                 .flavor = reservation.spec.flavor,
                                 .queue = reservation.spec.queue,
                                 .pool = pool_name(reservation.meta.name)});
}

void remove_entries(State& state, const Reservation& reservation) {
    for (std::size_t part = 0; part < reservation.status.held.size(); ++part)
        state.planner.remove_entry(reservation.meta.id, static_cast<std::int64_t>(part));
}

void tell_jobs(Turn& turn, const std::string& reservation) {
    for (RowId id : jobs_naming(turn.state, reservation)) touch(turn, model::Kind::job, id);
}

// Of one replica: entry and ledger go on under its queue's pool.
void leave_window(Turn& turn, RowId id) {
    Replica& replica = turn.table<Replica>().edit(id);
    replica.spec.pool = queue_pool(turn.state, replica.spec.queue);
    const sched::Entry* known =
        turn.state.planner.find_entry(replica.spec.owner_id, replica.spec.rank);
    if (!known) return;
    sched::Entry entry = *known;
    entry.pool = replica.spec.pool;
    turn.state.planner.put_entry(entry);
    const auto state = replica.status.ran_from ? model::LedgerState::running
                                               : model::LedgerState::held;
    if (replica.status.phase == model::Phase::claimed) return;
    for (const model::DeviceShare& share : replica.status.devices)
        turn.state.book.occupy({replica.status.node, share.index}, id, share.milli, state,
                               attribution_of(replica), turn.now);
}

void leave_window(Turn& turn, const Job& job, const std::string& pool) {
    bool left = false;
    for (RowId id : replicas_of(turn.state, job.meta.id)) {
        const Replica& replica = turn.state.table<Replica>().get(id);
        if (replica.spec.pool != pool || !model::holds_capacity(replica.status.phase)) continue;
        leave_window(turn, id);
        left = true;
    }
#if !defined(TANDEM_PLANT_WINDOW_END)
    if (left && model::may_be_alive(job.status.phase))
        turn.state.planner.put_occupant(occupant_of(turn.state, job));
#else
    static_cast<void>(left);
#endif
}

void close_window(Turn& turn, RowId id) {
    const Reservation& closing = turn.state.table<Reservation>().get(id);
    const std::string name = closing.meta.name;
    remove_entries(turn.state, closing);
    Reservation& reservation = turn.table<Reservation>().edit(id);
    reservation.status.held.clear();
    reservation.status.reason = {};
    reservation.status.phase = WindowPhase::scheduled;
    for (RowId job : jobs_naming(turn.state, name))
        leave_window(turn, turn.state.table<Job>().get(job), pool_name(name));
    tell_jobs(turn, name);
}

// The window that comes next, or is at hand; the row goes when there is none.
void take_next_window(Turn& turn, RowId id) {
    Reservation& reservation = turn.table<Reservation>().edit(id);
    const std::int64_t window = model::window_at(reservation.spec, turn.now);
    if (window == 0) {
        const std::string name = reservation.meta.name;
        turn.state.planner.remove_booking(id);
        turn.table<Reservation>().erase(id);
        return tell_jobs(turn, name);
    }
    reservation.status.window = window;
    reservation.status.start = model::window_start(reservation.spec, window);
    reservation.status.end = reservation.status.start + reservation.spec.duration;
    put_reservation(turn.state, reservation);
}

// What it holds, beside what it was promised.
void tell_shortage(Reservation& reservation) {
    const std::int64_t wanted = model::devices_in(reservation.spec);
    const auto held = static_cast<std::int64_t>(reservation.status.held.size());
    reservation.status.reason = {};
    if (held < wanted && reservation.status.phase != WindowPhase::scheduled)
        reservation.status.reason =
            reason_of(ReasonCode::window_short,
                      {{"needed", std::to_string(wanted)}, {"have", std::to_string(held)}});
}

void open_window(Turn& turn, RowId id) {
    Reservation& reservation = turn.table<Reservation>().edit(id);
    reservation.status.phase = WindowPhase::open;
    tell_shortage(reservation);
    put_entries(turn.state, reservation);
    turn.note(key_of_row(reservation), reservation.meta.uid,
              reason_of(ReasonCode::window_opened,
                        {{"reservation", reservation.meta.name},
                         {"devices", std::to_string(reservation.status.held.size())},
                         {"end", render_instant(reservation.status.end)}}));
    settle_owners(turn.state, turn.now);
    tell_jobs(turn, reservation.meta.name);
}

// When something of it is to be done.
Instant next_move(const Reservation& reservation) {
    return reservation.status.phase == WindowPhase::open ? reservation.status.end
                                                         : reservation.status.start;
}

void move_window(Turn& turn, RowId id) {
    const Reservation& reservation = turn.state.table<Reservation>().get(id);
    if (turn.now < reservation.status.end) return open_window(turn, id);
    if (reservation.status.phase == WindowPhase::open)
        turn.note(key_of_row(reservation), reservation.meta.uid,
                  reason_of(ReasonCode::window_ended, {{"reservation", reservation.meta.name}}));
    close_window(turn, id);
    take_next_window(turn, id);
    settle_owners(turn.state, turn.now);
}

}  // namespace

std::string window_of(const State& state, const Job& job) {
    const Reservation* reservation = named_by(state, job);
    const bool open = reservation && reservation->status.phase == WindowPhase::open;
    return open ? pool_name(reservation->meta.name) : "";
}

std::string pool_of(const State& state, const Job& job) {
    const std::string window = window_of(state, job);
    return window.empty() ? queue_pool(state, job.spec.queue) : window;
}

std::optional<model::Reason> waits_for_window(const State& state, const Job& job) {
    const Reservation* reservation = named_by(state, job);
    if (!reservation || reservation->status.phase == WindowPhase::open) return std::nullopt;
    return reason_of(ReasonCode::waits_for_window,
                     {{"reservation", reservation->meta.name},
                      {"start", render_instant(reservation->status.start)}});
}

bool is_preemptible(const State& state, const Job& job) {
    if (job.spec.preemptible || job.spec.reservation.empty()) return job.spec.preemptible;
    const std::vector<RowId> replicas = replicas_of(state, job.meta.id);
    const std::string pool = pool_name(job.spec.reservation);
    return std::ranges::none_of(replicas, [&](RowId id) {
        return state.table<Replica>().get(id).spec.pool == pool;
    });
}

bool is_preemptible_once_placed(const State& state, const Job& job) {
    return job.spec.preemptible ||
           (!job.spec.reservation.empty() && window_of(state, job).empty());
}

std::string window_holding(const State& state, const std::string& node, std::int64_t device) {
    for (const auto& [id, reservation] : state.table<Reservation>().rows()) {
        if (reservation.status.phase != WindowPhase::open) continue;
        for (const model::HeldDevice& held : reservation.status.held)
            if (held.node == node && held.index == device) return pool_name(reservation.meta.name);
    }
    return {};
}

void put_reservation(State& state, const Reservation& reservation) {
    const model::ReservationSpec& spec = reservation.spec;
    state.planner.put_booking({.id = reservation.meta.id,
                               .name = pool_name(reservation.meta.name),
                               .from = queue_pool(state, spec.queue),
                               .flavor = spec.flavor,
                               .members = spec.replicas == 0 ? spec.devices : spec.replicas,
                               .each = spec.replicas == 0 ? 1 : spec.devices,
                               .start = reservation.status.start,
                               .length = spec.duration,
                               .every = spec.repeat ? spec.repeat->every : Duration{},
                               .windows = model::window_count(spec) - reservation.status.window + 1,
                               .held = reservation.status.held});
    put_entries(state, reservation);
}

void reservation_made(Turn& turn, RowId id) {
    const Reservation& reservation = turn.state.table<Reservation>().get(id);
    if (reservation.status.window == 0) take_next_window(turn, id);
}

void reservation_going(Turn& turn, const Reservation& reservation) {
    close_window(turn, reservation.meta.id);
    turn.state.planner.remove_booking(reservation.meta.id);
}

void fill_reservation(Turn& turn, const sched::BookingFilled& filled) {
    Reservation& reservation = turn.table<Reservation>().edit(filled.id);
    reservation.status.held = filled.devices;
    if (reservation.status.phase == WindowPhase::scheduled)
        reservation.status.phase = WindowPhase::preparing;
    tell_shortage(reservation);
    put_entries(turn.state, reservation);
    settle_owners(turn.state, turn.now);
}

void move_windows(Turn& turn) {
    std::vector<RowId> due;
    for (const auto& [id, reservation] : turn.state.table<Reservation>().rows())
        if (next_move(reservation) <= turn.now) due.push_back(id);
    for (RowId id : due) move_window(turn, id);
}

std::optional<Instant> next_window(const State& state) {
    std::optional<Instant> next;
    for (const auto& [id, reservation] : state.table<Reservation>().rows()) {
        const Instant at = next_move(reservation);
        next = next ? std::min(*next, at) : at;
    }
    return next;
}

}  // namespace tandem::core
