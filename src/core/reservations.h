// SPDX-License-Identifier: Apache-2.0
// Reservations: windows of time open and close, their devices and entries follow, and jobs that
// name one wait for it. While a window is open its devices are a pool of their own,
// "reservation/NAME", and its queue is charged for all of them by entries of kind reservation; jobs
// in it are charged to no quota. At its end what still runs there is work of its own queue like any
// other, and may be asked to leave whatever it said.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// Where a job of a queue has its place: the open window that it names, else its queue's pool.
std::string pool_of(const State& state, const model::Job& job);
// The pool of the open window that it is to run in; empty: none.
std::string window_of(const State& state, const model::Job& job);
// It names a window, and its time has not come.
std::optional<model::Reason> waits_for_window(const State& state, const model::Job& job);
// May it be asked to leave? Outside of the window that it named also when it said no: while it holds
// capacity, and once it does.
bool is_preemptible(const State& state, const model::Job& job);
bool is_preemptible_once_placed(const State& state, const model::Job& job);
// The pool of the open window that holds a device; empty: none.
std::string window_holding(const State& state, const std::string& node, std::int64_t device);

// Nothing begins in the past.
Status check_start(Instant now, Instant start);
// May this subject's job use the reservation that it names?
Status check_reserved(const State& state, const std::string& subject, const model::Job& wanted);

void reservation_made(Turn& turn, RowId id);
void reservation_going(Turn& turn, const model::Reservation& reservation);
// What the planner found for a window.
void fill_reservation(Turn& turn, const sched::BookingFilled& filled);
// Opens and closes windows whose time has come.
void move_windows(Turn& turn);
std::optional<Instant> next_window(const State& state);
// To the planner, from rows.
void put_reservation(State& state, const model::Reservation& reservation);

}  // namespace tandem::core
