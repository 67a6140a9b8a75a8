// SPDX-License-Identifier: Apache-2.0
#include "net/http/async_exchange.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace tandem::http {

namespace {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

AsyncTime after(Duration duration) {
    return Clock::now() + std::chrono::milliseconds(duration.ms);
}

}  // namespace

AsyncExchange::AsyncExchange(AsyncClientState& client, AsyncCall call,
                             AsyncClient::Callback callback)
    : client_(client),
      call_(std::move(call)),
      callback_(std::move(callback)),
      server_(render_url(call_.server)),
      total_deadline_(after(call_.total_deadline)),
      timer_(client.loop),
      resolver_(client.loop),
      socket_(client.loop) {}

void AsyncExchange::arm() {
    set_deadline(total_deadline_, "answering");
}

void AsyncExchange::set_deadline(AsyncTime at, std::string doing) {
    timer_.expires_at(at);
    timer_.async_wait(
        [self = shared_from_this(), doing = std::move(doing)](const error_code& error) {
            if (!error && !self->done_) self->broken("took too long " + doing);
        });
}

void AsyncExchange::start() {
    if (done_) return;
    auto head = render_call_head(call_.server, call_.call);
    if (!head) return finish(std::unexpected(std::move(head).error()));
    head_ = std::move(*head);
    auto idle = client_.take_idle(server_);
    if (!idle) return connect_fresh();
    adopt(std::move(idle->socket));
    tls_ = std::move(idle->tls);
    begin_exchange(true);
}

void AsyncExchange::connect_fresh() {
    set_deadline(std::min(total_deadline_, after(call_.connect_deadline)), "connecting");
    auto numeric = numeric_endpoints(call_.server);
    if (!numeric) return fail_with(std::move(numeric).error());
    endpoints_ = std::move(*numeric);
    next_endpoint_ = 0;
    if (!endpoints_.empty()) return connect_next();
    auto on_found = [self = shared_from_this()](const error_code& error, const auto& results) {
        if (self->done_) return;
        if (error)
            return self->fail_with(cannot_connect(self->call_.server, error.message()).error());
        for (const auto& entry : results) {
            Endpoint endpoint;
            endpoint.length = static_cast<socklen_t>(entry.endpoint().size());
            std::memcpy(&endpoint.storage, entry.endpoint().data(), endpoint.length);
            self->endpoints_.push_back(endpoint);
        }
        self->connect_next();
    };
    resolver_.async_resolve(call_.server.host, std::to_string(call_.server.port),
                            std::move(on_found));
}

void AsyncExchange::connect_next() {
    Error last = cannot_connect(call_.server, "no address").error();
    while (next_endpoint_ < endpoints_.size()) {
        auto dialled = begin_connect(endpoints_[next_endpoint_++], call_.server);
        if (!dialled) {
            last = std::move(dialled).error();
            continue;
        }
        adopt(std::move(dialled->socket));
        if (!dialled->in_progress) return connected();
        socket_.async_wait(socket_.wait_write, [self =
                                                    shared_from_this()](const error_code& error) {
            if (error || self->done_) return;
            int failure = 0;
            socklen_t length = sizeof failure;
            ::getsockopt(self->socket_.native_handle(), SOL_SOCKET, SO_ERROR, &failure, &length);
            if (failure == 0) return self->connected();
            error_code ignored;
            self->socket_.close(ignored);
            if (self->next_endpoint_ < self->endpoints_.size()) return self->connect_next();
            self->fail_with(cannot_connect(self->call_.server, std::strerror(failure)).error());
        });
        return;
    }
    fail_with(std::move(last));
}

void AsyncExchange::connected() {
    bool secure = call_.server.scheme == Scheme::https;
    if (secure && !client_.tls)
        if (Status status = client_.load_tls(); !status)
            return fail_with(std::move(status).error());
    if (secure) tls_ = std::make_unique<TlsSession>(client_.tls, call_.server.host);
    begin_exchange(false);
}

