// SPDX-License-Identifier: Apache-2.0
#include "net/relay/client_connection.h"

#include <charconv>
#include <cstring>

#include <sys/socket.h>

#include "base/assert.h"
#include "net/relay/acceptor.h"

namespace tandem::relay {
namespace {

constexpr std::size_t early_bytes_max = 64 * 1024;
constexpr int reads_per_turn = 4;  // 256 KiB, then others get a turn
constexpr Duration linger_for = seconds(2);
constexpr std::size_t chunk_head = 18;  // as many hex digits as a size can have, CR LF

void append_number(std::string& out, std::int64_t value, int base) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value, base).ptr);
}

}  // namespace

ClientConnection::ClientConnection(Acceptor& acceptor, Fd socket, Endpoint peer,
                                   std::unique_ptr<TlsSession> tls)
    : acceptor_(acceptor),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      peer_(peer),
      scanner_(acceptor.limits().head),
      timer_([this] { on_timer(); }) {}

ClientConnection::~ClientConnection() = default;

Loop& ClientConnection::loop() {
    return acceptor_.loop();
}

Status ClientConnection::open() {
    arm(acceptor_.limits().head_timeout);
    return loop().watch(socket_, *this);
}

void ClientConnection::end() {
    peer_gone();
}

void ClientConnection::close_if_idle() {
    if (state_ == State::idle || state_ == State::head || state_ == State::lingering)
        close();
    else
        keep_alive_ = false;
}

void ClientConnection::on_events(std::uint32_t events) {
    if (state_ == State::closed) return;
    if (events & (event_error | event_hangup)) return peer_gone();
    if (events & event_out) {
        writable_ = true;
        if (tls_) readable_ = true;  // a handshake may have waited for room to answer
        if (!outgoing_.empty()) queue_flush();
    }
    if (events & (event_in | event_peer_done)) readable_ = true;
    if (events & event_peer_done) {
        // A client that has closed its sending side while its answer is due is taken as gone:
        // browsers and SDKs that cancel look exactly so, and an engine must not work for nobody.
        peer_ended_ = true;
        if (state_ == State::exchange && (body_done_ || finished_)) return peer_gone();
    }
    read_all();
}

bool ClientConnection::wants_bytes() const {
    switch (state_) {
        case State::closed:
            return false;
        case State::exchange:
            if (body_done_ || body_paused_) return early_.size() < early_bytes_max;
            return true;
        default:
            return true;
    }
}

void ClientConnection::read_all() {
    if (!early_.empty()) run_early();
    auto scratch = loop().scratch();
    for (int turn = 0; readable_ && wants_bytes(); ++turn) {
        if (turn == reads_per_turn) return loop().again(*this, event_in);
        const auto got = tls_ ? tls_->read(scratch.data(), scratch.size())
                              : read_some(socket_, scratch.data(), scratch.size());
        if (got.broken || got.ended) return peer_gone();
        if (got.drained) readable_ = peer_ended_;  // the end itself is still to be read
        if (got.bytes == 0) return;
        take_bytes({scratch.data(), got.bytes});
    }
}

// Parses straight from the read buffer; only what can't be used yet is copied.
void ClientConnection::take_bytes(std::string_view bytes) {
    if (!early_.empty()) {
        early_.append(bytes);
        return run_early();
    }
    while (!bytes.empty()) {
        const auto used = consume(bytes);
        if (state_ == State::closed) return;
        bytes.remove_prefix(used);
        if (used == 0) break;
    }
    early_.assign(bytes);
}

void ClientConnection::run_early() {
    std::size_t done = 0;
    while (state_ != State::closed && done < early_.size()) {
        const auto used = consume(std::string_view(early_).substr(done));
        if (used == 0) break;
        done += used;
    }
    early_.erase(0, done);
}

std::size_t ClientConnection::consume(std::string_view bytes) {
    switch (state_) {
        case State::idle:
            state_ = State::head;
            arm(acceptor_.limits().head_timeout);
            return consume_head(bytes);
        case State::head:
            return consume_head(bytes);
        case State::exchange:
            if (body_done_ || (body_paused_ && !finished_)) return 0;
            return finished_ ? bytes.size() : consume_body(bytes);  // answered early: thrown away
        case State::lingering:
            return bytes.size();
        case State::closed:
            return 0;
    }
    return 0;
}

