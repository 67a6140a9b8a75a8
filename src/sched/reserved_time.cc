// SPDX-License-Identifier: Apache-2.0
// Devices promised for windows to come. Until a window is near no device is its own: whoever is
// placed must leave it possible. Work that may be asked to leave, or that ends before the window
// begins, as it states itself, goes anywhere. Of all else a placement stands only if at the start
// of every window that it would still see, what is promised then has its places on the real tables,
// with all gone that may be asked to leave or that will have ended; where it has not, another place
// is looked for beside the promised ones.
//
// Shortly before the start, as long as those who have to leave may take for it, the devices become
// the booking's own (fill_booking): free ones, those of work that ends by then, and for the rest the
// fewest that may be asked to leave; queues and quotas have no say in that. What it lacks, because
// somebody stays, it takes as soon as it can.
#include <algorithm>
#include <utility>

#include "model/limits.h"
#include "sched/inside.h"
#include "sched/rules.h"

namespace tandem::sched {
namespace {

using model::ReasonCode;

constexpr Duration slack = seconds(10);       // to prove that processes are gone
constexpr std::size_t moments_max = 64;       // starts of one booking that are looked at
constexpr std::string_view own_prefix = "reservation/";

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

Instant start_of(const BookingFacts& booking, std::int64_t window) {
    return booking.start + Duration{booking.every_ms * window};
}

// Is some window open at `at`, or about to be?
bool covers(const BookingFacts& booking, Instant at, bool is_filled) {
    std::int64_t window = 0;
    if (booking.every_ms > 0 && at > booking.start)
        window = std::min((at - booking.start).ms / booking.every_ms, booking.windows - 1);
    if (window == 0 && is_filled) return false;
    const Instant start = start_of(booking, window);
    return start <= at && at < start + Duration{booking.length_ms};
}

}  // namespace

std::vector<model::ReasonParam> params_of_promise(const std::string& pool, Instant start) {
    return {{"reservation", pool.substr(std::min(pool.size(), own_prefix.size()))},
            {"start", render_instant(start)}};
}

// The start of a window, and all bookings that must have their devices then.
struct Planner::Inside::Moment {
    Instant start{};
    RowId first{};  // whose window begins
    std::vector<RowId> bookings{};
};

bool Planner::Inside::holds_devices(const BookingFacts& booking) const {
    const auto pool = pools.find(booking.pool);
    return pool != pools.end() && !pool->second.held.empty();
}

// In order of time; of several with the same bookings the first, when the fewest have left.
std::vector<Planner::Inside::Moment> Planner::Inside::moments_before(
    const ClassView& view, Instant end, const std::set<int>& flavors) const {
    std::vector<std::pair<Instant, RowId>> starts;
    for (const auto& [id, booking] : bookings) {
        if (booking.from != view.pool || !flavors.contains(booking.flavor)) continue;
        std::size_t seen = 0;
        for (std::int64_t window = holds_devices(booking) ? 1 : 0;
             window < booking.windows && seen < moments_max; ++window) {
            const Instant start = start_of(booking, window);
            if (start >= end) break;
            if (start + Duration{booking.length_ms} <= time) continue;
            starts.emplace_back(std::max(start, time), id);
            seen += 1;
        }
    }
    std::ranges::sort(starts);
    std::vector<Moment> moments;
    std::set<std::vector<RowId>> known;
    for (const auto& [start, first] : starts) {
        Moment moment{.start = start, .first = first};
        const int flavor = bookings.at(first).flavor;
        for (const auto& [id, booking] : bookings) {
            if (booking.from != view.pool || booking.flavor != flavor) continue;
            if (covers(booking, start, holds_devices(booking))) moment.bookings.push_back(id);
        }
        if (known.insert(moment.bookings).second) moments.push_back(std::move(moment));
    }
    return moments;
}

bool Planner::Inside::leaves_by(RowId workload, const WorkloadState& state, Instant start) const {
    if (state.occupant && state.occupant->preemptible) return true;
    return end_of(workload) <= start.ms;
}

// Of the pool that a booking draws on, and of windows that are over by then.
void Planner::Inside::let_leave_by(Instant start, const BookingFacts& booking) {
    std::set<int> over;
    for (const auto& [id, other] : bookings)
        if (other.from == booking.from && other.end() <= start && holds_devices(other))
            over.insert(other.pool);
    std::vector<std::pair<RowId, int>> leavers;
    for (const auto& [workload, state] : workloads) {
        const bool leaves = leaves_by(workload, state, start);
        for (int index : state.slots) {
            const Slot& slot = slots[spot(index)];
            if (slot.leaving) continue;
            if (over.contains(slot.pool) || (leaves && slot.pool == booking.from))
                leavers.emplace_back(workload, index);
        }
    }
    std::ranges::sort(leavers);
    for (const auto& [workload, index] : leavers) change_leaving(index);
    for (int pool : over) {
        auto facts = std::make_unique<PoolFacts>(pools.at(pool));
        facts->held.clear();
        set_pool(pool, std::move(facts));
    }
}

// On what will be free; leaves `attempt.placed`.
bool Planner::Inside::put_members(RowId id, std::int64_t count, Attempt& attempt, Plan& plan) {
    const BookingFacts& booking = bookings.at(id);
    const std::string& flavor = names.text(booking.flavor);
    ClassView view{.pool = booking.from, .forced = true};
    view.parts.push_back({.asked = booking.flavor,
                          .tiers = list_candidates(booking.from, booking.flavor, no_name)});
    Demand demand{.workload = id};
    demand.parts.push_back(
        {.count = count, .each = {.devices = booking.each * 1000, .flavor = flavor}});
    attempt = {.view = View::future, .kind = EntryKind::claim};
    return place_part(view, demand, 0, attempt, plan);
}

bool Planner::Inside::put_promised(const Moment& moment, std::vector<int>& put, Plan& plan) {
    return std::ranges::all_of(moment.bookings, [&](RowId id) {
        Attempt attempt;
        if (!put_members(id, bookings.at(id).members, attempt, plan)) return false;
        for (const Attempt::Placed& placed : attempt.placed) put.push_back(placed.slot);
        return true;
    });
}

// The first window that would lack devices with what stands placed for `demand`.
std::optional<Planner::Inside::Moment> Planner::Inside::find_broken(int class_index,
                                                                    const Demand& demand,
                                                                    bool claims, Plan& plan) {
    const ClassView& view = view_of(class_index);
    const bool ends = demand.length.ms > 0 && !claims;
    if (demand.preemptible || view.windowed) return std::nullopt;
    const Instant end = ends ? time + demand.length : Instant{ends_never};
    std::set<int> flavors;
    for (int index : workloads.at(demand.workload).slots)
        flavors.insert(slots[spot(index)].flavor);
    for (Moment& moment : moments_before(view, end, flavors)) {
        const std::size_t mark = journal.size();
        std::vector<int> put;
        let_leave_by(moment.start, bookings.at(moment.first));
        const bool holds = put_promised(moment, put, plan);
        undo_to(mark);
#if !defined(TANDEM_PLANT_RESERVED_AHEAD)
        if (!holds) return std::move(moment);
#else
        static_cast<void>(holds);
#endif
    }
    return std::nullopt;
}

// Where the promised places are taken first.
bool Planner::Inside::place_beside(int class_index, const Demand& demand, const Moment& moment,
                                   Attempt& attempt, Plan& plan) {
    const std::size_t mark = journal.size();
    std::vector<int> put;
    let_leave_by(moment.start, bookings.at(moment.first));
    const bool fits = put_promised(moment, put, plan);
    std::vector<Slot> covers;  // of what is free already, that it is not taken
    for (int index : put) {
        const Slot& slot = slots[spot(index)];
        covers.push_back({.part = static_cast<std::int64_t>(covers.size()),
                          .kind = EntryKind::claim,
                          .node = slot.node,
                          .flavor = slot.flavor,
                          .pool = slot.pool,
                          .provisional = true,
                          .shares = slot.shares});
    }
    undo_to(mark);
    if (!fits) return false;
    std::vector<int> covering;
    for (Slot& slot : covers) {
        const NodeState& node = capacity.node(capacity.find(slot.node));
        std::erase_if(slot.shares, [&](const Share& share) {
            return !Capacity::find_device(node, share.device)->is_whole_free(View::now);
        });
        if (!slot.shares.empty()) covering.push_back(add_slot(std::move(slot)));
    }
    Attempt beside;
    if (!place(class_index, demand, beside, plan)) {
        undo_to(mark);
        return false;
    }
    for (int index : covering) remove_slot(index);
    attempt.placed = std::move(beside.placed);
    return true;
}

Finding Planner::Inside::find_promise(int class_index, const Moment& moment) const {
    const ClassKey& key = waiting.group(class_index).key;
    return {.code = ReasonCode::reserved_ahead,
            .queue = key.queue,
            .project = key.project,
            .booking = bookings.at(moment.first).pool,
            .start = std::max(moment.start, bookings.at(moment.first).start)};
}

// What was placed since `before` stands, perhaps elsewhere, or is undone and the cause is told.
std::optional<Finding> Planner::Inside::keep_promises(int class_index, const Demand& demand,
                                                      Attempt& attempt, Placement& placement,
                                                      std::size_t before, Plan& plan) {
    const bool shows = std::exchange(unshown.on, false);  // what is tried leaves nothing to show
    const bool wakes = std::exchange(quiet, true);
    std::optional<Moment> broken =
        find_broken(class_index, demand, !placement.evictions.empty(), plan);
    std::optional<Finding> cause;
    if (broken) {
        cause = find_promise(class_index, *broken);
        const bool evicted = !placement.evictions.empty();
        note_changes(attempt);
        unshown.on = shows;
        undo_to(before);
        placement = {};
        if (evicted) start_hunting();
        if (place_beside(class_index, demand, *broken, attempt, plan)) {
            unshown.on = false;
            if (!find_broken(class_index, demand, false, plan)) cause.reset();
            unshown.on = shows;
            if (cause) undo_to(before);
        }
        attempt.add_key({WakeOn::pool, view_of(class_index).pool});
        attempt.add_key({WakeOn::leavers_of_pool, view_of(class_index).pool});
    }
    unshown.on = shows;
    quiet = wakes;
    return cause;
}

// Who may be asked to leave for a booking, cheapest first: lower priority, less work lost.
struct Planner::Inside::Filling {
    struct Leaver {
        std::int64_t priority = 0;
        std::int64_t lost = 0;
        RowId workload{};
        Duration grace{};
        std::int64_t work = 0;  // of what is lost, what was done since the last checkpoint
        auto operator<=>(const Leaver&) const = default;
    };
    Inside& inside;
    RowId id{};
    const BookingFacts& booking;
    Plan& plan;
    std::vector<Leaver> leavers{};

