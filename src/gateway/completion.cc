// SPDX-License-Identifier: Apache-2.0
#include "gateway/completion.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "codec/document.h"

namespace tandem::gateway {
namespace {

constexpr std::size_t collected_max = 256 * 1024;
constexpr Duration busy_retry = seconds(1);

ApiError failure_error(relay::UpstreamFailure failure) {
    using enum relay::UpstreamFailure;
    const bool late = failure == first_byte_timeout || failure == idle_timeout || failure == total_timeout;
    return {.status = late ? 504 : 502,
            .type = "server_error",
            .code = late ? "upstream_timeout" : "upstream_error",
            .message = std::string(late ? "The model server did not answer in time ("
                                        : "The model server failed before it answered (") +
                       std::string(relay::name_of(failure)) + ")."};
}

}  // namespace

Completion::Completion(Lane& lane, relay::Exchange& exchange, CompletionStart start)
    : lane_(lane), exchange_(exchange), start_(std::move(start)),
      state_(lane.commons.options.attempts_max), timer_([this] { on_timer(); }) {}

Completion::~Completion() {
    lane_.commons.buffered_bytes.fetch_sub(static_cast<std::int64_t>(body_.size()), std::memory_order_relaxed);
}

// --- the request --------------------------------------------------------------------------------------------

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
        error.message = error.param.empty() ? "The body is not valid JSON: " + std::string(scan_.error()) + "."
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
    if (!lane_.commons.journal.healthy())
        return unavailable("Usage can't be recorded at the moment.", seconds(5));
    return std::nullopt;
}

void Completion::admit() {
    const auto& key = *start_.key;
    const auto result = lane_.commons.leases.admit(
        key.key_id, {.rate = key.requests_per_minute, .concurrency = key.concurrency}, lane_.commons.clock.now());
    switch (result.outcome) {
        case traffic::Admission::admitted:
            admitted_ = true;
            timer_.cancel();
            return place();
        case traffic::Admission::no_lease:
            if (!asked_lease_) arm(lane_.commons.options.lease_wait_max);
            asked_lease_ = true;
            parked_ = make_parked();
            return lane_.commons.leases.park(parked_);
        case traffic::Admission::rate_spent:
            return refuse({.status = 429, .type = "requests", .code = "rate_limit_exceeded",
                           .message = fmt::format("This key may make {} requests a minute here, and has.", result.limit),
                           .retry_after = std::max(result.retry_after, seconds(1))});
        case traffic::Admission::busy:
            return refuse({.status = 429, .type = "requests", .code = "rate_limit_exceeded",
                           .message = fmt::format("This key may have {} requests in flight here, and has.", result.limit),
                           .retry_after = busy_retry});
    }
}

std::shared_ptr<Parked> Completion::make_parked() {
    auto& dispatcher = lane_.commons.dispatcher;
    return std::make_shared<Parked>(
        lane_.loop, *this, tried_, [&dispatcher, service = service_->facts.uid](const Told& told) {
            if (told.replica) dispatcher.release(service, told.replica->facts.uid);
        });
}

void Completion::place() {
    auto place = lane_.commons.dispatcher.place(
        service_->facts.uid, {.tried = tried_, .waits_for_new = replica_lost_,
                              .make_parked = [this] { return parked_ = make_parked(); }});
    switch (place.outcome) {
        case PlaceOutcome::placed:
            suspect_ = place.suspect;
            return attempt(std::move(place.replica));
        case PlaceOutcome::held:
            return arm(lane_.commons.options.hold_max);
        case PlaceOutcome::full:
            return refuse({.status = 429, .type = "requests", .code = "queue_full",
                           .message = "Too many requests wait for this model.", .retry_after = seconds(5)});
        case PlaceOutcome::exhausted: return refuse(last_failure_);
        case PlaceOutcome::gone: return refuse(model_not_found(scan_.model()));
    }
}

void Completion::on_told(const Told& told) {
    parked_.reset();
    switch (told.what) {
        case Told::What::leases_changed: return admit();
        case Told::What::service_gone:
            timer_.cancel();
            return refuse(model_not_found(scan_.model()));
        case Told::What::replica:
            timer_.cancel();
            suspect_ = true;  // not known: a good answer says so
            return attempt(told.replica);
    }
}

void Completion::on_timer() {
    if (settled_) return;
    if (state_.phase() == traffic::RelayState::Phase::preamble && kind_ == Kind::stream) return commit_stream();
    leave_queues();
    if (!admitted_)
        return refuse(unavailable("The limits of this key can't be checked at the moment.", seconds(2)));
    refuse(unavailable("No replica of this model became ready in time.", seconds(10)));
}

void Completion::leave_queues() {
    if (!parked_) return;
    parked_->leave();
    lane_.commons.leases.withdraw(*parked_);
    if (service_) lane_.commons.dispatcher.withdraw(service_->facts.uid, *parked_);
    parked_.reset();
}