std::size_t ClientConnection::consume_head(std::string_view bytes) {
    const auto size = scanner_.scan(bytes);
    if (!size) {
        refuse(size.error());
        return 0;
    }
    if (*size == 0) return 0;
    scanner_.reset();
    if (!begin_exchange(bytes.substr(0, *size))) return 0;
    return *size;
}

bool ClientConnection::begin_exchange(std::string_view head_bytes) {
    const auto& limits = acceptor_.limits();
    RequestHead& head = acceptor_.head();
    if (auto parsed = parse_request_head(head_bytes, limits.head, head); !parsed) {
        refuse(parsed.error());
        return false;
    }
    const auto body_max = acceptor_.handler().body_bytes_max(head);
    if (head.framing == Framing::length && head.content_length > body_max) {
        refuse({413, "the body is too large"});
        return false;
    }
    body_ = BodyDecoder(head, {.bytes_max = body_max,
                               .chunks_max = limits.chunks_max,
                               .average_chunk_min = limits.average_chunk_min});
    version_old_ = head.version_minor == 0;
    head_only_ = head.method == "HEAD";
    keep_alive_ =
        head.keep_alive && ++requests_ < limits.requests_per_connection && !acceptor_.closing();
    state_ = State::exchange;
    started_ = finished_ = was_full_ = body_paused_ = false;
    body_done_ = body_.done();
    body_since_ms_ = loop().now_ms();
    const bool ask_for_body = head.expects_continue && !body_done_;
    timer_.cancel();
    if (!body_done_) arm(limits.body_grace);
    auto sink = acceptor_.handler().on_request(head, *this);
    if (state_ == State::closed || finished_) return true;
    sink_ = std::move(sink);
    TANDEM_ASSERT(sink_, "a request without an answer needs a sink");
    if (ask_for_body && !started_) {
        outgoing_.append("HTTP/1.1 100 Continue\r\n\r\n");
        queue_flush();
    }
    if (body_done_) sink_->on_body_end();
    return true;
}

std::size_t ClientConnection::consume_body(std::string_view bytes) {
    const auto step = body_.feed(bytes);
    if (!step) {
        if (started_) {
            peer_gone();
        } else {
            if (sink_) {
                sink_->on_client_gone();
                sink_.reset();
            }
            refuse(step.error());
        }
        return 0;
    }
    if (!step->piece.empty() && sink_) sink_->on_body(step->piece);
    if (state_ == State::exchange && !body_done_ && body_.done()) end_request_body();
    return step->consumed;
}

void ClientConnection::end_request_body() {
    body_done_ = true;
    timer_.cancel();
    if (sink_ && !finished_) sink_->on_body_end();
}

void ClientConnection::resume_body() {
    if (!body_paused_) return;
    body_paused_ = false;
    loop().again(*this, readable_ ? event_in : 0);  // not from inside the sink's own call
}

void ClientConnection::start(const ResponseStart& response) {
    TANDEM_ASSERT(state_ == State::exchange && !started_, "an answer starts once");
    started_ = true;
    const bool sized = response.content_length >= 0;
    chunked_ = !sized && !version_old_;
    if (!body_done_ || (!sized && version_old_)) keep_alive_ = false;
    auto& out = outgoing_.tail();
    out.append("HTTP/1.1 ");
    append_number(out, response.status, 10);
    out.append(" ").append(reason_phrase(response.status)).append("\r\nContent-Type: ");
    out.append(response.content_type).append("\r\n").append(response.headers);
    if (sized) {
        out.append("Content-Length: ");
        append_number(out, response.content_length, 10);
        out.append("\r\n");
    }
    if (chunked_) out.append("Transfer-Encoding: chunked\r\n");
    if (!keep_alive_)
        out.append("Connection: close\r\n");
    else if (version_old_)
        out.append("Connection: keep-alive\r\n");
    out.append("\r\n");
    queue_flush();
}

void ClientConnection::send(std::string_view piece) {
    TANDEM_ASSERT(started_ && !finished_, "a piece belongs between start and finish");
    if (piece.empty() || head_only_) return;
    auto& out = outgoing_.tail();
    if (chunked_ && chunk_at_ == no_chunk) {
        chunk_at_ = out.size();
        out.append(chunk_head, '0');
    }
    out.append(piece);
    if (outgoing_.size() > high_water) was_full_ = true;
    queue_flush();
}

