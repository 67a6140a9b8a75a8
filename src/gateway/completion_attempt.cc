// SPDX-License-Identifier: Apache-2.0
// A completion at a replica: the call, what comes back, and when another one is asked.
#include <algorithm>

#include <fmt/format.h>

#include "codec/document.h"
#include "gateway/completion.h"

namespace tandem::gateway {
namespace {

constexpr std::size_t collected_max = 256 * 1024;
constexpr std::string_view ask_for_progress = "\"return_progress\":true,";

}  // namespace

void Completion::attempt(std::shared_ptr<const ReplicaRoute> replica) {
    state_.attempt();
    replica_ = std::move(replica);
    tried_.push_back(replica_->facts.uid);
    kind_ = Kind::none;
    open_.sent_to(replica_->facts.model_version, replica_->facts.name);
    std::string_view body = body_;
    auto splice = this->splice();
    auto length = splice ? body.size() - splice->erased + splice->inserted.size() : body.size();
    const auto begin = asks_for_progress() ? scan_.members_at() : 0;
    if (begin) length += ask_for_progress.size();
    head_.clear();
    head_.append("POST ")
        .append(start_.endpoint->path)
        .append(" HTTP/1.1\r\n")
        .append(replica_->fixed_headers);
    head_.append(start_.extra_headers).append("X-Request-Id: ").append(start_.request_id);
    head_.append("\r\nContent-Length: ").append(std::to_string(length)).append("\r\n\r\n");
    if (begin) {  // what stands before the members goes with the head
        head_.append(body.substr(0, begin)).append(ask_for_progress);
        body.remove_prefix(begin);
        if (splice) splice->at -= begin;
    }
    relay::RequestPieces pieces{head_, body};
    if (splice)
        pieces = {head_, body.substr(0, splice->at), splice->inserted,
                  body.substr(splice->at + splice->erased)};
    call_ = lane_.pool.call(replica_->endpoint, pieces, lane_.commons.options.upstream, *this);
}

// How many tokens the prompt has is told by an engine that can, before the first of the answer: a
// caller who leaves then pays what is known.
bool Completion::asks_for_progress() const {
    return service_->facts.prompt_progress && scan_.stream() && !scan_.progress_asked() &&
           start_.endpoint->dialect == Dialect::openai;
}

// Of several choices: each its own in a stream, one of them in a whole answer.
bool Completion::tells_usage_per_choice() const {
    return service_->facts.usage_per_choice && scan_.choices() * scan_.prompts() > 1;
}

// Anthropic's streams tell usage unasked.
std::optional<traffic::Splice> Completion::splice() const {
    return start_.endpoint->dialect == Dialect::openai ? scan_.splice() : std::nullopt;
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
        meter_.emplace(
            StreamMeter::Strip{.usage = splice().has_value(), .progress = asks_for_progress()},
            *this, start_.endpoint->dialect, tells_usage_per_choice());
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
        delivered_ += static_cast<std::int64_t>(piece.size());
        exchange_.send(piece);
    } else {
        const bool good = meter_->feed(piece);
        if (!good) {
            call_.abort();
            return on_upstream_failed(relay::UpstreamFailure::malformed);
        }
        if (!state_.committed() && (meter_->content_seen() || collected_.size() > collected_max))
            commit_stream();
    }
    mark();
    if (exchange_.unsent() > relay::high_water) call_.pause();
}

void Completion::mark() {
    if (meter_ && meter_->progress() && !progress_marked_) {
        open_.prompt_told(meter_->progress()->prompt, meter_->progress()->cached);
        progress_marked_ = true;
    }
    open_.mark(state_.committed(), completion_guess(),
               first_us_ ? (first_us_ - begun_us_) / 1000 : 0,
               (lane_.loop.now_us() - begun_us_) / 1000);
}

void Completion::on_output(std::string_view bytes) {
    if (state_.committed())
        exchange_.send(bytes);
    else
        collected_.append(bytes);
}

void Completion::on_response_end() {
    call_.clear();
    if (settled_) return;
    switch (kind_) {
        case Kind::error:
            return judge_error_body();
        case Kind::stream:
            return end_stream();
        default:
            break;
    }
    if (!state_.committed()) commit();  // an empty answer
    complete();
}

void Completion::on_upstream_failed(relay::UpstreamFailure failure) {
    call_.clear();
    if (settled_) return;
    const auto error = upstream_failed(failure);
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
    open_.failed();
    progress_marked_ = false;
    if (!state_.may_retry()) return refuse(std::move(error));
    state_.retry();
    last_failure_ = std::move(error);
    place();
}

// What a model server refuses: the caller's mistakes are passed on in OpenAI's shape; being busy,
// or failing, is a reason to ask another replica.
void Completion::judge_error_body() {
    replica_lost_ = false;
    const auto parsed = codec::parse_json(collected_);
    const auto* inner = parsed ? parsed->find("error") : nullptr;
    const auto* message = inner ? inner->find("message") : nullptr;
    ApiError error{.status = upstream_status_,
                   .type = "invalid_request_error",
                   .code = "invalid_value",
                   .message = message && !message->text.empty()
                                  ? message->text
                                  : "The model server refused the request."};
    const bool busy = upstream_status_ == 429 || upstream_status_ == 503;
    if (busy) return try_again_or(unavailable("The model is busy.", busy_retry));
    const bool callers = upstream_status_ >= 400 && upstream_status_ < 500 &&
                         upstream_status_ != 401 && upstream_status_ != 403 &&
                         upstream_status_ != 404;
    if (callers || upstream_status_ == 501) {
        const auto* type = inner ? inner->find("type") : nullptr;
        if (type && type->text == "exceed_context_size_error")
            error.code = "context_length_exceeded";
        return refuse(std::move(error));
    }
    try_again_or(
        {.status = 502,
         .type = "server_error",
         .code = "upstream_error",
         .message = fmt::format("The model server failed (status {}).", upstream_status_)});
}

}  // namespace tandem::gateway
