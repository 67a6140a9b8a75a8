// SPDX-License-Identifier: Apache-2.0
// UpstreamConnection: one connection to one endpoint, used by one call at a time; private part of the pool.
//
//   connecting ─1─▶ waiting ─2─▶ reading ─3─▶ idle ─4─▶ waiting ...      any ─5─▶ closed
//   1 connected (sending starts)   2 response head complete   3 response complete and the connection may be kept
//   4 the next call   5 failure, abort, idle too long, or not to be kept
#pragma once

#include <string>

#include "net/relay/body.h"
#include "net/relay/upstream.h"

namespace tandem::relay {

class UpstreamConnection final : public Watcher {
  public:
    UpstreamConnection(UpstreamPool& pool, const Endpoint& endpoint);

    const Endpoint& endpoint() const { return endpoint_; }
    // Takes over a call. A connection without socket (connect failed at once) fails it in the next round.
    void begin(const RequestPieces& request, const CallTimeouts& timeouts, ResponseSink& sink);
    void pause() { paused_ = true; }
    void resume();
    void abort();

    void on_events(std::uint32_t events) override;
    void on_flush() override;

  private:
    enum class State : std::uint8_t { connecting, waiting, reading, idle, closed };

    void on_connected();
    void write_request();
    void read_all();
    bool take_bytes(std::string_view bytes);
    std::size_t consume_head(std::string_view bytes);
    bool begin_body(std::string_view head_bytes);
    std::size_t consume_body(std::string_view bytes);
    void complete(bool clean);
    void peer_closed();
    void fail_call(UpstreamFailure failure);
    void send_again();
    void close();
    void on_timer();
    void arm_next(Duration phase);

    UpstreamPool& pool_;
    Endpoint endpoint_;
    Fd socket_;
    State state_ = State::connecting;
    bool readable_ = false;
    bool peer_done_ = false;  // it will send nothing more
    bool writable_ = false;
    bool paused_ = false;
    bool reused_ = false;
    bool any_byte_ = false;
    bool keep_alive_ = false;
    ResponseSink* sink_ = nullptr;
    RequestPieces request_{};
    std::size_t request_left_ = 0;
    CallTimeouts timeouts_{};
    std::int64_t total_deadline_ = 0;
    HeadScanner scanner_;
    BodyDecoder body_;
    std::string early_;
    Timer timer_;
};

}  // namespace tandem::relay
