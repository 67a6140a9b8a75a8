// SPDX-License-Identifier: Apache-2.0
#include "core/rules.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/arrays.h"
#include "core/dependencies.h"
#include "core/jobs.h"
#include "core/maintenance.h"
#include "core/nodes.h"
#include "core/reservations.h"
#include "core/services.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::Job;
using model::Pool;
using model::Queue;
using model::Service;

constexpr std::size_t queue_depth_max = 16;

Status must_exist(bool exists, std::string field, std::string_view what, const std::string& name) {
    if (exists) return {};
    return invalid_field(std::move(field), fmt::format("{} \"{}\" does not exist", what, name));
}

Status check_place(const State& state, const model::Meta& meta) {
    TANDEM_TRY(must_exist(state.table<model::Project>().find_named(meta.project), "metadata.project", "project",
                          meta.project));
    if (meta.name_space.empty()) return {};
    return must_exist(state.table<model::Namespace>().find_named(meta.project, "", meta.name_space),
                      "metadata.namespace", "namespace", meta.name_space);
}

bool lists(const std::vector<std::string>& projects, const std::string& project) {
    return projects.empty() || std::find(projects.begin(), projects.end(), project) != projects.end();
}

// The queue must be there, take this project, and lead to a pool that does.
Status check_queue(const State& state, const std::string& name, const std::string& project) {
    const Queue* queue = state.table<Queue>().find_named(name);
    TANDEM_TRY(must_exist(queue, "spec.queue", "queue", name));
    if (!lists(queue->spec.projects, project))
        return invalid_field("spec.queue", fmt::format("queue \"{}\" is not open to project \"{}\"", name, project));
    for (const auto& [id, other] : state.table<Queue>().rows())
        if (other.spec.parent == name)
            return invalid_field("spec.queue", fmt::format("queue \"{}\" has queues below it; submit to one of them, "
                                                           "such as \"{}\"", name, other.meta.name));
    const Pool* pool = state.table<Pool>().find_named(queue->spec.pool);
    TANDEM_TRY(must_exist(pool, "spec.queue", "the queue's pool", queue->spec.pool));
    if (!lists(pool->spec.projects, project))
        return invalid_field("spec.queue", fmt::format("pool \"{}\" of queue \"{}\" is not open to project \"{}\"",
                                                       pool->meta.name, name, project));
    return {};
}

}  // namespace

bool subject_exists(const State& state, const std::string& subject) {
    if (subject.starts_with("user:")) return state.table<model::User>().find_named(subject.substr(5));
    const std::size_t slash = subject.find('/');
    if (!subject.starts_with("serviceaccount:") || slash == std::string::npos) return false;
    return state.table<model::ServiceAccount>().find_named(subject.substr(15, slash - 15), "",
                                                           subject.substr(slash + 1));
}

