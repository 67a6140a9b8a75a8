// SPDX-License-Identifier: Apache-2.0
// A small world around a Planner for tests: builders with defaults, and what core does after a plan
// (entries under replica ids, occupants; claims that are free become allocations). Tests only.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sched/planner.h"

namespace tandem::sched {

struct Want {
    std::int64_t id = 0;
    std::string queue = "team";
    std::int64_t count = 1;
    std::int64_t devices = 1000;
    std::int64_t priority = 0;
    std::string flavor{};
    std::string project = "red";
    std::int64_t cpu = 0;
    bool preemptible = true;
    Duration length{};  // stated
    model::JobPlacing placing{};
    model::NodeAffinity affinity{};
    std::int64_t device_memory = 0;
};

class World {
  public:
    Planner planner{};
    std::int64_t now = 1000;

    void node(const std::string& name, std::int64_t devices, const std::string& flavor = "h200",
              std::int64_t cpu = 0) {
        model::Node node;
        node.meta = {.id = RowId{next_id_++}, .name = name};
        if (const auto known = nodes_.find(name); known != nodes_.end())
            node.meta.id = known->second.meta.id;
        node.status = {.ready = true, .cpu_milli = cpu};
        for (std::int64_t i = 0; i < devices; ++i)
            node.status.devices.push_back({.index = i, .flavor = flavor});
        nodes_[name] = node;
        planner.put_node(node);
    }
    template <class Edit>
    void edit_node(const std::string& name, Edit edit) {
        edit(nodes_.at(name));
        planner.put_node(nodes_.at(name));
    }
    void pool(const std::string& name, model::PoolSpec spec = {}) {
        model::Pool pool;
        pool.meta = {.id = RowId{next_id_++}, .name = name};
        if (const auto known = pools_.find(name); known != pools_.end()) pool = known->second;
        pool.spec = std::move(spec);
        pools_[name] = pool;
        planner.put_pool(pool);
    }
    void hold(RowId id, const std::vector<model::HeldDevice>& devices) {
        for (auto& [name, pool] : pools_) {
            if (pool.meta.id != id) continue;
            pool.status.held = devices;
            planner.put_pool(pool);
        }
    }
    RowId pool_id(const std::string& name) const { return pools_.at(name).meta.id; }
    void queue(const std::string& name, std::vector<model::FlavorQuota> quotas = {},
               const std::string& parent = {}, const std::string& in_pool = "default") {
        model::Queue queue;
        queue.meta = {.id = RowId{next_id_++}, .name = name};
        queue.spec = {.parent = parent, .pool = in_pool, .quotas = std::move(quotas)};
        queues_[name] = queue;
        planner.put_queue(queue);
        queues_[name] = queue;
    }
    template <class Edit>
    void edit_queue(const std::string& name, Edit edit) {
        edit(queues_.at(name).spec);
        planner.put_queue(queues_.at(name));
    }
    // Tells the planner alone, for changes that are rolled back.
    void raise(const std::string& name, const std::string& flavor, const std::string& bound,
               std::int64_t by) {
        model::Queue queue = queues_.at(name);
        auto& quotas = queue.spec.quotas;
        auto entry = std::ranges::find(quotas, flavor, &model::FlavorQuota::flavor);
        if (entry == quotas.end()) {
            const auto any = std::ranges::find(quotas, "*", &model::FlavorQuota::flavor);
            quotas.push_back(any == quotas.end() ? model::FlavorQuota{} : *any);
            entry = quotas.end() - 1;
            entry->flavor = flavor;
        }
        (bound == "max" ? entry->max : bound == "nominal" ? entry->nominal : entry->borrow_limit) +=
            by;
        planner.put_queue(queue);
    }
    void add_place(std::int64_t devices, const std::string& flavor, std::int64_t cpu) {
        model::Node node;
        node.meta = {.id = RowId{next_id_}, .name = "place" + std::to_string(next_id_)};
        next_id_ += 1;
        node.status = {.ready = true, .cpu_milli = cpu};
        for (std::int64_t i = 0; i * 1000 < devices; ++i)
            node.status.devices.push_back({.index = i, .flavor = flavor});
        planner.put_node(node);
    }
    const Want& want_of(std::int64_t id) const { return wants_.at(id); }
    std::vector<std::int64_t> waiting() const {
        std::vector<std::int64_t> ids;
        const auto snapshot = planner.snapshot();
        for (const auto& [id, want] : wants_)
            if (snapshot->position(RowId{id}) > 0) ids.push_back(id);
        return ids;
    }
    // Submits; `submitted` is the id, so that ids are the order.
    void submit(const Want& want) {
        Demand demand{.workload = RowId{want.id},
                      .queue = want.queue,
                      .project = want.project,
                      .priority = want.priority,
                      .submitted = Instant{want.id},
                      .length = want.length,
                      .preemptible = want.preemptible};
        demand.parts.push_back({.role = "worker",
                                .count = want.count,
                                .each = {.devices = want.devices,
                                         .flavor = want.flavor,
                                         .cpu_milli = want.cpu,
                                         .node_affinity = want.affinity,
                                         .device_memory_bytes = want.device_memory}});
        if (want.placing != model::JobPlacing{})
            demand.placing = {std::make_shared<const model::JobPlacing>(want.placing)};
        wants_[want.id] = want;
        planner.put_demand(demand);
    }
    // Plans and makes the plan true, as core does.
    Plan plan(std::int64_t budget = 1'000'000'000) {
        now += 1000;
        Plan plan = planner.plan(Instant{now}, budget);
        for (const PoolFilled& filled : plan.pools) hold(filled.pool, filled.devices);
        for (const Placement& placement : plan.placements) take(placement);
        return plan;
    }
    // A workload ends: its capacity is free.
    void end(std::int64_t id) {
        for (std::int64_t replica : replicas_[id]) planner.remove_entry(RowId{replica});
        replicas_.erase(id);
        planner.remove_occupant(RowId{id});
    }
    // Victims are gone and wait again; claims whose capacity is free start.
    void settle() {
        for (std::int64_t id : std::exchange(leaving_, {})) {
            end(id);
            submit(wants_.at(id));
        }
        for (const auto& [id, replicas] : replicas_) {
            for (std::int64_t replica : replicas) {
                const Entry* claim = planner.find_entry(RowId{replica});
                if (claim == nullptr || claim->kind != EntryKind::claim ||
                    !planner.claim_is_free(RowId{replica}))
                    continue;
                Entry started = *claim;
                started.kind = EntryKind::allocation;
                planner.put_entry(started);
            }
        }
    }
    std::vector<std::int64_t> running() const {
        std::vector<std::int64_t> ids;
        for (const auto& [id, replicas] : replicas_) ids.push_back(id);
        return ids;
    }
    const std::vector<std::int64_t>& replicas_of(std::int64_t id) { return replicas_[id]; }
    model::ReasonCode why(std::int64_t id) const {
        const auto verdict = planner.verdict(RowId{id});
        return verdict ? verdict->reason.code : model::ReasonCode::none;
    }
    std::string param(std::int64_t id, const std::string& name) const {
        const auto verdict = planner.verdict(RowId{id});
        for (const auto& param : verdict->reason.params) {
            if (param.name == name) return param.value;
        }
        return {};
    }

