// SPDX-License-Identifier: Apache-2.0
// What reservations are refused for: references that lead nowhere, and more devices at one time than
// there can be.
#include <fmt/format.h>

#include <algorithm>

#include "core/reservations.h"
#include "core/rules.h"
#include "model/limits.h"

namespace tandem::core {
namespace {

using model::Pool;
using model::Queue;
using model::Reservation;

// Devices of a flavor by node, without what reserved pools keep.
std::vector<std::int64_t> devices_by_node(const State& state, const std::string& flavor) {
    std::set<model::HeldDevice> kept;
    for (const auto& [id, pool] : state.table<Pool>().rows())
        kept.insert(pool.status.held.begin(), pool.status.held.end());
    std::vector<std::int64_t> counts;
    for (const auto& [id, node] : state.table<model::Node>().rows())
        counts.push_back(std::ranges::count_if(node.status.devices, [&](const auto& device) {
            return device.flavor == flavor && !kept.contains({node.meta.name, device.index});
        }));
    return counts;
}

Status check_hardware(const State& state, const model::ReservationSpec& spec) {
    const std::vector<std::int64_t> counts = devices_by_node(state, spec.flavor);
    std::int64_t all = 0;
    std::int64_t members = 0;
    for (std::int64_t count : counts) {
        all += count;
        members += count / spec.devices;
    }
    if (all == 0)
        return invalid_field("spec.flavor", fmt::format("no node has devices of flavor \"{}\" that "
                                                        "no reserved pool keeps",
                                                        spec.flavor));
    if (spec.replicas > members)
        return invalid_field("spec.replicas",
                             fmt::format("must be at most {}: so many times {} devices of one node "
                                         "there can be, is {}",
                                         members, spec.devices, spec.replicas));
    if (spec.replicas == 0 && spec.devices > all)
        return invalid_field("spec.devices", fmt::format("must be at most {}, the devices of flavor "
                                                         "\"{}\" that exist, is {}",
                                                         all, spec.flavor, spec.devices));
    return {};
}

struct Edge {
    Instant at{};
    std::int64_t devices = 0;
    std::int64_t own = 0;
    auto operator<=>(const Edge&) const = default;
};

void add_windows(const model::ReservationSpec& spec, Instant now, std::int64_t own,
                 std::vector<Edge>& edges) {
    const std::int64_t first = model::window_at(spec, now);
    if (first == 0) return;
    const std::int64_t devices = model::devices_in(spec);
    for (std::int64_t window = first; window <= model::window_count(spec); ++window) {
        const Instant start = model::window_start(spec, window);
        edges.push_back({start, devices, own});
        edges.push_back({start + spec.duration, -devices, -own});
    }
}

// At no time more than there is; an end comes before a start of the same time.
Status check_overlaps(const State& state, const Reservation& wanted, const std::string& pool) {
    std::vector<Edge> edges;
    add_windows(wanted.spec, state.meta.time, 1, edges);
    for (const auto& [id, other] : state.table<Reservation>().rows()) {
        const Queue* queue = state.table<Queue>().find_named(other.spec.queue);
        const bool same = other.spec.flavor == wanted.spec.flavor && queue &&
                          queue->spec.pool == pool && other.meta.name != wanted.meta.name;
        if (same) add_windows(other.spec, state.meta.time, 0, edges);
    }
    std::ranges::sort(edges);
    std::int64_t all = 0;
    for (std::int64_t count : devices_by_node(state, wanted.spec.flavor)) all += count;
    std::int64_t sum = 0;
    std::int64_t own = 0;
    for (const Edge& edge : edges) {
        sum += edge.devices;
        own += edge.own;
        if (own == 0 || sum <= all) continue;
        const std::int64_t others = sum - model::devices_in(wanted.spec);
        return fail(ErrorCode::conflict,
                    fmt::format("asks for {} devices, but at {} other reservations have {} of the {} "
                                "of flavor \"{}\"",
                                model::devices_in(wanted.spec), render_instant(edge.at), others, all,
                                wanted.spec.flavor),
                    "spec.devices");
    }
    return {};
}

Status check_users(const State& state, const Reservation& wanted) {
    for (std::size_t i = 0; i < wanted.spec.projects.size(); ++i)
        if (!state.table<model::Project>().find_named(wanted.spec.projects[i]))
            return invalid_field(
                fmt::format("spec.projects[{}]", i),
                fmt::format("project \"{}\" does not exist", wanted.spec.projects[i]));
    for (std::size_t i = 0; i < wanted.spec.users.size(); ++i)
        if (!subject_exists(state, wanted.spec.users[i]))
            return invalid_field(
                fmt::format("spec.users[{}]", i),
                fmt::format("subject \"{}\" does not exist", wanted.spec.users[i]));
    return {};
}

Status check_frozen(model::ReservationSpec wanted, const model::ReservationSpec& old) {
    wanted.title = old.title;
    wanted.projects = old.projects;
    wanted.users = old.users;
    if (wanted == old) return {};
    return fail(ErrorCode::conflict,
                "can't be changed but for title, projects and users: delete the reservation and "
                "make another",
                "spec");
}

template <class T>
bool lists(const std::vector<T>& all, const T& one) {
    return all.empty() || std::ranges::find(all, one) != all.end();
}

}  // namespace

Status check_start(Instant now, Instant start) {
    if (start >= now) return {};
    return invalid_field("spec.start",
                         fmt::format("must not be in the past: it is {} now", render_instant(now)));
}

Status check_references(const State& state, const Reservation& wanted, const Reservation* old) {
    TANDEM_TRY(check_users(state, wanted));
    if (old) return check_frozen(wanted.spec, old->spec);
    if (static_cast<std::int64_t>(state.table<Reservation>().rows().size()) >=
        model::limits::reservations_max)
        return fail(ErrorCode::exhausted,
                    fmt::format("there are {} reservations already, the most that there may be",
                                model::limits::reservations_max));
    const Queue* queue = state.table<Queue>().find_named(wanted.spec.queue);
    if (!queue)
        return invalid_field("spec.queue",
                             fmt::format("queue \"{}\" does not exist", wanted.spec.queue));
    const Pool* pool = state.table<Pool>().find_named(queue->spec.pool);
    if (!pool || pool->spec.form != model::Form::shared)
        return invalid_field("spec.queue",
                             fmt::format("must be a queue of a shared pool; \"{}\" is of \"{}\"",
                                         wanted.spec.queue, queue->spec.pool));
    TANDEM_TRY(check_hardware(state, wanted.spec));
    return check_overlaps(state, wanted, queue->spec.pool);
}

Status check_reserved(const State& state, const std::string& subject, const model::Job& wanted) {
    const std::string& name = wanted.spec.reservation;
    const std::string field = "spec.reservation";
    if (name.empty()) return {};
    const Reservation* reservation = state.table<Reservation>().find_named(name);
    if (!reservation)
        return invalid_field(field, fmt::format("reservation \"{}\" does not exist", name));
    if (!lists(reservation->spec.projects, wanted.meta.project))
        return invalid_field(field, fmt::format("reservation \"{}\" is not open to project \"{}\"",
                                                name, wanted.meta.project));
    if (!lists(reservation->spec.users, subject))
        return invalid_field(field,
                             fmt::format("reservation \"{}\" is not open to {}", name, subject));
    const Queue* own = state.table<Queue>().find_named(wanted.spec.queue);
    const Queue* theirs = state.table<Queue>().find_named(reservation->spec.queue);
    if (own && theirs && own->spec.pool != theirs->spec.pool)
        return invalid_field(field, fmt::format("reservation \"{}\" is of pool \"{}\", queue \"{}\" "
                                                "of pool \"{}\"",
                                                name, theirs->spec.pool, wanted.spec.queue,
                                                own->spec.pool));
    return {};
}

}  // namespace tandem::core