namespace {

bool has_work_in(const State& state, const std::string& queue) {
    for (const auto& [id, job] : state.table<Job>().rows())
        if (job.spec.queue == queue && !model::is_terminal(job.status.phase)) return true;
    for (const auto& [id, service] : state.table<Service>().rows())
        if (service.spec.queue == queue) return true;
    return false;
}

// Devices of the pool's flavor that exist at all: asking for more could never be met.
std::int64_t devices_of_flavor(const State& state, const std::string& flavor) {
    std::int64_t count = 0;
    for (const auto& [id, node] : state.table<model::Node>().rows())
        count += std::count_if(node.status.devices.begin(), node.status.devices.end(),
                               [&](const model::Device& device) { return device.flavor == flavor; });
    return count;
}

Status frozen(bool same, std::string field, std::string_view why) {
    if (same) return {};
    return fail(ErrorCode::conflict, fmt::format("can't be changed: {}", why), std::move(field));
}

// Levels are those of the pool behind the job's queue.
Status check_level(const Pool& pool, const std::string& level, const std::string& field) {
    if (level.empty() || level == model::host_level) return {};
    std::string known;
    for (const std::string& label : pool.spec.topology) {
        if (model::level_name(label) == level) return {};
        known += std::string(model::level_name(label)) + ", ";
    }
    return invalid_field(field, fmt::format("\"{}\" is no level of pool \"{}\": it has {}host", level,
                                            pool.meta.name, known));
}

Status check_placing(const State& state, const Job& job) {
    if (!job.spec.placing) return {};
    const Queue* queue = state.table<Queue>().find_named(job.spec.queue);
    const Pool* pool = queue ? state.table<Pool>().find_named(queue->spec.pool) : nullptr;
    if (!pool) return {};
    const model::JobPlacing& placing = *job.spec.placing;
    const model::JobTopology& topology = placing.topology;
    TANDEM_TRY(check_level(*pool, topology.required, "spec.placing.topology.required"));
    TANDEM_TRY(check_level(*pool, topology.preferred, "spec.placing.topology.preferred"));
    TANDEM_TRY(check_level(*pool, topology.slice.required, "spec.placing.topology.slice.required"));
    TANDEM_TRY(check_level(*pool, placing.spread.level, "spec.placing.spread.level"));
    for (std::size_t i = 0; i < placing.near.size(); ++i)
        TANDEM_TRY(check_level(*pool, placing.near[i].level,
                               fmt::format("spec.placing.near[{}].level", i)));
    for (std::size_t i = 0; i < placing.apart.size(); ++i)
        TANDEM_TRY(check_level(*pool, placing.apart[i].level,
                               fmt::format("spec.placing.apart[{}].level", i)));
    return {};
}

// A live replica's name must not be taken by another owner: JOB-ROLE-RANK of "a-b" and of "a" may meet.
Status check_replica_names(const State& state, const Job& job) {
    std::int64_t rank = 0;
    for (const model::JobRole& role : job.spec.roles) {
        for (std::int64_t i = 0; i < role.least(); ++i, ++rank) {
            const std::string name = fmt::format("{}-{}-{}", job.meta.name, role.name, rank);
            if (state.table<model::Replica>().find_named(job.meta.project, job.meta.name_space, name))
                return fail(ErrorCode::conflict,
                            fmt::format("its replica would be called \"{}\", which another workload's is", name),
                            "metadata.name");
        }
    }
    return {};
}

}  // namespace

Status check_references(const State&, const model::Project&, const model::Project*) { return {}; }
Status check_references(const State&, const model::User&, const model::User*) { return {}; }
Status check_references(const State&, const model::Runtime&, const model::Runtime*) { return {}; }

Status check_references(const State& state, const model::License& wanted, const model::License*) {
    for (std::size_t i = 0; i < wanted.spec.projects.size(); ++i)
        TANDEM_TRY(must_exist(state.table<model::Project>().find_named(wanted.spec.projects[i]),
                              fmt::format("spec.projects[{}]", i), "project",
                              wanted.spec.projects[i]));
    return {};
}

Status check_references(const State& state, const model::Namespace& wanted, const model::Namespace*) {
    return check_place(state, wanted.meta);
}
Status check_references(const State& state, const model::ServiceAccount& wanted, const model::ServiceAccount*) {
    return check_place(state, wanted.meta);
}

Status check_references(const State& state, const model::RoleBinding& wanted, const model::RoleBinding*) {
    TANDEM_TRY(must_exist(subject_exists(state, wanted.spec.subject), "spec.subject", "subject", wanted.spec.subject));
    if (wanted.spec.project.empty()) return {};
    return must_exist(state.table<model::Project>().find_named(wanted.spec.project), "spec.project", "project",
                      wanted.spec.project);
}

Status check_references(const State& state, const model::ApiKey& wanted, const model::ApiKey* old) {
    TANDEM_TRY(must_exist(subject_exists(state, wanted.spec.subject), "spec.subject", "subject", wanted.spec.subject));
    if (!wanted.spec.project.empty())
        TANDEM_TRY(must_exist(state.table<model::Project>().find_named(wanted.spec.project), "spec.project",
                              "project", wanted.spec.project));
    if (!old) return {};
    TANDEM_TRY(frozen(old->spec.subject == wanted.spec.subject, "spec.subject", "make another key"));
    TANDEM_TRY(frozen(old->spec.key_id == wanted.spec.key_id, "spec.keyId", "make another key"));
    TANDEM_TRY(frozen(old->spec.digest == wanted.spec.digest, "spec.digest", "make another key"));
    return frozen(wanted.spec.revoked || !old->spec.revoked, "spec.revoked", "a revoked key stays revoked");
}

