// SPDX-License-Identifier: Apache-2.0
#include "net/relay/upstream_connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

#include "net/relay/outgoing.h"

namespace tandem::relay {
namespace {

constexpr int reads_per_turn = 4;

std::size_t total_size(const RequestPieces& pieces) {
    std::size_t size = 0;
    for (const auto piece : pieces) size += piece.size();
    return size;
}

}  // namespace

UpstreamConnection::UpstreamConnection(UpstreamPool& pool, const Endpoint& endpoint)
    : pool_(pool),
      endpoint_(endpoint),
      scanner_(pool.options_.head),
      timer_([this] { on_timer(); }) {
    auto socket = connect_tcp(endpoint);
    if (socket && pool_.loop_.watch(*socket, *this)) socket_ = std::move(*socket);
}

void UpstreamConnection::begin(const RequestPieces& request, const CallTimeouts& timeouts,
                               ResponseSink& sink) {
    sink_ = &sink;
    request_ = request;
    request_left_ = total_size(request);
    timeouts_ = timeouts;
    paused_ = any_byte_ = keep_alive_ = false;
    total_deadline_ = pool_.loop_.now_ms() + timeouts.total.ms;
    if (!socket_) return pool_.loop_.again(*this, event_error);
    if (state_ == State::idle) {
        reused_ = true;
        state_ = State::waiting;
        arm_next(timeouts_.first_byte);
        pool_.loop_.flush_later(*this);  // writes in this round, but not inside call()
    } else {
        arm_next(timeouts_.connect);
    }
}

void UpstreamConnection::resume() {
    if (!paused_) return;
    paused_ = false;
    arm_next(timeouts_.idle);
    pool_.loop_.again(*this, 0);
}

void UpstreamConnection::abort() {
    sink_ = nullptr;
    close();
}

void UpstreamConnection::on_flush() {
    if (state_ == State::waiting && request_left_) write_request();
}

void UpstreamConnection::on_events(std::uint32_t events) {
    if (state_ == State::closed) return;
    if (state_ == State::connecting) {
        if (!socket_ || (events & (event_error | event_hangup)))
            return fail_call(UpstreamFailure::unreachable);
        if (!(events & event_out)) return;
        on_connected();
    }
    if (events & event_out) writable_ = true;
    // Told once, and often together with the last bytes: it must not be forgotten when the call
    // ends well.
    if (events & (event_peer_done | event_hangup)) peer_done_ = true;
    if (events & (event_in | event_peer_done | event_hangup | event_error)) readable_ = true;
    if (state_ == State::idle && readable_) return close();  // nothing may come now but the end
    if (request_left_ && writable_) write_request();
    if (state_ != State::closed) read_all();
}

void UpstreamConnection::on_connected() {
    if (connect_result(socket_) != 0) return fail_call(UpstreamFailure::unreachable);
    state_ = State::waiting;
    writable_ = true;
    arm_next(timeouts_.first_byte);
}

void UpstreamConnection::write_request() {
    while (request_left_) {
        std::array<iovec, std::tuple_size_v<RequestPieces>> parts{};
        std::size_t count = 0;
        std::size_t skip = total_size(request_) - request_left_;
        for (auto piece : request_) {
            const auto skipped = std::min(skip, piece.size());
            skip -= skipped;
            piece.remove_prefix(skipped);
            if (!piece.empty())
                parts[count++] = {.iov_base = const_cast<char*>(piece.data()),
                                  .iov_len = piece.size()};
        }
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = count;
        const auto n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            writable_ = false;
            return;
        }
        if (n <= 0) {
            readable_ = true;  // an answer may have come before the reset: read it first
            return pool_.loop_.again(*this, event_in);
        }
        request_left_ -= static_cast<std::size_t>(n);
    }
}

void UpstreamConnection::read_all() {
    auto scratch = pool_.loop_.scratch();
    for (int turn = 0;
         readable_ && !paused_ && (state_ == State::waiting || state_ == State::reading); ++turn) {
        if (turn == reads_per_turn) return pool_.loop_.again(*this, event_in);
        const auto got = read_some(socket_, scratch.data(), scratch.size());
        if (got.ended || got.broken) return peer_closed();
        if (got.drained) readable_ = false;
        if (got.bytes == 0) return;
        any_byte_ = true;
        if (state_ == State::reading) arm_next(timeouts_.idle);
        if (!take_bytes({scratch.data(), got.bytes})) return;
    }
}

