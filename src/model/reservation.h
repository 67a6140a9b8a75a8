// SPDX-License-Identifier: Apache-2.0
// Reservation: devices promised to a queue for a window of time, once or again and again.
// Maintenance: a window in which nodes are to be empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/capacity.h"
#include "model/meta.h"

namespace tandem::model {

// Windows begin every so often from the first on: `count` of them, or as many as begin before
// `until`.
struct Recurrence {
    Duration every{};
    std::optional<std::int64_t> count{};
    std::optional<Instant> until{};
    bool operator==(const Recurrence&) const = default;
};

// `devices` whole devices wherever they are; with `replicas`, so many times `devices` of one node.
struct ReservationSpec {
    std::string title{};
    std::string queue{};  // charged while a window is open
    std::string flavor{};
    std::int64_t devices = 0;
    std::int64_t replicas = 0;
    Instant start{};
    Duration duration{};
    std::optional<Recurrence> repeat{};
    std::vector<std::string> projects{};  // who may use it; empty: whoever may use the queue
    std::vector<std::string> users{};     // likewise: subjects
    bool operator==(const ReservationSpec&) const = default;
};

//   scheduled  its time has not come
//   preparing  it has its devices; who is on them leaves
//   open       the window's time
enum class WindowPhase : std::uint8_t { scheduled, preparing, open };
template <>
struct EnumNames<WindowPhase> {
    static constexpr std::string_view values[] = {"scheduled", "preparing", "open"};
};
struct ReservationStatus {
    WindowPhase phase = WindowPhase::scheduled;
    Reason reason{};
    std::int64_t window = 0;  // number of the one at hand, from 1 on
    Instant start{};          // of it
    Instant end{};
    std::vector<HeldDevice> held{};
    bool operator==(const ReservationStatus&) const = default;
};
struct Reservation {
    static constexpr Kind kind = Kind::reservation;
    Meta meta{};
    ReservationSpec spec{};
    ReservationStatus status{};
    bool operator==(const Reservation&) const = default;
};

struct MaintenanceSpec {
    std::vector<std::string> nodes{};
    Labels node_selector{};  // and all nodes with these labels, as they are when it is made
    Instant start{};
    Duration duration{};
    std::string reason{};  // for people
    bool operator==(const MaintenanceSpec&) const = default;
};
struct MaintenanceStatus {
    WindowPhase phase = WindowPhase::scheduled;
    std::vector<std::string> nodes{};
    std::vector<std::string> staying{};  // work on them that is never asked to leave
    bool operator==(const MaintenanceStatus&) const = default;
};
struct Maintenance {
    static constexpr Kind kind = Kind::maintenance;
    Meta meta{};
    MaintenanceSpec spec{};
    MaintenanceStatus status{};
    bool operator==(const Maintenance&) const = default;
};

// Windows of a reservation; all of them end.
std::int64_t window_count(const ReservationSpec& spec);
// Of the n-th, from 1 on.
Instant window_start(const ReservationSpec& spec, std::int64_t number);
// The first that has not ended at `now`; 0: none.
std::int64_t window_at(const ReservationSpec& spec, Instant now);
// All its devices.
std::int64_t devices_in(const ReservationSpec& spec);

}  // namespace tandem::model
