// SPDX-License-Identifier: Apache-2.0
// Reading, phases and deadlines; connection_answer.cc has the answering half.
#include "net/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tandem::http {

namespace {

constexpr auto linger_max = std::chrono::seconds(2);
constexpr std::size_t out_high = 256 * 1024;   // no further pipelined request is taken above it
constexpr std::size_t in_high = 256 * 1024;    // no reading above it while nobody consumes
constexpr std::size_t direct_min = 64 * 1024;  // a body's rest this large is received in place
constexpr std::size_t direct_step = 256 * 1024;

std::chrono::milliseconds span(Duration duration) {
    return std::chrono::milliseconds(duration.ms);
}

}  // namespace

Connection::Connection(std::shared_ptr<Worker> worker, NewSocket accepted)
    : worker_(std::move(worker)),
      socket_(worker_->loop, accepted.socket.release()),
      timer_(worker_->loop),
      over_unix_socket_(accepted.over_unix_socket),
      one_too_many_(accepted.one_too_many) {
    if (accepted.tls) tls_ = std::make_unique<TlsSession>(std::move(accepted.tls));
    peer_ = over_unix_socket_ ? "unix" : peer_of(socket_.native_handle());
    if (!over_unix_socket_) {
        int on = 1;
        ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
}

Connection::~Connection() = default;

void Connection::start() {
    phase_at_ = progress_at_ = Clock::now();
    if (one_too_many_) {
        worker_->core->refused.fetch_add(1, std::memory_order_relaxed);
        refuse(
            problem(503, "too many connections; try again later", name_of(ErrorCode::unavailable)));
    }
    // The first bytes often are there already, so ask once before waiting.
    on_readable();
}

void Connection::arm_read() {
    if (reading_ || phase_ == Phase::closed || phase_ == Phase::handling || peer_ended_) return;
    if (unread().size() >= in_high) return;
    if (phase_ == Phase::head && out_.size() > out_high) return;
    reading_ = true;
    socket_.async_wait(socket_.wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->reading_ = false;
                           if (!error && self->phase_ != Phase::closed) self->on_readable();
                       });
}

void Connection::on_readable() {
    Fill got = fill();
    if (got == Fill::broken) return abort();
    if (got == Fill::some && phase_ == Phase::head && !head_at_.time_since_epoch().count())
        head_at_ = Clock::now();
    if (got == Fill::ended) peer_ended_ = true;
    advance();
}

Connection::Fill Connection::fill() {
    if (phase_ == Phase::body && !tls_ && unread().empty() && !parser_->framing.chunked) {
        auto left = static_cast<std::size_t>(parser_->framing.content_length) -
                    parser_->request.body.size();
        if (left >= direct_min) return fill_body_directly();
    }
    auto& buffer = worker_->buffer;
    ssize_t got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0) return Fill::ended;
    if (got < 0) return errno == EAGAIN || errno == EINTR ? Fill::nothing : Fill::broken;
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (tls_) return decrypt(bytes);
    if (phase_ == Phase::lingering) return Fill::some;  // discarded
    in_ += bytes;
    return Fill::some;
}

// Without a second copy and without zeroing: an upload's bytes go from the kernel to where they
// stay.
Connection::Fill Connection::fill_body_directly() {
    std::string& body = parser_->request.body;
    std::size_t left = static_cast<std::size_t>(parser_->framing.content_length) - body.size();
    std::size_t have = body.size();
    ssize_t got = 0;
    body.resize_and_overwrite(
        have + std::min(left, direct_step), [&](char* data, std::size_t size) {
            got = ::recv(socket_.native_handle(), data + have, size - have, MSG_DONTWAIT);
            return have + (got > 0 ? static_cast<std::size_t>(got) : 0);
        });
    if (got > 0) return Fill::some;
    if (got == 0) return Fill::ended;
    return errno == EAGAIN || errno == EINTR ? Fill::nothing : Fill::broken;
}

Connection::Fill Connection::decrypt(std::string_view cipher) {
    std::string discarded;
    Status status = tls_->receive(cipher, phase_ == Phase::lingering ? discarded : in_);
    if (!status) {
        out_.add(tls_->take_output());  // the alert that says why
        out_.send(socket_.native_handle());
        return Fill::broken;
    }
    return tls_->peer_closed() ? Fill::ended : Fill::some;
}

void Connection::consume(std::size_t bytes) {
    in_at_ += bytes;
    if (in_at_ < in_.size()) return;
    in_at_ = 0;
    in_.clear();
    if (in_.capacity() > 64 * 1024) in_.shrink_to_fit();
}

void Connection::advance() {
    if (advancing_ || phase_ == Phase::closed) return;
    advancing_ = true;
    auto self = shared_from_this();  // a handler may drop the last other reference
    do {
        while (step()) {
        }
        if (in_at_ > 0) in_.erase(0, std::exchange(in_at_, 0));
        flush();
    } while (phase_ == Phase::head && !unread().empty() && out_.size() <= out_high && step());
    advancing_ = false;
    if (phase_ == Phase::closed) return;
    if (peer_ended_) on_peer_end();
    if (phase_ == Phase::closed) return;
    arm_read();
    update_deadline();
}

bool Connection::step() {
    switch (phase_) {
        case Phase::head:
            return out_.size() <= out_high && take_head();
        case Phase::body:
            return take_body();
        case Phase::lingering:
            consume(unread().size());
            return false;
        default:
            return false;
    }
}