    void list_leavers();
    void leave(const Leaver& leaver);
    void let_end();
    bool fits(std::int64_t count, const std::vector<Leaver>& list);
    std::vector<Leaver> fewest(std::int64_t count);
    Duration lead(const std::vector<Leaver>& list) const;
    void commit(std::int64_t count, const std::vector<Leaver>& list);
};

void Planner::Inside::Filling::list_leavers() {
    for (const auto& [workload, state] : inside.workloads) {
        if (!state.occupant || !state.occupant->preemptible) continue;
        if (inside.end_of(workload) <= booking.start.ms) continue;
        std::int64_t milli = 0;
        bool fresh = false;
        for (int index : state.slots) {
            const Slot& slot = inside.slots[spot(index)];
            fresh = fresh || slot.leaving || slot.provisional;
            if (slot.pool == booking.from && slot.flavor == booking.flavor) milli += slot.milli;
        }
        if (milli == 0 || fresh) continue;
        const OccupantFacts& occupant = *state.occupant;
        const std::int64_t unsaved = std::max<std::int64_t>(0, (inside.time - occupant.safe_at).ms);
        leavers.push_back({.priority = occupant.priority,
                           .lost = bounded_product(milli, unsaved + occupant.restart_ms),
                           .workload = workload,
                           .grace = Duration{occupant.grace_ms},
                           .work = bounded_product(milli, unsaved)});
    }
    std::ranges::sort(leavers);
}

void Planner::Inside::Filling::leave(const Leaver& leaver) {
    for (int index : inside.workloads.at(leaver.workload).slots)
        if (!inside.slots[spot(index)].leaving) inside.change_leaving(index);
}

// Work that states an end before the start, in order of ids.
void Planner::Inside::Filling::let_end() {
    std::vector<RowId> ended;
    for (const auto& [workload, state] : inside.workloads)
        if (inside.end_of(workload) <= booking.start.ms) ended.push_back(workload);
    std::ranges::sort(ended);
    for (RowId workload : ended) leave({.workload = workload});
}

bool Planner::Inside::Filling::fits(std::int64_t count, const std::vector<Leaver>& list) {
    const std::size_t mark = inside.journal.size();
    let_end();
    for (const Leaver& leaver : list) leave(leaver);
    Attempt attempt;
    const bool placed = inside.put_members(id, count, attempt, plan);
    inside.undo_to(mark);
    return placed;
}

// Let any one of them stay, and it does not fit.
std::vector<Planner::Inside::Filling::Leaver> Planner::Inside::Filling::fewest(std::int64_t count) {
    const auto first = [&](std::size_t size) {
        return std::vector<Leaver>(leavers.begin(),
                                   leavers.begin() + static_cast<std::ptrdiff_t>(size));
    };
    std::size_t low = 0;
    std::size_t high = leavers.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fits(count, first(middle)))
            high = middle;
        else
            low = middle + 1;
    }
    std::vector<Leaver> list = first(high);
    for (std::size_t i = list.size(); i-- > 0;) {
        std::vector<Leaver> fewer = list;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (fits(count, fewer)) list = std::move(fewer);
    }
    return list;
}

