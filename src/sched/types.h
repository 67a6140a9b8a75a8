// SPDX-License-Identifier: Apache-2.0
// What the planner is told and what it answers. Amounts: devices in milli-devices, CPU in
// milli-cores, memory in bytes. All ids are core's row ids; every order ends in one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/capacity.h"
#include "model/job.h"
#include "model/queue.h"
#include "model/reason.h"
#include "model/verdict.h"
#include "model/work.h"

namespace tandem::sched {

// The four kinds of entries of the one capacity ledger.
//   allocation   capacity of a replica that may be alive
//   claim        capacity on its way to a named workload; its victims may still be leaving
//   reservation  capacity promised for a time window
//   hold         capacity kept by a pool or a person, without a workload
enum class EntryKind : std::uint8_t { allocation, claim, reservation, hold };

// A counter beside devices that a workload stands in while it holds capacity, and how far the
// counter may go for it to start. They are counted by (bound, name, at, devices).
struct Permit {
    // license_short | array_limit | user_limit | project_limit | queue_limit: what it waits for
    // where it is full
    model::ReasonCode bound = model::ReasonCode::license_short;
    std::string name{};    // of the license, array, user, project or queue
    std::string at{};      // of a user: where, "project/P" or "queue/Q"; empty: everywhere
    bool devices = false;  // counts milli-devices; else jobs, elements, licenses
    std::int64_t amount = 1;
    std::int64_t limit = model::unlimited;
    bool operator==(const Permit&) const = default;
};

// Rules of a job, shared by all that speak of it; equal when they say the same.
struct PlacingRef {
    std::shared_ptr<const model::JobPlacing> rules{};
    bool operator==(const PlacingRef& other) const {
        return rules == other.rules || (rules && other.rules && *rules == *other.rules);
    }
};

struct Entry {
    // Key of an entry is (id, part): id is the WORKLOAD's row id (job or service) and part the
    // replica's rank; for holds id is the pool's row id and part a running number. plan() adds its
    // entries under the same key.
    RowId id{};
    std::int64_t part = 0;
    EntryKind kind = EntryKind::allocation;
    RowId workload{};  // = id, or zero for holds
    std::string node{};
    std::vector<model::DeviceShare> devices{};
    std::string flavor{};
    std::string asked{};  // the flavors it might have had, as asked for
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::string queue{};  // charged; empty for holds
    std::string pool{};
    std::string project{};
    bool leaving = false;  // a victim or an ended replica: will be gone, still occupies
    std::vector<Permit> permits{};  // of its workload: all of its entries state the same
    PlacingRef placing{};  // of work that others select or that keeps them away; else empty
    bool operator==(const Entry&) const = default;
};

// Replicas of one shape inside a waiting workload.
struct DemandPart {
    std::string role{};
    std::int64_t first_rank = 0;
    std::int64_t count = 1;
    model::Resources each{};
};

// What work usually asks for, told instead of learned. Devices of one replica.
struct TypicalWork {
    std::int64_t cpu_milli = 0;
    std::int64_t devices = 0;
    std::string flavor{};
    std::int64_t count = 1;
};

// A waiting workload, or the missing replicas of a service: placed whole or not at all.
struct Demand {
    RowId workload{};
    std::string queue{};
    std::string project{};
    std::int64_t priority = 0;
    Instant submitted{};
    std::vector<DemandPart> parts{};
    model::WhenBorrow when_borrow = model::WhenBorrow::borrow;
    model::WhenPreempt when_preempt = model::WhenPreempt::next;
    Duration length{};        // it says that it runs at most so long; 0: not stated
    bool preemptible = true;  // once it runs
    std::vector<Permit> permits{};
    bool forced = false;  // whatever quotas say, and past whoever waits before it
    std::string window{};     // name of the booking on whose devices it runs; empty: its queue's pool
    PlacingRef placing{};     // empty: none
};

// How what holds capacity gives way.
//   whole    as a whole, to whom the rules of preemption give the right
//   spare    to the same, but before whole work: a replica of a service above its floor
//   surplus  to anybody who has no place otherwise: a member of a job beyond what it needs
enum class Standing : std::uint8_t { whole, spare, surplus };

// A workload that holds capacity and may be asked to leave. What is spare or surplus stands apart
// from the job or service that it is part of: its entries name it as their workload.
struct Occupant {
    RowId workload{};
    std::string queue{};
    std::int64_t priority = 0;
    bool preemptible = true;
    Instant started{};
    Instant
        safe_at{};  // of its last complete checkpoint, or started: work since then would be lost
    Duration restart_time{};     // lost as well, whenever it leaves
    std::int64_t evictions = 0;  // that it has seen already
    std::optional<Instant> ends{};  // at the latest, by what it stated
    Standing standing = Standing::whole;
    Duration grace{};               // it takes so long at most to leave
};

// Devices promised for windows to come, all of one length (reserved_time.cc). While it holds
// devices they are its own: no work has a place there but what asks for its window, which no quota
// is charged for; the window's entries of kind reservation, under this id and pool, are.
struct Booking {
    RowId id{};
    std::string name{};    // of its own pool
    std::string from{};    // the pool whose devices it takes
    std::string flavor{};
    std::int64_t members = 1;
    std::int64_t each = 1;  // whole devices of one node for each member
    Instant start{};        // of the window at hand
    Duration length{};
    Duration every{};
    std::int64_t windows = 1;  // that one and those to come
    std::vector<model::HeldDevice> held{};
};

struct PlacedReplica {
    std::string role{};
    std::int64_t rank = 0;
    std::string node{};
    std::vector<model::DeviceShare> devices{};
    std::string flavor{};
};

struct Eviction {
    RowId workload{};
    model::ReasonCode why =
        model::ReasonCode::preempted;  // preempted | reclaimed | gave_fair_share | gave_surplus
    std::int64_t lost = 0;  // milli-device-milliseconds of work since its last checkpoint
};

// What the planner remembers of a queue beside its objects, for core to store: decayed use by
// flavor, and what is left of the evictions its work may cause.
struct QueueMemory {
    std::string queue{};
    model::QueueStatus status{};
};

// A placement with evictions becomes claims; without, its replicas start at once.
struct Placement {
    RowId workload{};
    std::vector<PlacedReplica> replicas{};
    std::vector<Eviction> evictions{};
    bool grows = false;  // members that a job has beyond what it needs (Planner::put_growth)
};

// All that a reserved pool holds now, those found by this plan among them, by node and index; fewer
// than it is to have when the rest is not free yet. plan() has made the pool their owner; core
// stores them in the pool's status. It may put entries of kind hold under the pool's id for them as
// well, or leave that.
struct PoolFilled {
    RowId pool{};
    std::vector<model::HeldDevice> devices{};
};

// All that a booking holds now, and who has to leave for what was found by this plan.
struct BookingFilled {
    RowId id{};
    std::vector<model::HeldDevice> devices{};
    std::vector<Eviction> evictions{};
};

// The first of a queue that has no place keeps the time at which it gets one, if all keep to what
// they stated; no start: somebody it waits for stated nothing. Whoever comes later in its queue
// starts only where that does not change (headway.cc). Told when somebody wanted to pass it.
struct KeptStart {
    RowId workload{};
    std::optional<Instant> start{};
};

struct Plan {
    std::vector<PoolFilled> pools{};
    std::vector<BookingFilled> bookings{};
    std::vector<KeptStart> promises{};
    std::vector<Placement> placements{};
    std::int64_t steps_used = 0;
    bool exhausted = false;  // the step budget ended first: plan again
};

}  // namespace tandem::sched
