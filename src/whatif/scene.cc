// SPDX-License-Identifier: Apache-2.0
#include "whatif/scene.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/object.h"

namespace tandem::whatif {
namespace {

using model::Job;
using model::Node;
using model::Replica;
using model::Service;

// Names of jobs that others wait for, with project and namespace.
std::set<model::ObjectKey> awaited_in(const std::vector<model::Object>& objects) {
    std::set<model::ObjectKey> awaited;
    for (const model::Object& object : objects) {
        const Job* job = std::get_if<Job>(&object);
        if (job == nullptr || model::is_terminal(job->status.phase)) continue;
        for (const model::JobDependency& one : job->spec.after)
            awaited.insert({model::Kind::job, job->meta.project, job->meta.name_space, one.job});
    }
    return awaited;
}

// Jobs that are over leave, and the replicas of those with them.
void drop_ended(std::vector<model::Object>& objects) {
    const std::set<model::ObjectKey> awaited = awaited_in(objects);
    std::set<RowId> gone;
    std::erase_if(objects, [&](const model::Object& object) {
        const Job* job = std::get_if<Job>(&object);
        if (job == nullptr || !model::is_terminal(job->status.phase) ||
            awaited.contains(key_of(object)))
            return false;
        gone.insert(job->meta.id);
        return true;
    });
    std::erase_if(objects, [&](const model::Object& object) {
        const Replica* replica = std::get_if<Replica>(&object);
        return replica != nullptr && gone.contains(replica->spec.owner_id);
    });
}

Duration settle_times(Job& job) {
    const Duration grace = job.spec.grace;
    if (job.spec.max_run_time) job.spec.max_run_time = *job.spec.max_run_time + grace;
    job.spec.grace = {};
    job.spec.heartbeat_timeout.reset();
    job.spec.silence_timeout.reset();
    return grace;
}

void settle_service(Scene& scene, Service& service) {
    if (service.spec.replicas.max > service.status.desired)
        scene.growing.insert(service.spec.queue);
    service.spec.replicas.min = service.status.desired;
    service.spec.replicas.max = service.status.desired;
}

Node* find_node(Scene& scene, const std::string& name) {
    for (model::Object& object : scene.rows.objects)
        if (Node* node = std::get_if<Node>(&object); node != nullptr && node->meta.name == name)
            return node;
    return nullptr;
}

// As a person would: nothing new comes, jobs save and wait their turn again, services start
// elsewhere.
void drain(Scene& scene, Node& node) {
    node.spec.unschedulable = true;
    std::set<RowId> jobs;
    for (model::Object& object : scene.rows.objects) {
        Replica* replica = std::get_if<Replica>(&object);
        if (replica == nullptr || replica->status.node != node.meta.name ||
            !model::holds_capacity(replica->status.phase) ||
            replica->status.phase == model::Phase::stopping)
            continue;
        if (replica->spec.owner_kind == model::Kind::job) {
            jobs.insert(replica->spec.owner_id);
            continue;
        }
        replica->status.draining = true;
        replica->status.stop_at = scene.rows.meta.time;
        scene.drained.insert(replica->spec.owner_id);
    }
    for (const model::Object& object : scene.rows.objects)
        if (const Job* job = std::get_if<Job>(&object);
            job != nullptr && jobs.contains(job->meta.id))
            scene.actions.push_back(model::ActOnJob{key_of(object), model::JobAct::requeue});
}

Status check_numbers(const model::NodesAdded& asked, const std::string& field) {
    if (asked.name.empty()) return invalid_field(field + ".name", "must be given");
    if (asked.count < 1 || asked.count > model::what_if_nodes_max)
        return invalid_field(field + ".count", fmt::format("must be 1 to {}, is {}",
                                                           model::what_if_nodes_max, asked.count));
    if (!asked.like.empty()) {
        if (asked !=
            model::NodesAdded{.name = asked.name, .count = asked.count, .like = asked.like})
            return invalid_field(field + ".like",
                                 "says all of a node: give nothing beside name and count");
        return {};
    }
    if (asked.devices < 0 || asked.devices > 1024)
        return invalid_field(field + ".devices",
                             fmt::format("must be 0 to 1024, is {}", asked.devices));
    if (asked.devices > 0 && asked.flavor.empty())
        return invalid_field(field + ".flavor", "must be given where there are devices");
    if (asked.cpu_milli <= 0)
        return invalid_field(field + ".cpu", "must be more than 0, or give `like`");
    if (asked.memory_bytes <= 0)
        return invalid_field(field + ".memory", "must be more than 0, or give `like`");
    return {};
}

Result<Node> node_asked(Scene& scene, const model::NodesAdded& asked, const std::string& field) {
    TANDEM_TRY(check_numbers(asked, field));
    Node node;
    if (!asked.like.empty()) {
        const Node* like = find_node(scene, asked.like);
        if (like == nullptr)
            return fail(ErrorCode::not_found, fmt::format("node \"{}\" does not exist", asked.like),
                        field + ".like");
        node = *like;
        node.spec.unschedulable = false;
        for (model::Device& device : node.status.devices) {
            device.healthy = true;
            device.taken_by.clear();
        }
    } else {
        node.meta.labels = asked.labels;
        node.spec.taints = asked.taints;
        node.status = {
            .executor = "local", .cpu_milli = asked.cpu_milli, .memory_bytes = asked.memory_bytes};
        for (std::int64_t i = 0; i < asked.devices; ++i)
            node.status.devices.push_back({.index = i, .flavor = asked.flavor});
    }
    node.status.ready = true;
    return node;
}

Status add_nodes(Scene& scene, const model::NodesAdded& asked, const std::string& field) {
    TANDEM_LET(made, node_asked(scene, asked, field));
    for (std::int64_t i = 1; i <= asked.count; ++i) {
        const std::string name =
            asked.count == 1 ? asked.name : fmt::format("{}-{}", asked.name, i);
        const bool twice = std::ranges::any_of(scene.inputs, [&](const model::Input& input) {
            return std::get<model::NodeReported>(input).name == name;
        });
        if (twice || find_node(scene, name) != nullptr)
            return fail(ErrorCode::conflict, fmt::format("node \"{}\" exists already", name),
                        field + ".name");
        scene.inputs.push_back(model::NodeReported{.name = name, .status = made.status});
        Node node = made;
        node.meta = {.name = name, .labels = made.meta.labels};
        if (!node.meta.labels.empty() || !node.spec.taints.empty())
            scene.actions.push_back(
                model::ApplyObject{.object = std::move(node), .mode = model::ApplyMode::update});
    }
    return {};
}

Status set_priority(Scene& scene, const model::PriorityAsked& asked, const std::string& field) {
    if (asked.kind != model::Kind::job && asked.kind != model::Kind::service)
        return invalid_field(field + ".kind", "must be Job or Service");
    if (asked.priority < -1000 || asked.priority > 1000)
        return invalid_field(field + ".priority",
                             fmt::format("must be -1000 to 1000, is {}", asked.priority));
    const model::ObjectKey key{asked.kind, asked.project, asked.name_space, asked.name};
    for (model::Object& object : scene.rows.objects) {
        if (key_of(object) != key) continue;
        if (Job* job = std::get_if<Job>(&object)) job->spec.priority = asked.priority;
        if (Service* service = std::get_if<Service>(&object))
            service->spec.priority = asked.priority;
        return {};
    }
    return fail(ErrorCode::not_found,
                fmt::format("{} \"{}/{}/{}\" does not exist or is over",
                            model::info_of(asked.kind).singular, asked.project, asked.name_space,
                            asked.name),
                field + ".name");
}

bool is_of_scheduling(model::Kind kind) {
    return kind == model::Kind::job || kind == model::Kind::service || kind == model::Kind::queue ||
           kind == model::Kind::pool || kind == model::Kind::node;
}

Status take_action(Scene& scene, model::Action action, const std::string& field) {
    const model::ObjectKey key = model::key_of_action(action);
    if (!is_of_scheduling(key.kind))
        return invalid_field(field, "must be about a Job, Service, Queue, Pool or Node");
    if (!std::holds_alternative<model::ApplyObject>(action) &&
        !std::holds_alternative<model::DeleteObject>(action) &&
        !std::holds_alternative<model::ActOnJob>(action))
        return invalid_field(field, "must apply or delete an object, or act on a job");
    if (auto* apply = std::get_if<model::ApplyObject>(&action)) {
        if (const Status fit = model::check_object(apply->object); !fit)
            return fail(fit.error().code, fit.error().message, field + "." + fit.error().field);
        if (Job* job = std::get_if<Job>(&apply->object))
            scene.graces_asked[key] = settle_times(*job);
    }
    scene.actions.push_back(std::move(action));
    return {};
}

}  // namespace

Scene make_scene(core::RecoveredState rows) {
    Scene scene{.rows = std::move(rows)};
    for (const model::Object& object : scene.rows.objects)
        if (const Job* job = std::get_if<Job>(&object)) scene.typical.learn(*job);
    scene.typical.settle();
    drop_ended(scene.rows.objects);
    for (model::Object& object : scene.rows.objects) {
        if (Job* job = std::get_if<Job>(&object)) scene.graces[job->meta.uid] = settle_times(*job);
        if (Service* service = std::get_if<Service>(&object)) settle_service(scene, *service);
    }
    return scene;
}

Status change(Scene& scene, const model::WhatIf& question) {
    if (question.horizon.ms <= 0 || question.horizon > model::what_if_horizon_max)
        return invalid_field("horizon", fmt::format("must be more than 0 and at most {}, is {}",
                                                    render_duration(model::what_if_horizon_max),
                                                    render_duration(question.horizon)));
    if (question.actions.size() > model::what_if_actions_max)
        return invalid_field("actions",
                             fmt::format("must be at most {}", model::what_if_actions_max));
    std::int64_t nodes = 0;
    for (std::size_t i = 0; i < question.add_nodes.size(); ++i) {
        TANDEM_TRY(add_nodes(scene, question.add_nodes[i], fmt::format("addNodes[{}]", i)));
        nodes += question.add_nodes[i].count;
        if (nodes > model::what_if_nodes_max)
            return invalid_field(
                "addNodes", fmt::format("must be at most {} together", model::what_if_nodes_max));
    }
    for (std::size_t i = 0; i < question.drain.size(); ++i) {
        Node* node = find_node(scene, question.drain[i]);
        if (node == nullptr)
            return fail(ErrorCode::not_found,
                        fmt::format("node \"{}\" does not exist", question.drain[i]),
                        fmt::format("drain[{}]", i));
        drain(scene, *node);
    }
    for (std::size_t i = 0; i < question.priorities.size(); ++i)
        TANDEM_TRY(set_priority(scene, question.priorities[i], fmt::format("priorities[{}]", i)));
    for (std::size_t i = 0; i < question.actions.size(); ++i)
        TANDEM_TRY(take_action(scene, question.actions[i], fmt::format("actions[{}]", i)));
    return {};
}

}  // namespace tandem::whatif
