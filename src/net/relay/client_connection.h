// SPDX-License-Identifier: Apache-2.0
// ClientConnection: one accepted connection; reads requests one after another, gives each to the Handler, writes
// its answer. Requests that arrive early (pipelining) wait, at most `early_bytes_max` of them, unread beyond that.
//
//   idle ─1─▶ head ─2─▶ exchange ─3─▶ idle | lingering | closed
//   1 first byte   2 head complete and accepted   3 answer finished and sent; lingering: the answer went out before
//   the request was read: the rest is thrown away for a moment so that the close does not destroy the answer
#pragma once

#include <memory>
#include <string>

#include "base/time.h"
#include "net/relay/body.h"
#include "net/relay/exchange.h"
#include "net/relay/outgoing.h"
#include "net/relay/tls.h"

namespace tandem::relay {

class Acceptor;

class ClientConnection final : public Watcher, public Exchange {
  public:
    ClientConnection(Acceptor& acceptor, Fd socket, Endpoint peer, std::unique_ptr<TlsSession> tls);
    ~ClientConnection() override;

    Status open();
    void close_if_idle();
    void end();  // at once, as if the client had gone

    void on_events(std::uint32_t events) override;
    void on_flush() override;

    void start(const ResponseStart& response) override;
    void send(std::string_view piece) override;
    void finish() override;
    void abort() override;
    std::size_t unsent() const override { return outgoing_.size(); }
    void pause_body() override { body_paused_ = true; }
    void resume_body() override;
    bool started() const override { return started_; }
    Loop& loop() override;
    Endpoint peer() const override { return peer_; }

  private:
    enum class State : std::uint8_t { idle, head, exchange, lingering, closed };

    void read_all();
    bool wants_bytes() const;
    void take_bytes(std::string_view bytes);
    std::size_t consume(std::string_view bytes);
    std::size_t consume_head(std::string_view bytes);
    std::size_t consume_body(std::string_view bytes);
    bool begin_exchange(std::string_view head_bytes);
    void end_request_body();
    void refuse(const Malformed& malformed);
    void after_finish();
    void run_early();
    void linger();
    void peer_gone();
    void close();
    void on_timer();
    void arm(Duration after);
    void arm_for_state();
    void queue_flush();
    void seal_chunk();

    Acceptor& acceptor_;
    Fd socket_;
    std::unique_ptr<TlsSession> tls_;  // none: plain
    Endpoint peer_;
    State state_ = State::idle;
    bool readable_ = false;
    bool writable_ = true;
    bool peer_ended_ = false;
    bool body_paused_ = false;
    bool body_done_ = false;
    bool started_ = false;
    bool finished_ = false;
    bool chunked_ = false;
    bool keep_alive_ = true;
    bool version_old_ = false;   // HTTP/1.0: no chunks
    bool flush_queued_ = false;
    bool was_full_ = false;      // the sink waits for on_drained
    bool head_only_ = false;     // HEAD: the body is left out
    static constexpr std::size_t no_chunk = static_cast<std::size_t>(-1);
    std::size_t chunk_at_ = no_chunk;  // where the chunk begins that is being gathered
    int requests_ = 0;
    std::int64_t body_since_ms_ = 0;
    std::int64_t progress_ms_ = 0;
    HeadScanner scanner_;
    BodyDecoder body_;
    std::string early_;          // read, not yet parsed
    Outgoing outgoing_;
    Timer timer_;
    std::unique_ptr<RequestSink> sink_;
};

}  // namespace tandem::relay
