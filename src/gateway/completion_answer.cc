// SPDX-License-Identifier: Apache-2.0
// What the caller of a completion gets, and what is written down of it at its end.
#include <fmt/format.h>

#include "gateway/completion.h"

namespace tandem::gateway {

std::string Completion::common_headers() const {
    return "X-Request-Id: " + start_.request_id + "\r\n";
}

void Completion::commit() {
    state_.commit();
    first_us_ = lane_.loop.now_us();
    exchange_.start(
        {.status = 200, .headers = common_headers(), .content_length = upstream_length_});
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
        if (!meter_->done())
            return try_again_or(upstream_failed(relay::UpstreamFailure::closed_early));
        commit_stream();
    }
    if (!meter_->done()) return break_stream(upstream_failed(relay::UpstreamFailure::closed_early));
    complete();
}

// After the commit an error can only be an event; without [DONE] every SDK raises it.
void Completion::break_stream(const ApiError& error) {
    state_.fail();
    if (!meter_->error_seen()) exchange_.send(render_error_event(error, start_.endpoint->dialect));
    settle(200, true);
    exchange_.finish();
}

void Completion::refuse(ApiError error) {
    leave_queues();
    call_.abort();
    if (!state_.over()) state_.fail();
    settle(error.status, false);
    answer_error(exchange_, start_.request_id, error, start_.endpoint->dialect);
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

void Completion::settle(int status, bool aborted) {
    settled_ = true;
    timer_.cancel();
    if (!service_) return lane_.meters.count_refused(status);
    auto row = make_row(status, aborted);
    RequestMarks marks{
        .status = status,
        .ttft_seconds = first_us_ ? static_cast<double>(first_us_ - begun_us_) / 1e6 : -1,
        .total_seconds = static_cast<double>(lane_.loop.now_us() - begun_us_) / 1e6,
        .prompt_tokens = row.prompt_tokens,
        .cached_tokens = row.cached_tokens,
        .completion_tokens = row.completion_tokens};
    lane_.meters.count(service_->facts.public_name, marks);
    release_replica();
    if (!admitted_) return;
    lane_.commons.leases.release(start_.key->key_id);
    lane_.commons.journal.append(std::move(row), open_);
}

CallFacts Completion::facts() const {
    const auto& service = service_->facts;
    return {.request_id = start_.request_id,
            .key_id = start_.key->key_id,
            .subject = start_.key->subject,
            .project = service.project,
            .name_space = service.name_space,
            .service = service.name,
            .at = lane_.now(),
            .streamed = scan_.stream()};
}

model::RequestUsage Completion::make_row(int status, bool aborted) {
    const auto& service = service_->facts;
    model::RequestUsage row{.request_id = start_.request_id,
                            .at = lane_.now(),
                            .key_id = start_.key->key_id,
                            .subject = start_.key->subject,
                            .project = service.project,
                            .name_space = service.name_space,
                            .service = service.name,
                            .service_uid = service.uid,
                            .streamed = scan_.stream()};
    if (replica_) {
        row.model_version = replica_->facts.model_version;
        row.replica = replica_->facts.name;
    }
    row.status = status;
    row.ttft_ms = first_us_ ? (first_us_ - begun_us_) / 1000 : 0;
    row.total_ms = begun_us_ ? (lane_.loop.now_us() - begun_us_) / 1000 : 0;
    row.aborted = aborted;
    // A request that an engine refused, or that none has, costs nothing.
    if (replica_ && kind_ != Kind::error) count_tokens(row);
    return row;
}

void Completion::count_tokens(model::RequestUsage& row) {
    if (!start_.endpoint->counts) return;
    const auto& told = meter_    ? meter_->usage()
                       : answer_ ? answer_->usage()
                                 : std::optional<traffic::TokenUsage>{};
    if (told) {
        row.prompt_tokens = told->prompt;
        row.cached_tokens = told->cached;
        row.completion_tokens = told->completion;
        return;
    }
    row.completion_tokens = completion_guess();
    row.estimated = true;
    row.prompt_estimated = !(meter_ && meter_->progress());
    if (row.prompt_estimated) {
        row.prompt_tokens = prompt_guess();
    } else {
        row.prompt_tokens = meter_->progress()->prompt;
        row.cached_tokens = meter_->progress()->cached;
    }
}

// What was delivered counts: one a piece.
std::int64_t Completion::completion_guess() const {
    if (!start_.endpoint->counts) return 0;
    return meter_ ? meter_->content_frames() : (delivered_ + 3) / 4;
}

}  // namespace tandem::gateway