// --- the attempt --------------------------------------------------------------------------------------------

void Completion::attempt(std::shared_ptr<const ReplicaRoute> replica) {
    state_.attempt();
    replica_ = std::move(replica);
    tried_.push_back(replica_->facts.uid);
    kind_ = Kind::none;
    const std::string_view body = body_;
    const auto splice = scan_.splice();
    const auto length = splice ? body.size() - splice->erased + splice->inserted.size() : body.size();
    head_.clear();
    fmt::format_to(std::back_inserter(head_), "POST {} HTTP/1.1\r\n{}X-Request-Id: {}\r\nContent-Length: {}\r\n\r\n",
                   start_.path, replica_->fixed_headers, start_.request_id, length);
    relay::RequestPieces pieces{head_, body};
    if (splice)
        pieces = {head_, body.substr(0, splice->at), splice->inserted, body.substr(splice->at + splice->erased)};
    call_ = lane_.pool.call(replica_->endpoint, pieces, lane_.commons.options.upstream, *this);
}

void Completion::release_replica() {
    if (!replica_) return;
    lane_.commons.dispatcher.release(service_->facts.uid, replica_->facts.uid);
    replica_.reset();
}

void Completion::on_response(const relay::ResponseHead& head) {
    state_.answered();
    if (suspect_) lane_.commons.dispatcher.judge(service_->facts.uid, replica_->facts.uid, true);
    upstream_status_ = head.status;
    upstream_length_ = head.framing == relay::Framing::length ? head.content_length : -1;
    collected_.clear();
    const auto* type = head.find("content-type");
    if (head.status != 200) {
        kind_ = Kind::error;
    } else if (scan_.stream() && type && type->starts_with("text/event-stream")) {
        kind_ = Kind::stream;
        meter_.emplace(scan_.splice().has_value(), *this);
        arm(lane_.commons.options.commit_hold);
    } else {
        kind_ = Kind::whole;
        answer_.emplace();
    }
}

void Completion::on_response_body(std::string_view piece) {
    if (settled_) return;
    if (kind_ == Kind::error) {
        if (collected_.size() + piece.size() <= collected_max) collected_.append(piece);
        return;
    }
    if (kind_ == Kind::whole) {
        answer_->feed(piece);
        if (!state_.committed()) commit();
        exchange_.send(piece);
    } else {
        const bool good = meter_->feed(piece);
        if (!good) {
            call_.abort();
            return on_upstream_failed(relay::UpstreamFailure::malformed);
        }
        if (!state_.committed() && (meter_->content_seen() || collected_.size() > collected_max)) commit_stream();
    }
    if (exchange_.unsent() > relay::high_water) call_.pause();
}

void Completion::on_output(std::string_view bytes) {
    if (state_.committed()) exchange_.send(bytes);
    else collected_.append(bytes);
}

void Completion::on_response_end() {
    call_.clear();
    if (settled_) return;
    switch (kind_) {
        case Kind::error: return judge_error_body();
        case Kind::stream: return end_stream();
        default: break;
    }
    if (!state_.committed()) commit();  // an empty answer
    complete();
}

void Completion::on_upstream_failed(relay::UpstreamFailure failure) {
    call_.clear();
    if (settled_) return;
    const auto error = failure_error(failure);
    if (failure == relay::UpstreamFailure::unreachable)
        lane_.commons.dispatcher.judge(service_->facts.uid, replica_->facts.uid, false);
    // Dying over a request happens once by chance; twice, it is the request that kills.
    replica_lost_ = failure == relay::UpstreamFailure::unreachable ||
                    (failure == relay::UpstreamFailure::closed_early && state_.attempts() == 1);
    if (!state_.committed()) return try_again_or(error);
    if (kind_ == Kind::stream) return break_stream(error);
    state_.fail();
    settle(200, true);
    exchange_.abort();
}

void Completion::try_again_or(ApiError error) {
    release_replica();
    timer_.cancel();
    meter_.reset();
    answer_.reset();
    if (!state_.may_retry()) return refuse(std::move(error));
    state_.retry();
    last_failure_ = std::move(error);
    place();
}

// What a model server refuses: the caller's mistakes are passed on in OpenAI's shape; being busy, or failing, is
// a reason to ask another replica.
void Completion::judge_error_body() {
    replica_lost_ = false;
    const auto parsed = codec::parse_json(collected_);
    const auto* inner = parsed ? parsed->find("error") : nullptr;
    const auto* message = inner ? inner->find("message") : nullptr;
    ApiError error{.status = upstream_status_, .type = "invalid_request_error", .code = "invalid_value",
                   .message = message && !message->text.empty() ? message->text
                                                                : "The model server refused the request."};
    const bool busy = upstream_status_ == 429 || upstream_status_ == 503;
    if (busy) return try_again_or(unavailable("The model is busy.", busy_retry));
    const bool callers = upstream_status_ >= 400 && upstream_status_ < 500 && upstream_status_ != 401 &&
                         upstream_status_ != 403 && upstream_status_ != 404;
    if (callers || upstream_status_ == 501) {
        const auto* type = inner ? inner->find("type") : nullptr;
        if (type && type->text == "exceed_context_size_error") error.code = "context_length_exceeded";
        return refuse(std::move(error));
    }
    try_again_or({.status = 502, .type = "server_error", .code = "upstream_error",
                  .message = fmt::format("The model server failed (status {}).", upstream_status_)});
}