void Connection::on_peer_end() {
    // A half-closed peer still gets the answers it waits for; a stream's peer that ends is gone.
    if (phase_ == Phase::handling) return;
    if (phase_ == Phase::head && !out_.empty()) return;
    if (phase_ == Phase::lingering && !out_.empty()) return;
    abort();
}

bool Connection::take_head() {
    if (unread().empty()) return false;
    if (!parser_) parser_.emplace();
    auto head = parser_->take_head(unread(), worker_->core->limits);
    answers_head_request_ = parser_->request.method == "HEAD";
    if (!head) {
        http_11_ = true;
        refuse(std::move(head).error());
        return false;
    }
    if (!*head) return false;
    consume(**head);
    Request& request = parser_->request;
    request.peer = peer_;
    request.over_unix_socket = over_unix_socket_;
    if (tls_) request.peer_name = tls_->peer_name();
    request_id_ = request.id;
    http_11_ = parser_->framing.http_11;
    keep_alive_ = parser_->framing.keep_alive && !stopping_;
    if (parser_->framing.has_body())
        begin_body();
    else
        dispatch();
    return true;
}

void Connection::begin_body() {
    const Framing& framing = parser_->framing;
    body_max_ = worker_->core->limits.body_max;
    if (worker_->core->body_gate) {
        BodyVerdict verdict;
        try {
            verdict = worker_->core->body_gate(parser_->request);
        } catch (...) {
            verdict.refusal =
                problem(500, "the request could not be checked", name_of(ErrorCode::internal));
        }
        if (verdict.refusal) return refuse(std::move(*verdict.refusal));
        body_max_ = verdict.body_max.value_or(body_max_);
    }
    if (framing.content_length > body_max_)
        return refuse(
            Refusal{413, "the body is larger than " + std::to_string(body_max_) + " bytes"});
    parser_->request.body.reserve(static_cast<std::size_t>(framing.content_length));
    phase_ = Phase::body;
    phase_at_ = Clock::now();
    if (framing.expects_continue && unread().empty())
        emit(std::string_view("HTTP/1.1 100 Continue\r\n\r\n"));
}

bool Connection::take_body() {
    std::string& body = parser_->request.body;
    if (parser_->framing.chunked) {
        auto used = parser_->take_chunked(unread(), body_max_);
        if (!used) {
            refuse(std::move(used).error());
            return false;
        }
        consume(*used);
        if (!parser_->chunked_done()) return false;
    } else {
        std::size_t left = static_cast<std::size_t>(parser_->framing.content_length) - body.size();
        std::string_view piece = unread().substr(0, left);
        body += piece;
        consume(piece.size());
        if (piece.size() < left) return false;
    }
    dispatch();
    return true;
}

void Connection::dispatch() {
    phase_ = Phase::handling;
    head_at_ = {};
    ++ticket_;
    Request request = std::move(parser_->request);
    parser_.reset();
    worker_->core->requests.fetch_add(1, std::memory_order_relaxed);
    try {
        worker_->core->handler(std::move(request), Responder(shared_from_this(), ticket_));
    } catch (...) {
        // The Responder has gone with the stack and so has answered 500.
    }
}

void Connection::begin_stop() {
    stopping_ = true;
    keep_alive_ = false;
    if (phase_ == Phase::streaming) {
        stream_->close();
    } else if (phase_ == Phase::head) {
        phase_ = Phase::lingering;
        phase_at_ = Clock::now();
        advance();
    }
}

void Connection::abort() {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    auto self = shared_from_this();
    boost::system::error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
    parser_.reset();
    worker_->remove(self);
    if (auto stream = std::move(stream_)) stream->end();
}

Connection::Time Connection::phase_deadline() const {
    const Limits& limits = worker_->core->limits;
    bool started = head_at_.time_since_epoch().count() != 0;
    switch (phase_) {
        case Phase::head:
            return started ? head_at_ + span(limits.header_deadline)
                           : phase_at_ + span(limits.idle_max);
        case Phase::body: {
            auto got = static_cast<std::int64_t>(parser_->request.body.size());
            auto earned = std::chrono::milliseconds(
                got * 1000 / std::max<std::int64_t>(1, limits.body_rate_min));
            return phase_at_ + span(limits.body_grace) + earned;
        }
        case Phase::lingering:
            return phase_at_ + linger_max;
        default:
            return Time::max();
    }
}

void Connection::update_deadline() {
    Time at = phase_deadline();
    if (!out_.empty())
        at = std::min(at, progress_at_ + span(worker_->core->limits.write_stall_max));
    if (!out_.empty() && phase_ == Phase::lingering)
        at = progress_at_ + span(worker_->core->limits.write_stall_max);
    wait_until(at);
}

// One timer per connection: a deadline that moves later costs nothing, the timer finds out when it
// fires.
void Connection::wait_until(Time at) {
    deadline_ = at;
    if (at >= timer_at_) return;
    timer_at_ = at;
    timer_.expires_at(at);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (!error && self->phase_ != Phase::closed) self->on_timer();
    });
}

void Connection::on_timer() {
    timer_at_ = Time::max();
    if (Clock::now() < deadline_) return wait_until(deadline_);
    bool stalled =
        !out_.empty() && Clock::now() >= progress_at_ + span(worker_->core->limits.write_stall_max);
    bool idle = phase_ == Phase::head && !head_at_.time_since_epoch().count();
    if (stalled || idle || phase_ == Phase::lingering || (tls_ && !tls_->ready())) return abort();
    if (phase_ == Phase::head)
        refuse(Refusal{408, "the request head did not arrive in time"});
    else if (phase_ == Phase::body)
        refuse(Refusal{408, "the request body arrives too slowly"});
    advance();
}

}  // namespace tandem::http
