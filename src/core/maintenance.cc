// SPDX-License-Identifier: Apache-2.0
#include "core/maintenance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/jobs.h"
#include "core/rules.h"
#include "core/services.h"
#include "model/limits.h"

namespace tandem::core {
namespace {

using model::Maintenance;
using model::Node;
using model::ReasonCode;
using model::WindowPhase;

constexpr Duration slack = seconds(10);      // to prove that processes are gone
constexpr Duration least_lead = seconds(40);  // nothing starts so shortly before

Instant end_of(const Maintenance& maintenance) {
    return maintenance.spec.start + maintenance.spec.duration;
}

bool is_of(const Maintenance& maintenance, const std::string& node) {
    return std::ranges::binary_search(maintenance.status.nodes, node);
}

std::vector<std::string> chosen_nodes(const State& state, const model::MaintenanceSpec& spec) {
    std::vector<std::string> nodes = spec.nodes;
    if (!spec.node_selector.empty())
        for (const auto& [id, node] : state.table<Node>().rows()) {
            const bool selected = std::ranges::all_of(spec.node_selector, [&](const auto& label) {
                const auto at = node.meta.labels.find(label.first);
                return at != node.meta.labels.end() && at->second == label.second;
            });
            if (selected) nodes.push_back(node.meta.name);
        }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    return nodes;
}

// The maintenance of a node that begins first.
std::optional<model::NodeClosing> closing_of(const State& state, const std::string& node) {
    const Maintenance* next = nullptr;
    for (const auto& [id, maintenance] : state.table<Maintenance>().rows())
        if (is_of(maintenance, node) && (!next || maintenance.spec.start < next->spec.start))
            next = &maintenance;
    if (!next) return std::nullopt;
    return model::NodeClosing{.maintenance = next->meta.name,
                              .reason = next->spec.reason,
                              .from = next->spec.start,
                              .until = end_of(*next)};
}

// Its row and the planner follow what is to be.
void tell_node(Turn& turn, const std::string& name) {
    const Node* known = turn.state.table<Node>().find_named(name);
    if (!known) return;
    const auto closing = closing_of(turn.state, name);
    if (known->status.closing != closing)
        turn.table<Node>().edit(known->meta.id).status.closing = closing;
    put_node(turn.state, turn.state.table<Node>().get(known->meta.id));
}

void tell_nodes(Turn& turn, const std::vector<std::string>& names) {
    for (const std::string& name : names) tell_node(turn, name);
}

// Who is on nodes of it beyond its start.
struct Guest {
    RowId workload{};
    std::string text{};
    std::string node{};
    bool preemptible = true;
    Duration grace{};
};

std::optional<Guest> guest_of(const State& state, const model::Replica& replica, Instant start) {
    if (const auto* job = state.table<model::Job>().find(replica.spec.owner_id)) {
        const sched::Occupant occupant = occupant_of(state, *job);
        const bool ends = occupant.ends && *occupant.ends <= start;
        const bool leaves = job->status.phase == model::Phase::stopping;
        if (ends || leaves || !model::may_be_alive(job->status.phase)) return std::nullopt;
        return Guest{.workload = job->meta.id,
                     .text = "job/" + job->meta.project + "/" + job->meta.name,
                     .node = replica.status.node,
                     .preemptible = occupant.preemptible,
                     .grace = occupant.grace};
    }
    const auto* service = state.table<model::Service>().find(replica.spec.owner_id);
    if (!service || replica.status.phase == model::Phase::stopping) return std::nullopt;
    return Guest{.workload = service->meta.id,
                 .text = "service/" + service->meta.project + "/" + service->meta.name,
                 .node = replica.status.node,
                 .preemptible = service->spec.preemptible,
                 .grace = service->spec.drain_timeout};
}

// By workload.
std::map<RowId, Guest> guests_of(const State& state, const Maintenance& maintenance) {
    std::map<RowId, Guest> guests;
    for (const auto& [id, replica] : state.table<model::Replica>().rows()) {
        if (!model::holds_capacity(replica.status.phase)) continue;
        if (!is_of(maintenance, replica.status.node)) continue;
        if (auto guest = guest_of(state, replica, maintenance.spec.start))
            guests.try_emplace(guest->workload, std::move(*guest));
    }
    return guests;
}

void ask_to_leave(Turn& turn, const Maintenance& maintenance, const Guest& guest) {
    const model::Reason why =
        reason_of(ReasonCode::made_way, {{"maintenance", maintenance.meta.name},
                                         {"start", render_instant(maintenance.spec.start)}});
    if (turn.state.table<model::Job>().find(guest.workload))
        evict_job(turn, guest.workload, why);
    else
        evict_service(turn, guest.workload, why);
}

// The row names who stays; each is told once.
void tell_staying(Turn& turn, RowId id, const std::map<RowId, Guest>& guests) {
    const Maintenance& known = turn.state.table<Maintenance>().get(id);
    std::vector<std::string> staying;
    for (const auto& [workload, guest] : guests) {
        if (guest.preemptible) continue;
        staying.push_back(guest.text);
        if (std::ranges::find(known.status.staying, guest.text) != known.status.staying.end())
            continue;
        const model::Reason why =
            reason_of(ReasonCode::stays_through, {{"maintenance", known.meta.name},
                                                  {"node", guest.node},
                                                  {"start", render_instant(known.spec.start)}});
        if (const auto* job = turn.state.table<model::Job>().find(workload))
            turn.note(key_of_row(*job), job->meta.uid, why);
        else if (const auto* service = turn.state.table<model::Service>().find(workload))
            turn.note(key_of_row(*service), service->meta.uid, why);
    }
    std::ranges::sort(staying);
    if (staying == known.status.staying) return;
    turn.table<Maintenance>().edit(id).status.staying = std::move(staying);
}

bool is_far(const Maintenance& maintenance, Instant now) {
    return now < maintenance.spec.start - model::limits::grace_max - slack;
}

// When its nodes take nothing new: somebody on them has to be asked, or it is about to begin.
Instant prepares_at(const std::map<RowId, Guest>& guests, Instant start) {
    Instant at = start - least_lead;
    for (const auto& [workload, guest] : guests)
        if (guest.preemptible) at = std::min(at, start - guest.grace - slack);
    return at;
}

void prepare(Turn& turn, RowId id) {
    Maintenance& maintenance = turn.table<Maintenance>().edit(id);
    maintenance.status.phase = WindowPhase::preparing;
    tell_nodes(turn, maintenance.status.nodes);
}

void begin(Turn& turn, RowId id) {
    Maintenance& maintenance = turn.table<Maintenance>().edit(id);
    maintenance.status.phase = WindowPhase::open;
    const model::Reason why =
        reason_of(ReasonCode::maintenance_began, {{"maintenance", maintenance.meta.name},
                                                  {"reason", maintenance.spec.reason},
                                                  {"until", render_instant(end_of(maintenance))}});
    turn.note(key_of_row(maintenance), maintenance.meta.uid, why);
    for (const std::string& name : maintenance.status.nodes)
        if (const Node* node = turn.state.table<Node>().find_named(name))
            turn.note(key_of_row(*node), node->meta.uid, why);
    tell_nodes(turn, maintenance.status.nodes);
}

void end(Turn& turn, RowId id) {
    const Maintenance over = turn.state.table<Maintenance>().get(id);
    const model::Reason why =
        reason_of(ReasonCode::maintenance_ended, {{"maintenance", over.meta.name}});
    turn.note(key_of_row(over), over.meta.uid, why);
    turn.table<Maintenance>().erase(id);
    for (const std::string& name : over.status.nodes)
        if (const Node* node = turn.state.table<Node>().find_named(name))
            turn.note(key_of_row(*node), node->meta.uid, why);
    tell_nodes(turn, over.status.nodes);
}

void move(Turn& turn, RowId id) {
    const Maintenance& maintenance = turn.state.table<Maintenance>().get(id);
    const Instant start = maintenance.spec.start;
    if (turn.now >= end_of(maintenance)) return end(turn, id);
    if (is_far(maintenance, turn.now)) return;
    if (turn.now >= start && maintenance.status.phase != WindowPhase::open) begin(turn, id);
    const std::map<RowId, Guest> guests = guests_of(turn.state, maintenance);
    if (maintenance.status.phase == WindowPhase::scheduled &&
        turn.now >= prepares_at(guests, start))
        prepare(turn, id);
    tell_staying(turn, id, guests);
    for (const auto& [workload, guest] : guests)
        if (guest.preemptible && turn.now >= start - guest.grace - slack)
            ask_to_leave(turn, maintenance, guest);
}

// Looked at again a second after what is due already.
Instant next_move(const State& state, const Maintenance& maintenance) {
    const Instant now = state.meta.time;
    const Instant start = maintenance.spec.start;
    if (is_far(maintenance, now)) return start - model::limits::grace_max - slack;
    const std::map<RowId, Guest> guests = guests_of(state, maintenance);
    Instant next = maintenance.status.phase == WindowPhase::open ? end_of(maintenance) : start;
    if (maintenance.status.phase == WindowPhase::scheduled)
        next = std::min(next, prepares_at(guests, start));
    for (const auto& [workload, guest] : guests)
        if (guest.preemptible) next = std::min(next, start - guest.grace - slack);
    return std::max(next, now + seconds(1));
}

}  // namespace

Status check_references(const State& state, const Maintenance& wanted, const Maintenance* old) {
    if (old) {
        model::MaintenanceSpec same = wanted.spec;
        same.reason = old->spec.reason;
        if (same == old->spec) return {};
        return fail(ErrorCode::conflict,
                    "can't be changed but for reason: delete the maintenance and make another",
                    "spec");
    }
    for (std::size_t i = 0; i < wanted.spec.nodes.size(); ++i)
        if (!state.table<Node>().find_named(wanted.spec.nodes[i]))
            return invalid_field(fmt::format("spec.nodes[{}]", i),
                                 fmt::format("node \"{}\" does not exist", wanted.spec.nodes[i]));
    if (chosen_nodes(state, wanted.spec).empty())
        return invalid_field("spec.nodeSelector", "no node has these labels");
    return {};
}

void maintenance_made(Turn& turn, RowId id) {
    if (turn.state.table<Maintenance>().get(id).status.nodes.empty()) {
        Maintenance& maintenance = turn.table<Maintenance>().edit(id);
        maintenance.status.nodes = chosen_nodes(turn.state, maintenance.spec);
    }
    tell_nodes(turn, turn.state.table<Maintenance>().get(id).status.nodes);
}

void maintenance_going(Turn& turn, const Maintenance& maintenance) {
    const std::vector<std::string> nodes = maintenance.status.nodes;
    turn.table<Maintenance>().edit(maintenance.meta.id).status.nodes.clear();
    tell_nodes(turn, nodes);
}

void move_maintenance(Turn& turn) {
    std::vector<RowId> all;
    for (const auto& [id, maintenance] : turn.state.table<Maintenance>().rows()) all.push_back(id);
    for (RowId id : all) move(turn, id);
}

std::optional<Instant> next_maintenance(const State& state) {
    std::optional<Instant> next;
    for (const auto& [id, maintenance] : state.table<Maintenance>().rows()) {
        const Instant at = next_move(state, maintenance);
        next = next ? std::min(*next, at) : at;
    }
    return next;
}

void put_node(State& state, const Node& node) {
    const auto& closing = node.status.closing;
    const Maintenance* maintenance =
        closing ? state.table<Maintenance>().find_named(closing->maintenance) : nullptr;
    if (!maintenance || maintenance->status.phase == WindowPhase::scheduled)
        return state.planner.put_node(node);
    Node closed = node;
    closed.spec.unschedulable = true;
    state.planner.put_node(closed);
}

void keep_closing(const State& state, const std::string& node, model::NodeStatus& status) {
    status.closing = closing_of(state, node);
}

}  // namespace tandem::core
