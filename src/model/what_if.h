// SPDX-License-Identifier: Apache-2.0
// What-if: a question about a change that nobody makes, and what it would do. Part of no state:
// neither is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/command.h"

namespace tandem::model {

// Machines that are not there: NAME, or NAME-1, NAME-2, ... `like`: a node that is there, whose
// devices, CPU, memory, labels and taints they have; otherwise what stands here.
struct NodesAdded {
    std::string name{};
    std::int64_t count = 1;
    std::string like{};
    std::int64_t devices = 0;
    std::string flavor{};
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    Labels labels{};
    std::vector<std::string> taints{};
    bool operator==(const NodesAdded&) const = default;
};
struct PriorityAsked {
    Kind kind = Kind::job;  // or service
    std::string project = "default";
    std::string name_space = "default";
    std::string name{};
    std::int64_t priority = 0;
    bool operator==(const PriorityAsked&) const = default;
};

inline constexpr Duration what_if_horizon = hours(24);
inline constexpr Duration what_if_horizon_max = hours(24 * 31);
inline constexpr std::int64_t what_if_nodes_max = 10'000;
inline constexpr std::size_t what_if_actions_max = 1000;

struct WhatIf {
    Duration horizon = what_if_horizon;
    std::vector<NodesAdded> add_nodes{};
    std::vector<std::string> drain{};  // nodes that take nothing new, and that all leave
    std::vector<PriorityAsked> priorities{};
    // apply and delete of jobs, services, queues, pools and nodes; acts on jobs.
    std::vector<Action> actions{};

    bool asks_for_change() const {
        return !add_nodes.empty() || !drain.empty() || !priorities.empty() || !actions.empty();
    }
};

// What a time rests on.
//   proved     the planner decides so at once; or all that it waits for ends by what it stated, and
//   nothing that is
//              there now goes before it
//   estimated  some of what it waits for has stated no end and is taken to run as long as its like
//   did, or others
//              that wait or grow may go first
enum class StartBasis : std::uint8_t { proved, estimated };
template <>
struct EnumNames<StartBasis> {
    static constexpr std::string_view values[] = {"proved", "estimated"};
};
struct ForeseenStart {
    Instant at{};
    StartBasis basis = StartBasis::estimated;
    bool operator==(const ForeseenStart&) const = default;
};

// Why no start can be said.
//   none        there is one
//   kept        it is held, suspended or waits for another job
//   never       it does not fit on these machines, or its queue does not take it
//   noEnd       what it waits for states no end, and nothing like it has ended yet
//   horizon     not within the time that was looked at
//   tooLong     looking further would have taken too long
enum class NoStart : std::uint8_t { none, kept, never, no_end, horizon, too_long };
template <>
struct EnumNames<NoStart> {
    static constexpr std::string_view values[] = {"none",  "kept",    "never",
                                                  "noEnd", "horizon", "tooLong"};
};

struct ForeseenEviction {
    Instant at{};
    Reason reason{};  // with who takes the place, and what is lost
    bool operator==(const ForeseenEviction&) const = default;
};
// How one workload fares; `before`: without the change.
struct ForeseenWork {
    ObjectKey object{};
    std::string queue{};
    bool added = false;  // by the change
    std::optional<ForeseenStart> start{};
    NoStart no_start = NoStart::none;
    Reason waits{};  // why it would still wait at the end of the look
    std::optional<ForeseenStart> start_before{};
    NoStart no_start_before = NoStart::none;
    std::vector<ForeseenEviction> evictions{};
    std::vector<ForeseenEviction> evictions_before{};
    bool operator==(const ForeseenWork&) const = default;
};
struct ForeseenSum {
    std::int64_t starts_now = 0;
    std::int64_t starts_later = 0;
    std::int64_t waits = 0;
    std::int64_t evictions = 0;
    Instant until{};       // how far was looked
    bool complete = true;  // the whole horizon
    bool operator==(const ForeseenSum&) const = default;
};
struct Foresight {
    std::int64_t version = 0;  // of the commit that it starts from
    Instant at{};
    ForeseenSum after{};
    std::optional<ForeseenSum> before{};  // absent when no change was asked for
    std::vector<ForeseenWork> work{};     // whom the change touches; without one, all that wait
    std::int64_t more = 0;                // beyond those shown
    std::int64_t of_others = 0;           // that the caller may not see
    bool operator==(const Foresight&) const = default;
};

}  // namespace tandem::model
