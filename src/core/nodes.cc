// SPDX-License-Identifier: Apache-2.0
#include "core/nodes.h"

#include <algorithm>

#include "core/capacity.h"
#include "core/maintenance.h"
#include "core/reservations.h"

namespace tandem::core {
namespace {

using model::Node;
using model::Pool;

RowId make_node(Turn& turn, const std::string& name) {
    const RowId id = turn.state.next_id();
    Node node;
    node.meta.id = id;
    node.meta.uid = turn.random.draw_uid();
    node.meta.name = name;
    node.meta.generation = 1;
    node.meta.created = turn.now;
    turn.table<Node>().insert(id, std::move(node));
    return id;
}

const Pool* holder_of(const State& state, const std::string& node, std::int64_t device) {
    for (const auto& [id, pool] : state.table<Pool>().rows())
        for (const model::HeldDevice& held : pool.status.held)
            if (held.node == node && held.index == device) return &pool;
    return nullptr;
}

void own_device(State& state, const std::string& node, const model::Device& device, Instant now) {
    const ledger::DeviceSlot slot{node, device.index};
    const Pool* holder = holder_of(state, node, device.index);
    const std::string window = window_holding(state, node, device.index);
    const std::string owner = !window.empty() ? window
                              : holder        ? holder->meta.name
                                              : state.planner.owner_of(node, device.index);
    if (!state.book.has_device(slot)) state.book.add_device(slot, device.flavor, owner, now);
    // What a reserved pool or an open window keeps is charged to it as held while nobody uses it; elsewhere idle is idle.
    state.book.set_owner(slot, owner, holder || !window.empty() ? model::LedgerState::held : model::LedgerState::idle, now);
}

bool in_use(const State& state, const std::string& node, std::int64_t device) {
    for (const auto& [id, replica] : state.table<model::Replica>().rows()) {
        if (replica.status.node != node || !model::holds_capacity(replica.status.phase)) continue;
        for (const model::DeviceShare& share : replica.status.devices)
            if (share.index == device) return true;
    }
    return false;
}

void set_taken(const State& state, const std::string& node, std::vector<model::Device>& devices) {
    for (model::Device& device : devices) device.taken_by.clear();
    for (const auto& [task, stray] : state.live.strays.rows()) {
        if (stray.node != node) continue;
        for (const model::DeviceShare& share : stray.devices)
            for (model::Device& device : devices)
                if (device.index == share.index && device.taken_by.empty())
                    device.taken_by = task.text();
    }
}

}  // namespace

void mark_taken(Turn& turn, const std::string& name) {
    const Node* known = turn.state.table<Node>().find_named(name);
    if (!known) return;
    std::vector<model::Device> devices = known->status.devices;
    set_taken(turn.state, name, devices);
    if (devices == known->status.devices) return;
    Node& node = turn.table<Node>().edit(known->meta.id);
    node.status.devices = std::move(devices);
    put_node(turn.state, node);
    touch_claimed(turn);
}

void put_holds(State& state, const Pool& pool) {
    std::int64_t part = 0;
    for (const model::HeldDevice& held : pool.status.held) {
        state.planner.put_entry({.id = pool.meta.id,
                                      .part = part++,
                                      .kind = sched::EntryKind::hold,
                                      .node = held.node,
                                      .devices = {{held.index, 1000}},
                                      .flavor = pool.spec.flavor,
                                      .pool = pool.meta.name});
    }
}

void on_clock_jumped(Turn& turn, const model::ClockJumped& input) {
    const auto& nodes = turn.state.table<Node>().rows();
    if (nodes.empty()) return;
    const Node& own = nodes.begin()->second;
    const Duration size{input.by.ms < 0 ? -input.by.ms : input.by.ms};
    turn.note(key_of_row(own), own.meta.uid,
              reason_of(model::ReasonCode::clock_jumped,
                        {{"by", (input.by.ms < 0 ? "-" : "+") + render_duration(size)}}));
}

void on_node_reported(Turn& turn, const model::NodeReported& input) {
    const Node* known = turn.state.table<Node>().find_named(input.name);
    const RowId id = known ? known->meta.id : make_node(turn, input.name);
    Node& node = turn.table<Node>().edit(id);
    // A device that still has a holder stays until it is free, whatever the report says.
    model::NodeStatus status = input.status;
    keep_closing(turn.state, input.name, status);
    for (const model::Device& old : node.status.devices) {
        const bool listed = std::any_of(status.devices.begin(), status.devices.end(),
                                        [&](const model::Device& device) { return device.index == old.index; });
        if (listed) continue;
        if (in_use(turn.state, input.name, old.index) || holder_of(turn.state, input.name, old.index)) {
            status.devices.push_back(old);
            status.devices.back().healthy = false;
        } else if (turn.state.book.has_device({input.name, old.index})) {
            turn.state.book.remove_device({input.name, old.index}, turn.now);
        }
    }
    set_taken(turn.state, input.name, status.devices);
    if (status != node.status) node.status = std::move(status);
    put_node(turn.state, node);
    for (const model::Device& device : node.status.devices) own_device(turn.state, input.name, device, turn.now);
}

void fill_pool(Turn& turn, const sched::PoolFilled& filled) {
    Pool& pool = turn.table<Pool>().edit(filled.pool);
    pool.status.held = filled.devices;
    pool.status.ready = static_cast<std::int64_t>(pool.status.held.size()) >= pool.spec.devices;
    if (pool.status.ready) pool.status.reason = {};
    put_holds(turn.state, pool);
    turn.note(key_of_row(pool), pool.meta.uid, reason_of(model::ReasonCode::pool_filled));
    settle_owners(turn.state, turn.now);
}

void pool_changed(Turn& turn, RowId id) {
    Pool& pool = turn.table<Pool>().edit(id);
    if (pool.spec.form == model::Form::shared) {
        pool.status.ready = true;
        pool.status.reason = {};
    } else if (!pool.status.ready) {
        pool.status.reason = reason_of(model::ReasonCode::no_capacity,
                                       {{"flavor", pool.spec.flavor}, {"needed", std::to_string(pool.spec.devices)}});
    }
    turn.state.planner.put_pool(pool);
    put_holds(turn.state, pool);
    settle_owners(turn.state, turn.now);
}

void pool_going(Turn& turn, const Pool& pool) {
    for (std::size_t part = 0; part < pool.status.held.size(); ++part)
        turn.state.planner.remove_entry(pool.meta.id, static_cast<std::int64_t>(part));
    turn.state.planner.remove_pool(pool.meta.name);
}

void settle_owners(State& state, Instant now) {
    for (const auto& [id, node] : state.table<Node>().rows())
        for (const model::Device& device : node.status.devices)
            if (state.book.has_device({node.meta.name, device.index})) own_device(state, node.meta.name, device, now);
}

}  // namespace tandem::core
