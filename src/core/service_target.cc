// SPDX-License-Identifier: Apache-2.0
#include "core/service_target.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "core/jobs.h"

namespace tandem::core {
namespace {

using model::ReasonCode;
using model::Replica;
using model::Service;

void add_env(Digest& digest, const std::map<std::string, std::string>& env) {
    digest.add(static_cast<std::int64_t>(env.size()));
    for (const auto& [name, value] : env) {
        digest.add(name);
        digest.add(value);
    }
}

void add_resources(Digest& digest, const model::Resources& wanted) {
    digest.add(wanted.devices);
    digest.add(wanted.flavor);
    digest.add(wanted.cpu_milli);
    digest.add(wanted.memory_bytes);
    digest.add(wanted.device_memory_bytes);
    for (const auto& [label, value] : wanted.node_selector) {
        digest.add(label);
        digest.add(value);
    }
    for (const std::string& taint : wanted.tolerations) digest.add(taint);
}

// Why nothing can be started, or none.
model::Reason missing_part(const Service& service, const model::ModelVersion* version,
                           const model::Runtime* runtime) {
    if (!version)
        return reason_of(ReasonCode::model_missing,
                         {{"model", service.spec.model},
                          {"version", std::to_string(service.spec.version)}});
    if (!runtime)
        return reason_of(ReasonCode::runtime_missing, {{"runtime", service.spec.runtime}});
    return {};
}

void aim_at(Turn& turn, RowId id, const std::string& version, const std::string& revision) {
    const model::ServiceStatus& now = turn.state.table<Service>().get(id).status;
    const bool is_target = version == now.target_version && revision == now.target_revision;
    const bool was_refused = version == now.refused_version && revision == now.refused_revision;
    if (is_target && now.refused_version.empty()) return;
    if (!is_target && was_refused) return;
    model::ServiceStatus& status = turn.table<Service>().edit(id).status;
    status.refused_version.clear();
    status.refused_revision.clear();
    if (is_target) return;
    status.target_version = version;
    status.target_revision = revision;
    status.starts_failed = 0;
    status.not_before.reset();
}

}  // namespace

const model::ModelVersion* find_version(const State& state, const Service& service) {
    const auto& table = state.table<model::ModelVersion>();
    const std::string& project = service.meta.project;
    const std::string& name_space = service.meta.name_space;
    if (service.spec.version > 0)
        return table.find_named(project, name_space,
                                service.spec.model + ".v" + std::to_string(service.spec.version));
    const model::ModelVersion* newest = nullptr;
    for (const auto& [id, version] : table.rows())
        if (version.meta.project == project && version.meta.name_space == name_space &&
            version.spec.model == service.spec.model &&
            (!newest || version.spec.number > newest->spec.number))
            newest = &version;
    return newest;
}

std::string revision_of(const Service& service, const model::Runtime& runtime) {
    Digest digest;
    digest.add(runtime.meta.name);
    digest.add(static_cast<std::int64_t>(runtime.spec.command.size()));
    for (const std::string& word : runtime.spec.command) digest.add(word);
    add_env(digest, runtime.spec.env);
    add_env(digest, service.spec.env);
    digest.add(service.spec.public_name);
    digest.add(service.spec.context_length);
    digest.add(service.spec.threads);
    digest.add(service.spec.replicas.concurrency);
    add_resources(digest, service.spec.resources);
    return fmt::format("{:016x}", digest.value());
}

bool is_updating(const Service& service) {
    return service.status.target_version != service.status.serving_version ||
           service.status.target_revision != service.status.serving_revision;
}

bool is_of_target(const Service& service, const Replica& replica) {
    if (replica.spec.model_version != service.status.target_version) return false;
    return replica.spec.revision.empty() ||
           replica.spec.revision == service.status.target_revision;
}

bool choose_target(Turn& turn, RowId id) {
    const Service& service = turn.state.table<Service>().get(id);
    const model::ModelVersion* version = find_version(turn.state, service);
    const model::Runtime* runtime =
        turn.state.table<model::Runtime>().find_named(service.spec.runtime);
    if (model::Reason missing = missing_part(service, version, runtime);
        missing.code != ReasonCode::none) {
        Service& edited = turn.table<Service>().edit(id);
        edited.status.reason = std::move(missing);
        turn.state.planner.remove_demand(id);
        return !edited.status.serving_version.empty() && runtime != nullptr;
    }
    const ReasonCode told = service.status.reason.code;
    if (told == ReasonCode::model_missing || told == ReasonCode::runtime_missing)
        turn.table<Service>().edit(id).status.reason = {};  // they are there now
    const std::string revision = revision_of(service, *runtime);
    // Rows of a server that knew no revisions: what runs is what is wanted.
    if (service.status.serving_revision.empty() && !service.status.serving_version.empty())
        turn.table<Service>().edit(id).status.serving_revision = revision;
    const bool has_none = replicas_of(turn.state, id).empty();
    // The spec of before is not kept: without a replica of it, only the new one can be tried.
    if (has_none && service.status.refused_version == service.status.serving_version)
        turn.table<Service>().edit(id).status.refused_version.clear();
    aim_at(turn, id, version->meta.name, revision);
    if (has_none && is_updating(service)) {
        Service& edited = turn.table<Service>().edit(id);
        edited.status.serving_version = edited.status.target_version;
        edited.status.serving_revision = edited.status.target_revision;
    }
    return true;
}

void give_up_target(Turn& turn, RowId id, const model::Reason& why) {
    Service& service = turn.table<Service>().edit(id);
    service.status.refused_version = service.status.target_version;
    service.status.refused_revision = service.status.target_revision;
    service.status.target_version = service.status.serving_version;
    service.status.target_revision = service.status.serving_revision;
    service.status.reason = why;
    service.status.starts_failed = 0;
    service.status.not_before.reset();
    turn.state.planner.remove_demand(id);
    turn.note(key_of_row(service), service.meta.uid, why);
}

void complete_target(Turn& turn, RowId id) {
    Service& service = turn.table<Service>().edit(id);
    model::Reason done = reason_of(ReasonCode::rolled_out);
    if (service.status.serving_version != service.status.target_version)
        done.params = {{"to", service.status.target_version},
                       {"from", service.status.serving_version}};
    service.status.serving_version = service.status.target_version;
    service.status.serving_revision = service.status.target_revision;
    service.status.starts_failed = 0;
    turn.state.planner.remove_demand(id);
    turn.note(key_of_row(service), service.meta.uid, std::move(done));
}

}  // namespace tandem::core