Duration Planner::Inside::Filling::lead(const std::vector<Leaver>& list) const {
    Duration longest{};
    for (const Leaver& leaver : list) longest = std::max(longest, leaver.grace);
    return longest + slack;
}

void Planner::Inside::Filling::commit(std::int64_t count, const std::vector<Leaver>& list) {
    const std::size_t mark = inside.journal.size();
    let_end();
    for (const Leaver& leaver : list) leave(leaver);
    Attempt attempt;
    inside.put_members(id, count, attempt, plan);
    auto after = std::make_unique<PoolFacts>(inside.pools.at(booking.pool));
    for (const Attempt::Placed& placed : attempt.placed) {
        const Slot& slot = inside.slots[spot(placed.slot)];
        for (const Share& share : slot.shares) after->held.push_back({slot.node, share.device});
    }
    inside.undo_to(mark);
    std::ranges::sort(after->held);
    BookingFilled filled{.id = id};
    for (const DeviceKey& key : after->held)
        filled.devices.push_back({inside.names.text(key.node), key.index});
    std::ranges::sort(filled.devices);
    for (const Leaver& leaver : list) {
        leave(leaver);
        for (int index : inside.workloads.at(leaver.workload).slots)
            inside.released.push_back(index);
        filled.evictions.push_back(
            {.workload = leaver.workload, .why = ReasonCode::made_way, .lost = leaver.work});
    }
    inside.set_pool(booking.pool, std::move(after));
    inside.ensure_built();
    plan.bookings.push_back(std::move(filled));
}

