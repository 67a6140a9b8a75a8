// SPDX-License-Identifier: Apache-2.0
// Connection: one accepted socket of a server, from its first byte to its end. Inside net/http
// only. Thread rule: respond() and start_stream() from any thread, all else on the worker's thread.
//
//            head read          body read          answered, keep-alive
//   head --1--> body --2--> handling --3--> head      1' without a body: head -> handling
//                               |--4--> streaming --5--> head
//   any --6--> lingering (refused, or the last answer): sends, then discards until the peer closes
//   --> closed any --7--> closed (broken, gone, too slow)
// Lingering is there because closing with unread bytes would make the kernel throw our last answer
// away.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http/outbox.h"
#include "net/http/parser.h"
#include "net/http/stream_state.h"
#include "net/http/worker.h"

namespace tandem::http {

class Connection final : public ResponseSink, public std::enable_shared_from_this<Connection> {
  public:
    Connection(std::shared_ptr<Worker> worker, NewSocket accepted);
    ~Connection() override;

    void respond(std::uint64_t ticket, Response response) override;
    std::shared_ptr<StreamSink> start_stream(std::uint64_t ticket, int status,
                                             Headers headers) override;

    void start();
    void begin_stop();
    void abort();
    void flush_stream();

  private:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;
    enum class Phase : std::uint8_t { head, body, handling, streaming, lingering, closed };
    enum class Fill : std::uint8_t { some, nothing, ended, broken };

    // Reading
    void arm_read();
    void on_readable();
    Fill fill();
    Fill fill_body_directly();
    Fill decrypt(std::string_view cipher);
    void on_peer_end();
    std::string_view unread() const { return std::string_view(in_).substr(in_at_); }
    void consume(std::size_t bytes);
    void advance();  // does all that can be done with what is there, then sends and waits for more
    bool step();     // one phase further; false when more bytes or an answer are needed
    bool take_head();
    void begin_body();
    bool take_body();
    void dispatch();

    // Answering
    void answer(std::uint64_t ticket, Response response);
    void begin_stream(std::uint64_t ticket, int status, const Headers& headers,
                      std::shared_ptr<StreamState> stream);
    void add_head(int status, const Headers& headers, std::optional<std::size_t> length);
    void finish_exchange();
    void refuse(Refusal refusal);
    void refuse(Response response);
    void tell_refused(int status);
    void add_stream_pieces();
    void emit(std::string_view bytes);
    void emit(std::string&& bytes);
    void flush();
    void after_flush();

    // Time
    void update_deadline();
    Time phase_deadline() const;
    void wait_until(Time at);
    void on_timer();

    std::shared_ptr<Worker> worker_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer timer_;
    std::unique_ptr<TlsSession> tls_;
    std::string peer_;
    bool over_unix_socket_ = false;
    bool one_too_many_ = false;

    Phase phase_ = Phase::head;
    std::uint64_t ticket_ = 0;
    std::optional<RequestParser> parser_;
    std::string request_id_;
    std::int64_t body_max_ = 0;
    bool keep_alive_ = true;
    bool http_11_ = true;
    bool answers_head_request_ = false;
    std::shared_ptr<StreamState> stream_;

    std::string in_;
    std::size_t in_at_ = 0;
    Outbox out_;
    bool advancing_ = false;
    bool reading_ = false;  // a read wait is pending
    bool writing_ = false;
    bool peer_ended_ = false;
    bool stopping_ = false;
    bool shut_ = false;

    Time phase_at_{};     // start of idle, body or lingering
    Time head_at_{};      // first byte of a head
    Time progress_at_{};  // of sending
    Time timer_at_ = Time::max();
    Time deadline_ = Time::max();
};

}  // namespace tandem::http