// False when the connection is no longer in a call.
bool UpstreamConnection::take_bytes(std::string_view bytes) {
    std::string held;
    if (!early_.empty()) {
        early_.append(bytes);
        held = std::exchange(early_, {});
        bytes = held;
    }
    while (!bytes.empty()) {
        const auto used = state_ == State::waiting ? consume_head(bytes) : consume_body(bytes);
        if (used == 0) break;
        bytes.remove_prefix(used);
        if (state_ == State::closed) return false;  // failed or aborted by the sink
        if (state_ == State::reading && body_.done()) {
            complete(
                bytes.empty());  // bytes that no one asked for: not to be trusted with a next call
            return false;
        }
    }
    if (state_ == State::waiting) early_.assign(bytes);
    return state_ != State::closed;
}

std::size_t UpstreamConnection::consume_head(std::string_view bytes) {
    const auto size = scanner_.scan(bytes);
    if (!size) {
        fail_call(UpstreamFailure::malformed);
        return 0;
    }
    if (*size == 0) return 0;
    scanner_.reset();
    return begin_body(bytes.substr(0, *size)) ? *size : 0;
}

bool UpstreamConnection::begin_body(std::string_view head_bytes) {
    ResponseHead& head = pool_.head_;
    if (!parse_response_head(head_bytes, pool_.options_.head, head) || head.status == 101) {
        fail_call(UpstreamFailure::malformed);
        return false;
    }
    if (head.status < 200) return true;  // interim: the real one follows
    state_ = State::reading;
    keep_alive_ = head.keep_alive;
    body_ = BodyDecoder(head, {});
    arm_next(timeouts_.idle);
    sink_->on_response(head);
    return true;
}

std::size_t UpstreamConnection::consume_body(std::string_view bytes) {
    const auto step = body_.feed(bytes);
    if (!step) {
        fail_call(UpstreamFailure::malformed);
        return 0;
    }
    if (!step->piece.empty()) sink_->on_response_body(step->piece);
    return step->consumed;
}

void UpstreamConnection::complete(bool clean) {
    ResponseSink* sink = std::exchange(sink_, nullptr);
    timer_.cancel();
    const bool keep = clean && keep_alive_ && !peer_done_ && request_left_ == 0;
    if (keep) {
        state_ = State::idle;
        paused_ = false;
        pool_.loop_.timers().arm(timer_, pool_.loop_.now_ms() + pool_.options_.keep_idle.ms);
        pool_.keep(*this);
    } else {
        close();
    }
    sink->on_response_end();
}

void UpstreamConnection::peer_closed() {
    if (state_ == State::reading && body_.close()) {
        return complete(false);
    }
    if (state_ == State::waiting && reused_ && !any_byte_) return send_again();
    fail_call(UpstreamFailure::closed_early);
}

// The server had closed the kept connection already. The call keeps its identity for the sink's
// UpstreamCall, so it is this object that gets a fresh socket.
void UpstreamConnection::send_again() {
    ++pool_.counters_.resent;
    ++pool_.counters_.connects;
    reused_ = readable_ = writable_ = peer_done_ = false;
    request_left_ = total_size(request_);
    scanner_.reset();
    socket_.reset();
    state_ = State::connecting;
    auto socket = connect_tcp(endpoint_);
    if (!socket || !pool_.loop_.watch(*socket, *this))
        return fail_call(UpstreamFailure::unreachable);
    socket_ = std::move(*socket);
    arm_next(timeouts_.connect);
}

void UpstreamConnection::fail_call(UpstreamFailure failure) {
    ResponseSink* sink = std::exchange(sink_, nullptr);
    close();
    if (sink) sink->on_upstream_failed(failure);
}

void UpstreamConnection::close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    timer_.cancel();
    socket_.reset();
    pool_.drop(*this);
}

void UpstreamConnection::arm_next(Duration phase) {
    auto& loop = pool_.loop_;
    loop.timers().arm(timer_, std::min(loop.now_ms() + phase.ms, total_deadline_));
}

void UpstreamConnection::on_timer() {
    if (state_ == State::closed) return;
    if (state_ == State::idle) return close();
    if (pool_.loop_.now_ms() >= total_deadline_) return fail_call(UpstreamFailure::total_timeout);
    if (state_ == State::connecting) return fail_call(UpstreamFailure::unreachable);
    if (state_ == State::waiting) return fail_call(UpstreamFailure::first_byte_timeout);
    if (paused_) return arm_next(timeouts_.idle);  // it is the client that is slow
    fail_call(UpstreamFailure::idle_timeout);
}

}  // namespace tandem::relay