// --- the answer ---------------------------------------------------------------------------------------------

std::string Completion::common_headers() const { return "X-Request-Id: " + start_.request_id + "\r\n"; }

void Completion::commit() {
    state_.commit();
    first_us_ = lane_.loop.now_us();
    exchange_.start({.status = 200, .headers = common_headers(), .content_length = upstream_length_});
}

void Completion::commit_stream() {
    timer_.cancel();
    state_.commit();
    if (meter_->content_seen()) first_us_ = lane_.loop.now_us();
    const auto headers = common_headers() + "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
    exchange_.start({.status = 200, .content_type = "text/event-stream", .headers = headers});
    exchange_.send(collected_);
    collected_.clear();
}

void Completion::end_stream() {
    meter_->finish();
    if (!state_.committed()) {
        replica_lost_ = false;  // it ended its answer in good order, only without content
        if (!meter_->done()) return try_again_or(failure_error(relay::UpstreamFailure::closed_early));
        commit_stream();
    }
    if (!meter_->done()) return break_stream(failure_error(relay::UpstreamFailure::closed_early));
    complete();
}

// After the commit an error can only be an event; without [DONE] every SDK raises it.
void Completion::break_stream(const ApiError& error) {
    state_.fail();
    if (!meter_->error_seen()) exchange_.send("data: " + render_error(error) + "\n\n");
    settle(200, true);
    exchange_.finish();
}

void Completion::refuse(ApiError error) {
    leave_queues();
    call_.abort();
    if (!state_.over()) state_.fail();
    settle(error.status, false);
    answer_error(exchange_, start_.request_id, error);
}

void Completion::complete() {
    state_.complete();
    settle(200, false);
    exchange_.finish();
}

void Completion::on_client_gone() {
    if (settled_) return;
    leave_queues();
    call_.abort();  // the engine stops working for nobody
    const bool seen = state_.committed();
    if (!state_.over()) state_.client_left();
    settle(seen ? 200 : 499, true);
}

// --- the end ------------------------------------------------------------------------------------------------

void Completion::settle(int status, bool aborted) {
    settled_ = true;
    timer_.cancel();
    if (!service_) return lane_.meters.count_refused(status);
    auto row = make_row(status, aborted);
    RequestMarks marks{.status = status,
                       .ttft_seconds = first_us_ ? static_cast<double>(first_us_ - begun_us_) / 1e6 : -1,
                       .total_seconds = static_cast<double>(lane_.loop.now_us() - begun_us_) / 1e6,
                       .prompt_tokens = row.prompt_tokens,
                       .cached_tokens = row.cached_tokens,
                       .completion_tokens = row.completion_tokens};
    lane_.meters.count(service_->facts.public_name, marks);
    release_replica();
    if (!admitted_) return;
    lane_.commons.leases.release(start_.key->key_id);
    lane_.commons.journal.append(std::move(row));
}

model::RequestUsage Completion::make_row(int status, bool aborted) {
    const auto& service = service_->facts;
    model::RequestUsage row{.request_id = start_.request_id,
                            .at = lane_.commons.clock.now(),
                            .key_id = start_.key->key_id,
                            .subject = start_.key->subject,
                            .project = service.project,
                            .name_space = service.name_space,
                            .service = service.name};
    if (replica_) {
        row.model_version = replica_->facts.model_version;
        row.replica = replica_->facts.name;
    }
    row.status = status;
    row.ttft_ms = first_us_ ? (first_us_ - begun_us_) / 1000 : 0;
    row.total_ms = begun_us_ ? (lane_.loop.now_us() - begun_us_) / 1000 : 0;
    row.streamed = scan_.stream();
    row.aborted = aborted;
    const auto& told = meter_ ? meter_->usage() : answer_ ? answer_->usage() : std::optional<traffic::TokenUsage>{};
    if (told) {
        row.prompt_tokens = told->prompt;
        row.cached_tokens = told->cached;
        row.completion_tokens = told->completion;
    } else if (state_.phase() != traffic::RelayState::Phase::waiting && (meter_ || answer_)) {
        // The engine never said: what was delivered counts, an event a token. No content, no cost.
        row.completion_tokens = meter_ ? meter_->content_frames() : 0;
        row.estimated = true;
    }
    return row;
}

}  // namespace tandem::gateway
