// SPDX-License-Identifier: Apache-2.0
// A completion until it is at a replica: read, checked, admitted, placed or held.
#include "gateway/completion.h"

#include <algorithm>

#include <fmt/format.h>

namespace tandem::gateway {

Completion::Completion(Lane& lane, relay::Exchange& exchange, CompletionStart start)
    : lane_(lane),
      exchange_(exchange),
      start_(std::move(start)),
      state_(lane.commons.options.attempts_max),
      timer_([this] { on_timer(); }) {}

Completion::~Completion() {
    lane_.commons.buffered_bytes.fetch_sub(static_cast<std::int64_t>(body_.size()),
                                           std::memory_order_relaxed);
}

void Completion::on_body(std::string_view piece) {
    if (settled_) return;
    auto& buffered = lane_.commons.buffered_bytes;
    const auto size = static_cast<std::int64_t>(piece.size());
    const auto sum = buffered.fetch_add(size, std::memory_order_relaxed) + size;
    body_.append(piece);
    scan_.feed(piece);
    if (sum > lane_.commons.options.buffered_bytes_max)
        refuse(unavailable("Too many large requests at once.", busy_retry));
}

void Completion::on_body_end() {
    if (settled_) return;
    begun_us_ = lane_.loop.now_us();
    if (auto wrong = check_request()) return refuse(std::move(*wrong));
    admit();
}

std::optional<ApiError> Completion::check_request() {
    ApiError error{.status = 400, .type = "invalid_request_error", .code = "invalid_value"};
    if (!scan_.finish()) {
        error.param = std::string(scan_.error_field());
        error.message = error.param.empty()
                            ? "The body is not valid JSON: " + std::string(scan_.error()) + "."
                            : "`" + error.param + "` " + std::string(scan_.error()) + ".";
        return error;
    }
    if (scan_.choices() < 1 || scan_.choices() > lane_.commons.options.choices_max) {
        error.param = "n";
        error.message = fmt::format("`n` must be 1..{}.", lane_.commons.options.choices_max);
        return error;
    }
    service_ = start_.routes->find_service(*start_.key, scan_.model());
    if (!service_) return model_not_found(scan_.model());
    if (tells_usage_per_choice() && !scan_.stream() && start_.endpoint->counts) {
        error.param = scan_.choices() > 1 ? "n" : "prompt";
        error.message = fmt::format(
            "`{}` must ask for one choice, or `stream` be true: of several choices in a whole answer "
            "this model's engine tells the tokens of one only.",
            error.param);
        return error;
    }
    if (!lane_.commons.journal.healthy())
        return unavailable("Usage can't be recorded at the moment.", seconds(5));
    return std::nullopt;
}

void Completion::admit() {
    const auto& key = *start_.key;
    const auto result = lane_.commons.leases.admit(
        key.key_id, {.rate = key.requests_per_minute, .concurrency = key.concurrency}, lane_.now());
    switch (result.outcome) {
        case traffic::Admission::admitted:
            admitted_ = true;
            timer_.cancel();
            open_ = lane_.commons.journal.begin(facts(), prompt_guess());
            if (!open_)
                return refuse(unavailable("Usage can't be recorded at the moment.", seconds(5)));
            return place();
        case traffic::Admission::no_lease:
            if (!asked_lease_) arm(lane_.commons.options.lease_wait_max);
            asked_lease_ = true;
            parked_ = make_parked();
            return lane_.commons.leases.park(parked_);
        case traffic::Admission::rate_spent:
            return refuse(
                {.status = 429,
                 .type = "requests",
                 .code = "rate_limit_exceeded",
                 .message = fmt::format("This key may make {} requests a minute here, and has.",
                                        result.limit),
                 .retry_after = std::max(result.retry_after, seconds(1))});
        case traffic::Admission::busy:
            return refuse(
                {.status = 429,
                 .type = "requests",
                 .code = "rate_limit_exceeded",
                 .message = fmt::format("This key may have {} requests in flight here, and has.",
                                        result.limit),
                 .retry_after = busy_retry});
    }
}

std::shared_ptr<Parked> Completion::make_parked() {
    auto& dispatcher = lane_.commons.dispatcher;
    return std::make_shared<Parked>(lane_.loop, *this, tried_,
                                    [&dispatcher, service = service_->facts.uid](const Told& told) {
                                        if (told.replica)
                                            dispatcher.release(service, told.replica->facts.uid);
                                    });
}

void Completion::place() {
    auto place = lane_.commons.dispatcher.place(
        service_->facts.uid, {.tried = tried_,
                              .waits_for_new = replica_lost_,
                              .make_parked = [this] { return parked_ = make_parked(); }});
    switch (place.outcome) {
        case PlaceOutcome::placed:
            suspect_ = place.suspect;
            return attempt(std::move(place.replica));
        case PlaceOutcome::held:
            return arm(lane_.commons.options.hold_max);
        case PlaceOutcome::failing:
            return refuse(failing(place.service->facts, lane_.now()));
        case PlaceOutcome::full:
            return refuse({.status = 429,
                           .type = "requests",
                           .code = "queue_full",
                           .message = "Too many requests wait for this model.",
                           .retry_after = seconds(5)});
        case PlaceOutcome::exhausted:
            return refuse(last_failure_);
        case PlaceOutcome::gone:
            return refuse(model_not_found(scan_.model()));
    }
}

void Completion::on_told(const Told& told) {
    parked_.reset();
    switch (told.what) {
        case Told::What::leases_changed:
            return admit();
        case Told::What::service_gone:
            timer_.cancel();
            return refuse(model_not_found(scan_.model()));
        case Told::What::service_failing:
            timer_.cancel();
            return refuse(failing(told.service->facts, lane_.now()));
        case Told::What::replica:
            timer_.cancel();
            suspect_ = true;  // not known: a good answer says so
            return attempt(told.replica);
    }
}

void Completion::on_timer() {
    if (settled_) return;
    if (state_.phase() == traffic::RelayState::Phase::preamble && kind_ == Kind::stream)
        return commit_stream();
    leave_queues();
    if (!admitted_)
        return refuse(
            unavailable("The limits of this key can't be checked at the moment.", seconds(2)));
    refuse(unavailable("No replica of this model became ready in time.", seconds(10)));
}

void Completion::leave_queues() {
    if (!parked_) return;
    parked_->leave();
    lane_.commons.leases.withdraw(*parked_);
    if (service_) lane_.commons.dispatcher.withdraw(service_->facts.uid, *parked_);
    parked_.reset();
}

}  // namespace tandem::gateway