Status check_references(const State&, const model::Node& wanted, const model::Node* old) {
    if (old) return {};
    return fail(ErrorCode::invalid, fmt::format("node \"{}\" is not known; nodes are reported by their executor",
                                                wanted.meta.name), "metadata.name");
}

Status check_references(const State& state, const Pool& wanted, const Pool* old) {
    for (std::size_t i = 0; i < wanted.spec.projects.size(); ++i)
        TANDEM_TRY(must_exist(state.table<model::Project>().find_named(wanted.spec.projects[i]),
                              fmt::format("spec.projects[{}]", i), "project", wanted.spec.projects[i]));
    if (wanted.spec.form == model::Form::reserved) {
        const Pool* from = state.table<Pool>().find_named(wanted.spec.from);
        TANDEM_TRY(must_exist(from, "spec.from", "pool", wanted.spec.from));
        if (from->spec.form != model::Form::shared)
            return invalid_field("spec.from", fmt::format("must name a shared pool, \"{}\" is {}", wanted.spec.from,
                                                          model::name_of(from->spec.form)));
        const std::int64_t there = devices_of_flavor(state, wanted.spec.flavor);
        if (wanted.spec.devices > there)
            return invalid_field("spec.devices", fmt::format("must be at most {}, the devices of flavor \"{}\" that "
                                                             "exist, is {}", there, wanted.spec.flavor,
                                                             wanted.spec.devices));
    } else if (!old) {
        for (const auto& [id, pool] : state.table<Pool>().rows())
            if (pool.spec.form == model::Form::shared)
                return invalid_field("spec.form", fmt::format("there is a shared pool already, \"{}\": it owns every "
                                                              "device that no reserved pool holds", pool.meta.name));
    }
    if (!old) return {};
    TANDEM_TRY(frozen(old->spec.form == wanted.spec.form, "spec.form", "make another pool"));
    if (!old->status.ready) return {};
    TANDEM_TRY(frozen(old->spec.devices == wanted.spec.devices, "spec.devices", "delete the reservation and make another"));
    return frozen(old->spec.flavor == wanted.spec.flavor, "spec.flavor", "delete the reservation and make another");
}

Status check_references(const State& state, const Queue& wanted, const Queue* old) {
    for (std::size_t i = 0; i < wanted.spec.projects.size(); ++i)
        TANDEM_TRY(must_exist(state.table<model::Project>().find_named(wanted.spec.projects[i]),
                              fmt::format("spec.projects[{}]", i), "project", wanted.spec.projects[i]));
    TANDEM_TRY(must_exist(state.table<Pool>().find_named(wanted.spec.pool), "spec.pool", "pool", wanted.spec.pool));
    for (const auto& [id, reservation] : state.table<model::Reservation>().rows())
        if (old && reservation.spec.queue == wanted.meta.name)
            TANDEM_TRY(frozen(old->spec.pool == wanted.spec.pool, "spec.pool",
                              "a reservation is charged to this queue"));
    if (old && has_work_in(state, wanted.meta.name))
        TANDEM_TRY(frozen(old->spec.pool == wanted.spec.pool, "spec.pool", "work of this queue uses it"));
    std::string up = wanted.spec.parent;
    for (std::size_t depth = 0; !up.empty(); ++depth) {
        const Queue* parent = state.table<Queue>().find_named(up);
        TANDEM_TRY(must_exist(parent, "spec.parent", "queue", up));
        if (up == wanted.meta.name || depth > queue_depth_max)
            return invalid_field("spec.parent", fmt::format("must not lead back to the queue itself, at most {} levels up",
                                                            queue_depth_max));
        up = parent->spec.parent;
    }
    if (!wanted.spec.parent.empty() && has_work_in(state, wanted.spec.parent))
        return fail(ErrorCode::conflict, fmt::format("queue \"{}\" has work of its own; only leaves take work",
                                                     wanted.spec.parent), "spec.parent");
    return {};
}

