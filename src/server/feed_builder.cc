// SPDX-License-Identifier: Apache-2.0
#include "server/feed_builder.h"

#include <set>

#include "core/access.h"
#include "core/jobs.h"
#include "core/replica_end.h"
#include "crypto/sha256.h"

namespace tandem::server {
namespace {

using model::Kind;

struct Touched {
    bool rights = false;                 // bindings or subjects: every key may differ
    std::set<RowId> keys{};
    std::vector<std::string> keys_gone{};
    std::set<RowId> services{};
    std::vector<Uid> services_gone{};
    std::set<std::string> runtimes{};
};

void note_change(const model::Change& change, Touched& touched) {
    const bool gone = change.type == model::ChangeType::deleted;
    switch (model::kind_of(change.object)) {
        case Kind::user:
        case Kind::service_account:
        case Kind::role_binding: touched.rights = true; break;
        case Kind::api_key: {
            const auto& key = std::get<model::ApiKey>(change.object);
            if (gone)
                touched.keys_gone.push_back(key.spec.key_id);
            else
                touched.keys.insert(key.meta.id);
            break;
        }
        case Kind::service: {
            const auto& service = std::get<model::Service>(change.object);
            if (gone)
                touched.services_gone.push_back(service.meta.uid);
            else
                touched.services.insert(service.meta.id);
            break;
        }
        case Kind::replica: {
            const auto& replica = std::get<model::Replica>(change.object);
            if (replica.spec.owner_kind == Kind::service) touched.services.insert(replica.spec.owner_id);
            break;
        }
        case Kind::runtime: touched.runtimes.insert(model::meta_of(change.object).name); break;
        default: break;
    }
}

void touch_users(const core::State& state, Touched& touched) {
    if (touched.runtimes.empty()) return;
    for (const auto& [id, service] : state.table<model::Service>().rows())
        if (touched.runtimes.contains(service.spec.runtime)) touched.services.insert(id);
}

}  // namespace

std::string replica_key(const Secret& installation, const model::TaskName& task) {
    return crypto::render_hex(crypto::hmac_sha256(installation.reveal(), "replica " + task.text()));
}

std::optional<model::FeedKey> FeedBuilder::key_of(const core::State& state, const model::ApiKey& key) const {
    if (key.spec.revoked) return std::nullopt;
    const model::Caller caller{.subject = key.spec.subject, .key_id = key.spec.key_id, .request_id = {}};
    const Instant any_time = state.meta.time;
    const auth::SubjectFacts facts = core::facts_of(state, caller, any_time);
    if (facts.disabled) return std::nullopt;
    const auth::Reach reach = auth::reach_of(facts, {auth::Area::services, auth::Verb::invoke});
    if (!reach.everywhere && reach.projects.empty()) return std::nullopt;
    return model::FeedKey{.key_id = key.spec.key_id,
                          .digest = key.spec.digest,
                          .subject = key.spec.subject,
                          .projects = reach.everywhere ? std::vector<std::string>{"*"} : reach.projects,
                          .services = key.spec.services,
                          .requests_per_minute = key.spec.requests_per_minute,
                          .concurrency = key.spec.concurrency,
                          .expires = key.spec.expires};
}

model::FeedService FeedBuilder::service_of(const core::State& state, const model::Service& service) const {
    const auto* runtime = state.table<model::Runtime>().find_named(service.spec.runtime);
    model::FeedService feed{.uid = service.meta.uid,
                            .public_name = service.spec.public_name.empty()
                                               ? service.meta.name
                                               : service.spec.public_name,
                            .project = service.meta.project,
                            .name_space = service.meta.name_space,
                            .name = service.meta.name,
                            .phase = service.status.phase,
                            .concurrency = service.spec.replicas.concurrency,
                            .created = service.meta.created,
                            .trouble = core::trouble_of(state, service),
                            .next_try = service.status.not_before,
                            .prompt_progress = runtime && runtime->spec.prompt_progress,
                            .usage_per_choice = runtime && runtime->spec.usage_per_choice,
                            .replicas = {}};
    for (RowId id : core::replicas_of(state, service.meta.id)) {
        const model::Replica& replica = state.table<model::Replica>().get(id);
        if (replica.status.phase != model::Phase::running || core::is_gone(replica)) continue;
        feed.replicas.push_back({.uid = replica.meta.uid,
                                 .name = replica.meta.name,
                                 .epoch = replica.status.epoch,
                                 .endpoint = replica.status.endpoint,
                                 .key = replica_key(installation_, core::task_name(state, replica)),
                                 .model_version = replica.spec.model_version,
                                 .draining = replica.status.draining});
    }
    return feed;
}

void FeedBuilder::add_all_keys(const core::State& state, model::FeedUpdate& update) const {
    for (const auto& [id, key] : state.table<model::ApiKey>().rows()) {
        if (auto feed = key_of(state, key))
            update.keys.push_back(std::move(*feed));
        else if (!update.full)
            update.keys_gone.push_back(key.spec.key_id);
    }
}

model::FeedUpdate FeedBuilder::snapshot(const core::State& state, Instant now) const {
    model::FeedUpdate update{.generation = state.meta.generation,
                             .version = state.meta.version,
                             .at = now,
                             .full = true,
                             .keys = {},
                             .services = {},
                             .keys_gone = {},
                             .services_gone = {}};
    add_all_keys(state, update);
    for (const auto& [id, service] : state.table<model::Service>().rows())
        update.services.push_back(service_of(state, service));
    return update;
}

std::optional<model::FeedUpdate> FeedBuilder::delta(const model::BatchRecord& record, const core::State& state) const {
    Touched touched;
    for (const model::Change& change : record.changes) note_change(change, touched);
    touch_users(state, touched);
    model::FeedUpdate update{.generation = record.meta.generation,
                             .version = record.meta.version,
                             .at = record.tick.now,
                             .full = false,
                             .keys = {},
                             .services = {},
                             .keys_gone = std::move(touched.keys_gone),
                             .services_gone = std::move(touched.services_gone)};
    if (touched.rights) add_all_keys(state, update);
    for (RowId id : touched.rights ? std::set<RowId>{} : touched.keys) {
        const model::ApiKey& key = state.table<model::ApiKey>().get(id);
        if (auto feed = key_of(state, key))
            update.keys.push_back(std::move(*feed));
        else
            update.keys_gone.push_back(key.spec.key_id);
    }
    for (RowId id : touched.services)
        if (const model::Service* service = state.table<model::Service>().find(id))
            update.services.push_back(service_of(state, *service));
    const bool nothing = update.keys.empty() && update.keys_gone.empty() && update.services.empty() &&
                         update.services_gone.empty();
    if (nothing) return std::nullopt;
    return update;
}

}  // namespace tandem::server