void Planner::Inside::fill_booking(RowId id, Plan& plan) {
    const BookingFacts& booking = bookings.at(id);
    const auto held = static_cast<std::int64_t>(pools.at(booking.pool).held.size());
    std::int64_t missing = booking.members - held / booking.each;
    Filling filling{*this, id, booking, plan};
    filling.list_leavers();
    const auto look = [&](Instant at) {
        booking_look = booking_look ? std::min(*booking_look, at) : at;
    };
    if (const Instant due = booking.start - filling.lead(filling.leavers); time < due)
        return look(due);
    const bool shows = std::exchange(unshown.on, false);
    const bool wakes = std::exchange(quiet, true);
    std::int64_t possible = 0;  // with all gone
    for (std::int64_t most = missing; possible < most;) {
        const std::int64_t middle = possible + (most - possible + 1) / 2;
        if (filling.fits(middle, filling.leavers))
            possible = middle;
        else
            most = middle - 1;
    }
    std::vector<Filling::Leaver> list;
    if (possible > 0) list = filling.fewest(possible);
    unshown.on = shows;
    quiet = wakes;
    if (possible == 0) return;
    const Instant due = booking.start - filling.lead(list);
    if (time < due) return look(due);
    filling.commit(possible, list);
}

// Those whose time is near, the sooner first.
void Planner::Inside::fill_bookings(Plan& plan) {
    booking_look.reset();
    std::vector<std::pair<Instant, RowId>> order;
    for (const auto& [id, booking] : bookings) {
        const auto pool = pools.find(booking.pool);
        if (pool == pools.end() || time >= booking.end()) continue;
        const auto held = static_cast<std::int64_t>(pool->second.held.size());
        if (held / booking.each >= booking.members) continue;
        const Instant near = booking.start - model::limits::grace_max - slack;
        if (time >= near)
            order.emplace_back(booking.start, id);
        else
            booking_look = booking_look ? std::min(*booking_look, near) : near;
    }
    std::ranges::sort(order);
    for (const auto& [start, id] : order) fill_booking(id, plan);
}

}  // namespace tandem::sched