Status check_references(const State& state, const Job& wanted, const Job* old) {
    TANDEM_TRY(check_place(state, wanted.meta));
    TANDEM_TRY(check_queue(state, wanted.spec.queue, wanted.meta.project));
    TANDEM_TRY(check_licenses(state, wanted));
    if (!old) {
        TANDEM_TRY(check_dependencies(state, wanted));
        TANDEM_TRY(check_element_names(state, wanted));
        TANDEM_TRY(check_placing(state, wanted));
        return check_replica_names(state, wanted);
    }
    if (old->status.element)
        return fail(
            ErrorCode::conflict,
            fmt::format("is an element of array \"{}\"; change that", old->status.element->array),
            "metadata.name");
    TANDEM_TRY(check_array_change(wanted, *old));
    if (old->spec.array) return {};
    TANDEM_TRY(frozen(old->spec.after == wanted.spec.after, "spec.after", "make another job"));
    if (old->status.phase == model::Phase::pending) {
        TANDEM_TRY(frozen(old->spec.roles == wanted.spec.roles || old->status.epoch == 0, "spec.roles",
                          "the job has run; make another"));
        if (old->spec.placing != wanted.spec.placing) return check_placing(state, wanted);
        return {};
    }
    Job same = wanted;
    same.spec.suspend = old->spec.suspend;  // a running job may be suspended
    const bool is_over = model::is_terminal(old->status.phase);
    return frozen(old->spec == (is_over ? wanted.spec : same.spec), "spec",
                  fmt::format("the job is {}; only a pending job's spec changes", model::name_of(old->status.phase)));
}

Status check_references(const State& state, const Service& wanted, const Service* old) {
    TANDEM_TRY(check_place(state, wanted.meta));
    TANDEM_TRY(check_queue(state, wanted.spec.queue, wanted.meta.project));
    TANDEM_TRY(must_exist(state.table<model::Runtime>().find_named(wanted.spec.runtime), "spec.runtime", "runtime",
                          wanted.spec.runtime));
    TANDEM_TRY(must_exist(state.table<model::Model>().find_named(wanted.meta.project, wanted.meta.name_space,
                                                                 wanted.spec.model),
                          "spec.model", "model", wanted.spec.model));
    if (wanted.spec.version > 0) {
        const std::string name = fmt::format("{}.v{}", wanted.spec.model, wanted.spec.version);
        TANDEM_TRY(must_exist(state.table<model::ModelVersion>().find_named(wanted.meta.project,
                                                                            wanted.meta.name_space, name),
                              "spec.version", "model version", name));
    }
    const std::string& name = wanted.spec.public_name.empty() ? wanted.meta.name : wanted.spec.public_name;
    for (const auto& [id, other] : state.table<Service>().rows()) {
        const std::string& taken = other.spec.public_name.empty() ? other.meta.name : other.spec.public_name;
        if (taken == name && (!old || id != old->meta.id))
            return fail(ErrorCode::conflict, fmt::format("the public name \"{}\" is taken by another service", name),
                        "spec.publicName");
    }
    if (old) TANDEM_TRY(frozen(old->spec.queue == wanted.spec.queue, "spec.queue", "make another service"));
    return {};
}

Status check_references(const State&, const model::Replica&, const model::Replica*) {
    return invalid_field("kind", "Replica objects are made by the platform");
}
Status check_references(const State& state, const model::Model& wanted, const model::Model*) {
    return check_place(state, wanted.meta);
}

Status check_references(const State& state, const model::ModelVersion& wanted, const model::ModelVersion* old) {
    TANDEM_TRY(check_place(state, wanted.meta));
    TANDEM_TRY(must_exist(state.table<model::Model>().find_named(wanted.meta.project, wanted.meta.name_space,
                                                                 wanted.spec.model),
                          "spec.model", "model", wanted.spec.model));
    if (old) return frozen(old->spec == wanted.spec, "spec", "a version never changes; push another");
    return {};
}

