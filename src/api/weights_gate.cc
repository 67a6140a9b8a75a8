// SPDX-License-Identifier: Apache-2.0
#include "api/weights_gate.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>

namespace tandem::api {
namespace {

constexpr std::size_t uploads_max = 10'000;
constexpr std::chrono::seconds core_wait{10};

bool covers(const auth::Reach& reach, const std::string& project) {
    return reach.everywhere || std::ranges::binary_search(reach.projects, project);
}

struct Sight {
    auth::Reach versions{};
    auth::Reach jobs{};
};

bool is_seen(const core::State& state, const Sight& sight, const std::string& digest) {
    for (const auto& [id, version] : state.table<model::ModelVersion>().rows())
        if (version.spec.digest == digest && covers(sight.versions, version.meta.project))
            return true;
    for (const auto& [id, job] : state.table<model::Job>().rows())
        for (const model::OutputRecord& output : job.status.outputs)
            if (output.digest == digest && covers(sight.jobs, job.meta.project)) return true;
    return false;
}

}  // namespace

Error absent_weights(const std::string& digest) {
    return {ErrorCode::not_found, "there are no weights " + digest.substr(0, 100) + "; upload them",
            "digest"};
}

void WeightsGate::note_upload(const Call& call, const std::string& digest) {
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = uploads_.emplace(digest, call.who.subject);
    if (!fresh) return;
    oldest_.push_back(*place);
    if (oldest_.size() <= uploads_max) return;
    uploads_.erase(oldest_.front());
    oldest_.pop_front();
}

bool WeightsGate::has_uploaded(const Upload& upload) const {
    const std::lock_guard lock(mutex_);
    return uploads_.contains(upload);
}

Status WeightsGate::check(const Call& call, const std::string& digest) const {
    const Sight sight{
        .versions =
            auth::reach_of(call.who.facts, {auth::Area::model_versions, auth::Verb::read}),
        .jobs = auth::reach_of(call.who.facts, {auth::Area::jobs, auth::Verb::read})};
    if (sight.versions.everywhere && sight.jobs.everywhere) return {};
    if (has_uploaded({digest, call.who.subject})) return {};
    // Shared: a query that is never run (the server stops) must not find its promise gone.
    auto told = std::make_shared<std::promise<bool>>();
    auto seen = told->get_future();
    TANDEM_TRY(parts_.core.query([told, sight, digest](const core::State& state) {
        told->set_value(is_seen(state, sight, digest));
    }));
    if (seen.wait_for(core_wait) != std::future_status::ready)
        return fail(ErrorCode::unavailable, "the server does not say now what is in use; try again");
    if (seen.get()) return {};
    return pass_on(absent_weights(digest));
}

Status WeightsGate::check(const Call& call, const std::vector<model::Action>& actions) const {
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const auto* apply = std::get_if<model::ApplyObject>(&actions[i]);
        const auto* version = apply ? std::get_if<model::ModelVersion>(&apply->object) : nullptr;
        if (!version) continue;
        if (const Status allowed = check(call, version->spec.digest); !allowed) {
            if (actions.size() == 1) return allowed;
            return in_context("action " + std::to_string(i), allowed.error());
        }
    }
    return {};
}

}  // namespace tandem::api