  private:
    void take(const Placement& placement) {
        const Want& want = wants_.at(placement.workload.value);
        for (const Eviction& eviction : placement.evictions) {
            for (std::int64_t replica : replicas_[eviction.workload.value])
                planner.set_leaving(RowId{replica});
            leaving_.push_back(eviction.workload.value);
        }
        for (const PlacedReplica& placed : placement.replicas) {
            Entry entry{.id = RowId{next_id_++},
                        .workload = placement.workload,
                        .node = placed.node,
                        .devices = placed.devices,
                        .flavor = placed.flavor,
                        .cpu_milli = want.cpu,
                        .queue = want.queue,
                        .project = want.project};
            if (!want.placing.labels.empty() || !want.placing.apart.empty())
                entry.placing = {std::make_shared<const model::JobPlacing>(want.placing)};
            entry.pool = pool_of_queue(want.queue);
            entry.kind = placement.evictions.empty() ? EntryKind::allocation : EntryKind::claim;
            replicas_[want.id].push_back(entry.id.value);
            planner.put_entry(entry);
        }
        std::optional<Instant> ends;
        if (want.length.ms > 0) ends = Instant{now} + want.length;
        planner.put_occupant({.workload = placement.workload,
                              .queue = want.queue,
                              .priority = want.priority,
                              .preemptible = want.preemptible,
                              .started = Instant{now},
                              .safe_at = Instant{now},
                              .ends = ends});
        planner.remove_demand(placement.workload);
    }
    std::string pool_of_queue(const std::string& queue) const {
        return queue == "held" ? "vip" : "default";
    }

    std::int64_t next_id_ = 100'000;
    std::map<std::string, model::Node> nodes_{};
    std::map<std::string, model::Pool> pools_{};
    std::map<std::string, model::Queue> queues_{};
    std::map<std::int64_t, Want> wants_{};
    std::map<std::int64_t, std::vector<std::int64_t>> replicas_{};
    std::vector<std::int64_t> leaving_{};
};

}  // namespace tandem::sched