namespace {

std::unexpected<Error> in_use(std::string_view kind, const std::string& by) {
    return fail(ErrorCode::conflict, fmt::format("is in use by {} \"{}\"", kind, by), "metadata.name");
}

template <class T>
Status none_in(const State& state, std::string_view kind, const model::Meta& meta, bool whole_project) {
    for (const auto& [id, row] : state.table<T>().rows()) {
        const bool inside = whole_project ? row.meta.project == meta.name
                                          : row.meta.project == meta.project && row.meta.name_space == meta.name;
        if (inside) return in_use(kind, row.meta.name);
    }
    return {};
}

Status none_inside(const State& state, const model::Meta& meta, bool whole_project) {
    TANDEM_TRY(none_in<Job>(state, "job", meta, whole_project));
    TANDEM_TRY(none_in<Service>(state, "service", meta, whole_project));
    return none_in<model::Model>(state, "model", meta, whole_project);
}

Status removal_of(const State& state, const model::Project& project) {
    for (const auto& [id, row] : state.table<model::Namespace>().rows())
        if (row.meta.project == project.meta.name) return in_use("namespace", row.meta.name);
    return none_inside(state, project.meta, true);
}
Status removal_of(const State& state, const model::Namespace& name_space) {
    return none_inside(state, name_space.meta, false);
}
Status removal_of(const State& state, const Pool& pool) {
    for (const auto& [id, queue] : state.table<Queue>().rows())
        if (queue.spec.pool == pool.meta.name) return in_use("queue", queue.meta.name);
    for (const auto& [id, other] : state.table<Pool>().rows())
        if (other.spec.from == pool.meta.name) return in_use("pool", other.meta.name);
    return {};
}
Status removal_of(const State& state, const Queue& queue) {
    for (const auto& [id, other] : state.table<Queue>().rows())
        if (other.spec.parent == queue.meta.name) return in_use("queue", other.meta.name);
    for (const auto& [id, job] : state.table<Job>().rows())
        if (job.spec.queue == queue.meta.name && !model::is_terminal(job.status.phase)) return in_use("job", job.meta.name);
    for (const auto& [id, service] : state.table<Service>().rows())
        if (service.spec.queue == queue.meta.name) return in_use("service", service.meta.name);
    for (const auto& [id, reservation] : state.table<model::Reservation>().rows())
        if (reservation.spec.queue == queue.meta.name)
            return in_use("reservation", reservation.meta.name);
    return {};
}
Status removal_of(const State& state, const model::License& license) {
    for (const auto& [id, job] : state.table<Job>().rows())
        if (job.spec.licenses.contains(license.meta.name) && !model::is_terminal(job.status.phase))
            return in_use("job", job.meta.name);
    return {};
}
Status removal_of(const State& state, const model::Runtime& runtime) {
    for (const auto& [id, service] : state.table<Service>().rows())
        if (service.spec.runtime == runtime.meta.name) return in_use("service", service.meta.name);
    return {};
}
Status removal_of(const State& state, const model::Model& one) {
    for (const auto& [id, version] : state.table<model::ModelVersion>().rows())
        if (version.spec.model == one.meta.name && version.meta.project == one.meta.project &&
            version.meta.name_space == one.meta.name_space)
            return in_use("model version", version.meta.name);
    return {};
}
Status removal_of(const State& state, const model::ModelVersion& version) {
    for (const auto& [id, service] : state.table<Service>().rows()) {
        const bool here = service.meta.project == version.meta.project &&
                          service.meta.name_space == version.meta.name_space;
        if (here && (service.status.serving_version == version.meta.name ||
                     service.status.target_version == version.meta.name))
            return in_use("service", service.meta.name);
    }
    return {};
}
Status removal_of(const State& state, const model::Node& node) {
    for (const auto& [id, replica] : state.table<model::Replica>().rows())
        if (replica.status.node == node.meta.name && model::holds_capacity(replica.status.phase))
            return in_use("replica", replica.meta.name);
    if (node.status.ready)
        return fail(ErrorCode::conflict, "its executor still reports it", "metadata.name");
    return {};
}
Status removal_of(const State&, const Job& job) {
    if (!job.status.element) return {};
    return fail(ErrorCode::conflict,
                fmt::format("is an element of array \"{}\": cancel it, or delete the array",
                            job.status.element->array),
                "metadata.name");
}
Status removal_of(const State&, const model::Replica&) {
    return invalid_field("kind", "Replica objects go with their job or service");
}
template <class T>
Status removal_of(const State&, const T&) {
    return {};
}

void applied(Turn& turn, const model::Node& node) { put_node(turn.state, node); }
void applied(Turn& turn, const Pool& pool) { pool_changed(turn, pool.meta.id); }

bool is_at_or_below([[maybe_unused]] const State& state, std::string queue, const std::string& top) {
    for (std::size_t depth = 0; depth <= queue_depth_max && !queue.empty(); ++depth) {
        if (queue == top) return true;
#if defined(TANDEM_PLANT_DRAIN_BELOW)
        return false;
#else
        const Queue* here = state.table<Queue>().find_named(queue);
        queue = here ? here->spec.parent : "";
#endif
    }
    return false;
}

void drain_queue(Turn& turn, const std::string& name) {
    std::vector<RowId> jobs, services;
    for (const auto& [id, job] : turn.state.table<Job>().rows())
        if (is_at_or_below(turn.state, job.spec.queue, name)) jobs.push_back(id);
    for (const auto& [id, service] : turn.state.table<Service>().rows())
        if (is_at_or_below(turn.state, service.spec.queue, name)) services.push_back(id);
    for (RowId id : jobs) drain_job(turn, id, name);
    for (RowId id : services)
        evict_service(turn, id, reason_of(model::ReasonCode::queue_drained, {{"queue", name}}));
}

void applied(Turn& turn, const Queue& queue) {
    turn.state.planner.put_queue(queue);
    if (queue.spec.stop == model::StopPolicy::hold_and_drain) drain_queue(turn, queue.meta.name);
}
void applied(Turn& turn, const model::Runtime& runtime) {
    for (const auto& [id, service] : turn.state.table<Service>().rows())
        if (service.spec.runtime == runtime.meta.name) touch(turn, model::Kind::service, id);
}
void applied(Turn& turn, const model::ModelVersion& version) {
    for (const auto& [id, service] : turn.state.table<Service>().rows())
        if (service.spec.model == version.spec.model && service.meta.project == version.meta.project)
            touch(turn, model::Kind::service, id);
}
void applied(Turn& turn, const model::Maintenance& maintenance) {
    maintenance_made(turn, maintenance.meta.id);
}
void applied(Turn& turn, const model::Reservation& reservation) {
    reservation_made(turn, reservation.meta.id);
}
template <class T>
void applied(Turn&, const T&) {}

void going(Turn& turn, const model::Node& node) {
    for (const model::Device& device : node.status.devices)
        if (turn.state.book.has_device({node.meta.name, device.index}))
            turn.state.book.remove_device({node.meta.name, device.index}, turn.now);
    turn.state.planner.remove_node(node.meta.name);
}
void going(Turn& turn, const Pool& pool) { pool_going(turn, pool); }
void going(Turn& turn, const Queue& queue) { turn.state.planner.remove_queue(queue.meta.name); }
void going(Turn& turn, const model::Maintenance& maintenance) {
    maintenance_going(turn, maintenance);
}
void going(Turn& turn, const model::Reservation& reservation) {
    reservation_going(turn, reservation);
}
template <class T>
void going(Turn&, const T&) {}

}  // namespace

Status check_removal(const State& state, const model::Object& object) {
    return std::visit([&](const auto& row) { return removal_of(state, row); }, object);
}
void after_apply(Turn& turn, const model::Object& object) {
    std::visit([&](const auto& row) { applied(turn, row); }, object);
}
void before_removal(Turn& turn, const model::Object& object) {
    std::visit([&](const auto& row) { going(turn, row); }, object);
}

}  // namespace tandem::core
