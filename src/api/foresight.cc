// SPDX-License-Identifier: Apache-2.0
#include "api/foresight.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/what_if.h"

namespace tandem::api {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds walk_max{10};
constexpr std::chrono::seconds rest_min{1};
constexpr int rest_factor = 10;
constexpr Duration start_horizon = hours(24 * 7);

whatif::WalkBounds bounds_of(const Parts& parts, const std::stop_token& stop) {
    const auto deadline = steady_clock::now() + walk_max;
    return {.now = parts.core.now(), .horizon = start_horizon, .stop = [stop, deadline] {
                return stop.stop_requested() || steady_clock::now() > deadline;
            }};
}

Status may_read(const Parts& parts, const Call& call, model::Kind kind, const std::string& project,
                const std::string& object) {
    return allow_read(parts, call, {auth::area_of(kind), auth::Verb::read}, project, object);
}

// All that the question names must be there for the one who asks.
Status allow(const Parts& parts, const Call& call, const model::WhatIf& question) {
    TANDEM_TRY(may_read(parts, call, model::Kind::queue, "", "what-if"));
    if (!question.add_nodes.empty() || !question.drain.empty())
        TANDEM_TRY(may_read(parts, call, model::Kind::node, "", "nodes"));
    for (const model::PriorityAsked& one : question.priorities)
        TANDEM_TRY(may_read(parts, call, one.kind, one.project,
                            one.project + "/" + one.name_space + "/" + one.name));
    for (const model::Action& action : question.actions) {
        const model::ObjectKey key = model::key_of_action(action);
        TANDEM_TRY(may_read(parts, call, key.kind, key.project,
                            key.project + "/" + key.name_space + "/" + key.name));
    }
    return {};
}

std::function<bool(const model::ObjectKey&)> sight_of(const Call& call) {
    const auto reach = [&](auth::Area area) {
        return auth::reach_of(call.who.facts, {area, auth::Verb::read});
    };
    return [jobs = reach(auth::Area::jobs),
            services = reach(auth::Area::services)](const model::ObjectKey& key) {
        const auth::Reach& here = key.kind == model::Kind::job ? jobs : services;
        return here.everywhere ||
               std::ranges::find(here.projects, key.project) != here.projects.end();
    };
}

// Counts one at work for as long as it lives.
class Place {
  public:
    explicit Place(std::atomic<int>& taken) : taken_(&taken) {}
    Place(Place&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
        if (taken_ != nullptr) taken_->fetch_sub(1);
    }

  private:
    std::atomic<int>* taken_;
};

}  // namespace

std::shared_ptr<const whatif::Expectations> StartTimes::look(const server::WorkView& view) {
    const std::lock_guard lock(mutex_);
    const bool stale = !newest_ || newest_->version < view.version();
    if (view.size() <= work_max && stale && !at_work_ && steady_clock::now() >= rested_)
        at_work_ = errands_.start([this](const std::stop_token& stop) { renew(stop); }).has_value();
    return newest_;
}

void StartTimes::renew(const std::stop_token& stop) {
    const auto began = steady_clock::now();
    auto rows = parts_.reader.rows();
    auto found = rows ? whatif::expect_starts(*std::move(rows), bounds_of(parts_, stop))
                      : Result<whatif::Expectations>(pass_on(rows.error()));
    if (!found)
        parts_.log.warn("expected starts can't be told", {{"detail", found.error().message}});
    const auto took = steady_clock::now() - began;
    const std::lock_guard lock(mutex_);
    if (found) newest_ = std::make_shared<const whatif::Expectations>(*std::move(found));
    rested_ = steady_clock::now() + std::max<steady_clock::duration>(rest_min, took * rest_factor);
    at_work_ = false;
}

void Questions::ask(Call call) {
    auto body = parse_body(call.request);
    if (!body) return call.refuse(body.error());
    auto question = codec::parse_what_if(*body);
    if (!question) return call.refuse(question.error());
    if (const Status allowed = allow(parts_, call, *question); !allowed)
        return call.refuse(allowed.error());
    if (parts_.core.work()->size() > work_max)
        return call.refuse({ErrorCode::too_large,
                            fmt::format("more than {} jobs and services live", work_max), ""});
    const bool full = at_work_.fetch_add(1) >= most;
    Place place(at_work_);
    if (full)
        return call.refuse(
            {ErrorCode::exhausted,
             fmt::format("{} questions are being answered; ask again when they are done", most),
             ""});
    auto shared = std::make_shared<Call>(std::move(call));
    const Status started =
        errands_.start([this, shared, place = std::move(place),
                        asked = *std::move(question)](const std::stop_token& stop) mutable {
            auto rows = parts_.reader.rows();
            if (!rows) return shared->refuse(rows.error());
            auto answer = whatif::foresee(*std::move(rows), asked, bounds_of(parts_, stop),
                                          {.may_see = sight_of(*shared)});
            if (!answer) return shared->refuse(answer.error());
            shared->answer(codec::render_foresight(*answer));
        });
    if (!started) shared->refuse(started.error());
}

void add_foresight_routes(Router& router, Questions& questions) {
    router.add(
        {.method = "POST",
         .pattern = "/api/v1/whatif",
         .door = Door::caller,
         .handler = [&questions](Call call) { questions.ask(std::move(call)); },
         .operation = "foreseeChange",
         .summary = "What a change would do, and when what waits would start; changes nothing",
         .request_schema = "WhatIf",
         .response_schema = "Foresight"});
}

}  // namespace tandem::api
