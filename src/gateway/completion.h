// SPDX-License-Identifier: Apache-2.0
// Completion: one call of a model from its first body byte to its usage row. Lives on one loop,
// owned by its client connection.
//
//   body ─▶ scan ─▶ admit (lease) ─▶ place (replica, perhaps after being held) ─▶ attempt ─▶ relay
//   ─▶ settle
//              400/404      429/503          429/503/404            ▲    │ failed before content
//                                                                   └────┘ on another replica
// What may be done when is traffic/relay_state.h's. settle() happens exactly once for each admitted
// request, and leaves: a usage row, the lease's place, the replica's place, metrics. An admitted
// request is in the journal before anything is sent, with marks of how far it got, so that a
// gateway's death loses none. In completion.cc: until it is at a replica; completion_attempt.cc:
// there; completion_answer.cc: what the caller gets, and the end.
//
// Tokens are the engine's own numbers wherever it told them: its usage, or for a stream that broke
// off its progress over the prompt. Else, and then marked so: of the prompt a quarter of its bytes,
// of the answer one a piece of a stream, a quarter of the bytes of a whole one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/answers.h"
#include "gateway/lane.h"
#include "gateway/open_calls.h"
#include "gateway/parked.h"
#include "gateway/stream_meter.h"
#include "net/relay/exchange.h"
#include "net/relay/upstream.h"
#include "traffic/answer_scan.h"
#include "traffic/relay_state.h"
#include "traffic/request_scan.h"

namespace tandem::gateway {

inline constexpr Duration busy_retry = seconds(1);

// A path that callers use, and that of the engine; static.
struct ModelEndpoint {
    std::string_view path{};
    Dialect dialect = Dialect::openai;
    bool counts = true;  // its answers tell usage; else the call costs nothing
};

struct CompletionStart {
    const ModelEndpoint* endpoint = nullptr;
    std::string extra_headers{};  // lines that go to the engine
    std::string request_id{};
    std::shared_ptr<const RouteTable> routes{};  // keeps `key` alive
    const model::FeedKey* key = nullptr;
};

class Completion final : public relay::RequestSink,
                         public relay::ResponseSink,
                         public ParkTarget,
                         public StreamOutput {
  public:
    Completion(Lane& lane, relay::Exchange& exchange, CompletionStart start);
    ~Completion() override;

    void on_body(std::string_view piece) override;
    void on_body_end() override;
    void on_drained() override { call_.resume(); }
    void on_client_gone() override;

    void on_response(const relay::ResponseHead& head) override;
    void on_response_body(std::string_view piece) override;
    void on_response_end() override;
    void on_upstream_failed(relay::UpstreamFailure failure) override;

    void on_told(const Told& told) override;
    void on_output(std::string_view bytes) override;

  private:
    enum class Kind : std::uint8_t { none, whole, stream, error };  // of the upstream's answer

    std::optional<ApiError> check_request();
    void admit();
    void place();
    void attempt(std::shared_ptr<const ReplicaRoute> replica);
    std::shared_ptr<Parked> make_parked();
    void leave_queues();
    void release_replica();
    void try_again_or(ApiError error);
    void judge_error_body();
    void commit();
    void commit_stream();
    void end_stream();
    void break_stream(const ApiError& error);
    void refuse(ApiError error);
    void complete();
    void settle(int status, bool aborted);
    CallFacts facts() const;
    model::RequestUsage make_row(int status, bool aborted);
    void count_tokens(model::RequestUsage& row);
    std::int64_t completion_guess() const;
    std::int64_t prompt_guess() const {
        return start_.endpoint->counts ? (scan_.prompt_bytes() + 3) / 4 : 0;
    }
    bool asks_for_progress() const;
    bool tells_usage_per_choice() const;
    std::optional<traffic::Splice> splice() const;
    void mark();
    void on_timer();
    void arm(Duration after) { lane_.loop.timers().arm(timer_, lane_.loop.now_ms() + after.ms); }
    std::string common_headers() const;

    Lane& lane_;
    relay::Exchange& exchange_;
    CompletionStart start_;
    traffic::RequestScan scan_;
    traffic::RelayState state_;
    std::string body_;
    std::shared_ptr<const ServiceRoute> service_;
    std::shared_ptr<const ReplicaRoute> replica_;
    std::vector<Uid> tried_;
    std::shared_ptr<Parked> parked_;
    relay::UpstreamCall call_;
    std::string head_;
    relay::Timer timer_;
    OpenCall open_;
    bool admitted_ = false;
    bool progress_marked_ = false;
    bool settled_ = false;
    bool asked_lease_ = false;
    bool replica_lost_ = false;  // the last attempt ended as if its replica were dead
    bool suspect_ = false;       // this one was, lately
    Kind kind_ = Kind::none;
    int upstream_status_ = 0;
    std::int64_t upstream_length_ = -1;
    std::int64_t delivered_ = 0;  // bytes of a whole answer
    std::string collected_;       // preamble of a stream, or the text of an upstream's error
    std::optional<traffic::AnswerScan> answer_;
    std::optional<StreamMeter> meter_;
    ApiError last_failure_;
    std::int64_t begun_us_ = 0;
    std::int64_t first_us_ = 0;
};

}  // namespace tandem::gateway