void AsyncExchange::begin_exchange(bool reused) {
    reused_ = reused;
    if (!tls_) set_deadline(total_deadline_, "answering");
    request_written_ = false;
    parser_.emplace(call_.call.method == "HEAD", client_.options.header_bytes_max,
                    [this](std::string_view piece) {
                        if (piece.size() + body_.size() > static_cast<std::size_t>(call_.body_max))
                            return false;
                        body_ += piece;
                        return true;
                    });
    if (tls_ && !tls_->ready() && !take({})) return;  // the handshake's first message
    send_some();
    if (!done_) wait_to_read();
}

void AsyncExchange::send_some() {
    if (tls_) {
        if (tls_->ready() && !request_written_) {
            request_written_ = true;
            set_deadline(total_deadline_, "answering");
            if (!tls_->send(head_) || !tls_->send(call_.call.body)) return broken("broke TLS");
        }
        out_.add(tls_->take_output());
    } else if (!request_written_) {
        request_written_ = true;
        out_.add(std::string_view(head_));
        out_.add(std::string_view(call_.call.body));
    }
    SendResult result = out_.send(socket_.native_handle());
    // A broken pipe may still hold an answer (413); reading tells.
    if (result != SendResult::would_block) return;
    socket_.async_wait(socket_.wait_write, [self = shared_from_this()](const error_code& error) {
        if (!error && !self->done_) self->send_some();
    });
}

void AsyncExchange::wait_to_read() {
    socket_.async_wait(socket_.wait_read, [self = shared_from_this()](const error_code& error) {
        if (!error && !self->done_) self->read_some();
    });
}

void AsyncExchange::read_some() {
    char buffer[16 * 1024];
    ssize_t got = ::recv(socket_.native_handle(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return wait_to_read();
    if (got < 0)
        return reused_ && !answered_ ? peer_ended()
                                     : broken(std::string("broke off: ") + std::strerror(errno));
    if (got == 0) return peer_ended();
    if (!take({buffer, static_cast<std::size_t>(got)})) return;
    if (tls_) send_some();
    if (!done_) wait_to_read();
}

bool AsyncExchange::take(std::string_view bytes) {
    if (tls_) {
        if (Status status = tls_->receive(bytes, in_); !status) {
            fail_with(in_context(server_, std::move(status).error()).error());
            return false;
        }
    } else {
        in_ += bytes;
    }
    return in_.empty() || parse();
}

bool AsyncExchange::parse() {
    answered_ = true;
    auto used = parser_->feed(in_);
    if (!used) {
        fail_with(in_context(server_, std::move(used).error()).error());
        return false;
    }
    in_.erase(0, *used);
    if (parser_->stopped()) {
        fail_with({ErrorCode::too_large, "the answer of " + server_ + " is larger than " +
                                             std::to_string(call_.body_max) + " bytes"});
        return false;
    }
    if (!parser_->done()) return true;
    Response response = std::move(parser_->response());
    response.body = std::move(body_);
    if (parser_->keep_alive() && in_.empty() && out_.empty() && !client_.stopping)
        client_.keep_idle(
            server_,
            {.socket = Socket(socket_.release()), .tls = std::move(tls_), .since = Clock::now()});
    finish(std::move(response));
    return false;
}

void AsyncExchange::peer_ended() {
    if (reused_ && !answered_ && may_repeat(call_.call)) {
        error_code ignored;
        socket_.close(ignored);
        tls_.reset();
        out_ = Outbox();
        return connect_fresh();
    }
    if (tls_ && !tls_->peer_closed()) return broken("closed the connection without TLS goodbye");
    if (Status status = parser_->feed_end(); !status) return broken(status.error().message);
    Response response = std::move(parser_->response());
    response.body = std::move(body_);
    finish(std::move(response));
}

void AsyncExchange::broken(const std::string& what) {
    fail_with({ErrorCode::unavailable, server_ + " " + what});
}

void AsyncExchange::finish(Result<Response> result) {
    if (done_) return;
    done_ = true;
    auto self = shared_from_this();
    timer_.cancel();
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
    client_.finished(self, running_);
    auto callback = std::move(callback_);
    callback(std::move(result));
}

}  // namespace tandem::http