void ClientConnection::finish() {
    if (state_ != State::exchange || finished_) return;
    TANDEM_ASSERT(started_, "an answer starts before it finishes");
    finished_ = true;
    seal_chunk();
    if (chunked_ && !head_only_) outgoing_.append("0\r\n\r\n");
    queue_flush();
}

// What was sent since the last flush becomes one chunk: its size is known only now, and goes into
// the room kept for it.
void ClientConnection::seal_chunk() {
    if (chunk_at_ == no_chunk) return;
    auto& out = outgoing_.tail();
    char head[24];
    auto* end =
        std::to_chars(head, head + sizeof head, out.size() - chunk_at_ - chunk_head, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    const auto size = static_cast<std::size_t>(end - head);
    out.erase(chunk_at_, chunk_head - size);
    std::memcpy(out.data() + chunk_at_, head, size);
    out.append("\r\n");
    chunk_at_ = no_chunk;
}

void ClientConnection::abort() {
    if (state_ == State::exchange) close();
}

void ClientConnection::queue_flush() {
    if (flush_queued_) return;
    flush_queued_ = true;
    loop().flush_later(*this);
}

void ClientConnection::on_flush() {
    flush_queued_ = false;
    if (state_ == State::closed) return;
    seal_chunk();
    const auto before = outgoing_.size();
    const auto io = writable_ ? outgoing_.flush(socket_, tls_.get()) : IoState::blocked;
    if (io == IoState::broken) return peer_gone();
    if (outgoing_.size() < before) progress_ms_ = loop().now_ms();
    if (io == IoState::blocked) {
        writable_ = false;
        if (before && !timer_.armed()) {
            progress_ms_ = loop().now_ms();
            arm(acceptor_.limits().stall);
        }
    }
    if (was_full_ && outgoing_.size() <= low_water && sink_ && !finished_) {
        was_full_ = false;
        sink_->on_drained();
    }
    if (state_ == State::exchange && finished_ && outgoing_.empty()) after_finish();
}

void ClientConnection::after_finish() {
    sink_.reset();
    if (!keep_alive_) return body_done_ ? close() : linger();
    state_ = State::idle;
    arm(acceptor_.limits().idle_timeout);
    if (peer_ended_) return close();
    if (!early_.empty()) run_early();
    if (readable_ && state_ != State::closed) loop().again(*this, event_in);
}

void ClientConnection::refuse(const Malformed& malformed) {
    acceptor_.counters().malformed.fetch_add(1, std::memory_order_relaxed);
    state_ = State::exchange;
    body_done_ = started_ = finished_ = head_only_ = false;
    keep_alive_ = false;
    Handler& handler = acceptor_.handler();
    const auto headers = handler.refusal_headers();
    respond({.status = malformed.status, .headers = headers},
            handler.render_refusal(malformed.status, malformed.what));
}

void ClientConnection::linger() {
    if (tls_) tls_->say_goodbye();
    ::shutdown(socket_.get(), SHUT_WR);
    state_ = State::lingering;
    early_.clear();
    arm(linger_for);
    if (readable_) loop().again(*this, event_in);
}

void ClientConnection::peer_gone() {
    if (state_ == State::closed) return;
    const bool in_exchange = state_ == State::exchange && sink_ && !finished_;
    if (in_exchange) sink_->on_client_gone();
    close();
}

void ClientConnection::close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    timer_.cancel();
    if (tls_) tls_->say_goodbye();
    tls_.reset();
    socket_.reset();
    acceptor_.forget(*this);
}

void ClientConnection::arm(Duration after) {
    loop().timers().arm(timer_, loop().now_ms() + after.ms);
}

void ClientConnection::on_timer() {
    const auto& limits = acceptor_.limits();
    if (state_ == State::idle || state_ == State::lingering) return close();
    if (state_ == State::head) return refuse({408, "the request head took too long"});
    if (state_ != State::exchange) return;
    if (!outgoing_.empty()) {
        const auto due = progress_ms_ + limits.stall.ms;
        if (loop().now_ms() >= due) return peer_gone();
        return loop().timers().arm(timer_, due);
    }
    if (body_done_ || finished_) return;
    const auto elapsed_ms = loop().now_ms() - body_since_ms_;
    if (!body_paused_ && body_.decoded() * 1000 < limits.body_rate_min * elapsed_ms) {
        if (started_) return peer_gone();
        if (sink_) {
            sink_->on_client_gone();
            sink_.reset();
        }
        return refuse({408, "the request body came too slowly"});
    }
    arm(seconds(1));
}

}  // namespace tandem::relay
