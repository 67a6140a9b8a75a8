// SPDX-License-Identifier: Apache-2.0
// The answering half of Connection.
#include <sys/socket.h>

#include <fmt/format.h>

#include "net/http/connection.h"

namespace tandem::http {

namespace {

bool made_by_server(std::string_view name) {
    return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
           same_name(name, "Connection") || same_name(name, "Date") ||
           same_name(name, "X-Request-Id");
}

// A value that came from outside must not be able to end its line.
void append_clean(std::string& out, std::string_view value) {
    for (char c : value) out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? ' ' : c;
}

bool has_no_body(int status) {
    return status / 100 == 1 || status == 204 || status == 304;
}

}  // namespace

void Connection::respond(std::uint64_t ticket, Response response) {
    if (worker_->on_thread()) return answer(ticket, std::move(response));
    worker_->post([self = shared_from_this(), ticket, response = std::move(response)]() mutable {
        self->answer(ticket, std::move(response));
    });
}

std::shared_ptr<StreamSink> Connection::start_stream(std::uint64_t ticket, int status,
                                                     Headers headers) {
    auto bound = static_cast<std::size_t>(worker_->core->limits.stream_buffer);
    auto stream = std::make_shared<StreamState>(weak_from_this(), worker_, bound);
    if (worker_->on_thread()) {
        begin_stream(ticket, status, headers, stream);
    } else {
        bool posted =
            worker_->post([self = shared_from_this(), ticket, status, headers = std::move(headers),
                           stream] { self->begin_stream(ticket, status, headers, stream); });
        if (!posted) stream->end();
    }
    return stream;
}

void Connection::answer(std::uint64_t ticket, Response response) {
    if (phase_ != Phase::handling || ticket != ticket_) return;
    add_head(response.status, response.headers, response.body.size());
    if (!answers_head_request_ && !has_no_body(response.status)) emit(std::move(response.body));
    finish_exchange();
}

void Connection::begin_stream(std::uint64_t ticket, int status, const Headers& headers,
                              std::shared_ptr<StreamState> stream) {
    if (phase_ != Phase::handling || ticket != ticket_) return stream->end();
    if (answers_head_request_ || has_no_body(status)) {
        add_head(status, headers, std::nullopt);
        stream->end();
        return finish_exchange();
    }
    if (!http_11_) keep_alive_ = false;  // without chunks only closing tells the end
    add_head(status, headers, std::nullopt);
    phase_ = Phase::streaming;
    stream_ = std::move(stream);
    if (stopping_) stream_->close();
    add_stream_pieces();
    advance();
}

// `length` is absent for a stream.
void Connection::add_head(int status, const Headers& headers, std::optional<std::size_t> length) {
    std::string head;
    head.reserve(256);
    fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", status, reason_of(status));
    head += worker_->date_line();
    for (const auto& [name, value] : headers) {
        if (made_by_server(name)) continue;
        append_clean(head, name);
        head += ": ";
        append_clean(head, value);
        head += "\r\n";
    }
    if (!request_id_.empty()) head.append("X-Request-Id: ").append(request_id_).append("\r\n");
    if (length && !has_no_body(status))
        fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", *length);
    else if (!length && http_11_ && !has_no_body(status))
        head += "Transfer-Encoding: chunked\r\n";
    if (!keep_alive_)
        head += "Connection: close\r\n";
    else if (!http_11_)
        head += "Connection: keep-alive\r\n";
    head += "\r\n";
    emit(std::string_view(head));
}

void Connection::finish_exchange() {
    phase_ = keep_alive_ ? Phase::head : Phase::lingering;
    phase_at_ = Clock::now();
    if (keep_alive_ && !unread().empty()) head_at_ = phase_at_;
    request_id_.clear();
    advance();
}

void Connection::refuse(Refusal refusal) {
    worker_->core->refused.fetch_add(1, std::memory_order_relaxed);
    std::string_view code = refusal.status == 413   ? name_of(ErrorCode::too_large)
                            : refusal.status == 503 ? name_of(ErrorCode::unavailable)
                                                    : name_of(ErrorCode::invalid);
    refuse(problem(refusal.status, refusal.detail, code));
}

void Connection::refuse(Response response) {
    keep_alive_ = false;
    phase_ = Phase::lingering;
    phase_at_ = Clock::now();
    if (worker_->core->on_refused) tell_refused(response.status);
    parser_.reset();
    add_head(response.status, response.headers, response.body.size());
    if (!answers_head_request_) emit(std::move(response.body));
    request_id_.clear();
}

void Connection::tell_refused(int status) {
    RefusedRequest refused{.status = status, .peer = peer_, .id = request_id_};
    if (parser_) {
        refused.method = parser_->request.method;
        refused.path = parser_->request.path;
    }
    worker_->core->on_refused(refused);
}

void Connection::flush_stream() {
    if (phase_ != Phase::streaming) return;
    if (out_.empty()) add_stream_pieces();
    advance();
}

void Connection::add_stream_pieces() {
    StreamState::Taken taken = stream_->take();
    if (!taken.text.empty()) {
        if (http_11_) emit(fmt::format("{:x}\r\n", taken.text.size()));
        emit(std::move(taken.text));
        if (http_11_) emit(std::string_view("\r\n"));
    }
    if (!taken.last) return;
    if (http_11_) emit(std::string_view("0\r\n\r\n"));
    auto stream = std::move(stream_);
    stream_ = nullptr;
    finish_exchange();
    stream->end();
}

void Connection::emit(std::string_view bytes) {
    if (!tls_) return out_.add(bytes);
    if (tls_->ready() && !tls_->send(bytes)) keep_alive_ = false;
}

void Connection::emit(std::string&& bytes) {
    if (!tls_) return out_.add(std::move(bytes));
    emit(std::string_view(bytes));
}

void Connection::flush() {
    if (phase_ == Phase::closed) return;
    if (tls_) out_.add(tls_->take_output());
    while (!out_.empty()) {
        if (writing_) return;
        SendResult result = out_.send(socket_.native_handle());
        if (result == SendResult::broken) return abort();
        if (out_.progressed()) progress_at_ = Clock::now();
        if (result == SendResult::would_block) {
            writing_ = true;
            socket_.async_wait(socket_.wait_write,
                               [self = shared_from_this()](const boost::system::error_code& error) {
                                   self->writing_ = false;
                                   if (!error && self->phase_ != Phase::closed) self->advance();
                               });
            return;
        }
        after_flush();
        if (tls_ && phase_ != Phase::closed) out_.add(tls_->take_output());
    }
    if (phase_ != Phase::lingering || shut_) return;
    shut_ = true;
    if (tls_) {
        tls_->say_goodbye();
        out_.add(tls_->take_output());
        out_.send(socket_.native_handle());
    }
    ::shutdown(socket_.native_handle(), SHUT_WR);
}

// All is sent: a stream may give more.
void Connection::after_flush() {
    if (phase_ != Phase::streaming) return;
    stream_->sent();
    if (phase_ == Phase::streaming) add_stream_pieces();
}

}  // namespace tandem::http
