// SPDX-License-Identifier: Apache-2.0
#include "net/http/async_client.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <unordered_set>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http/dial.h"
#include "net/http/outbox.h"
#include "net/http/parser.h"
#include "net/http/tls.h"

namespace tandem::http {

namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using boost::system::error_code;

Time after(Duration duration) { return Clock::now() + std::chrono::milliseconds(duration.ms); }

struct IdleWire {
    Socket socket;
    std::unique_ptr<TlsSession> tls;
    Time since{};
};

}  // namespace

class AsyncExchange;

// All but `loop`, `admitted` and `options` belongs to the client's thread.
struct AsyncClientState {
    AsyncClientOptions options;
    std::shared_ptr<TlsContext> tls;
    asio::io_context loop{1};
    asio::steady_timer sweep{loop};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> keep_running;
    std::thread thread;
    std::atomic<int> admitted = 0;
    int running = 0;
    bool stopping = false;
    std::deque<std::shared_ptr<AsyncExchange>> waiting;
    std::unordered_set<std::shared_ptr<AsyncExchange>> live;  // running and waiting
    std::map<std::string, std::vector<IdleWire>> idle;        // by server
    bool sweeping = false;

    Status load_tls();
    void submit(std::shared_ptr<AsyncExchange> exchange);
    void finished(const std::shared_ptr<AsyncExchange>& exchange, bool was_running);
    std::optional<IdleWire> take_idle(const std::string& server);
    void keep_idle(const std::string& server, IdleWire wire);
    void sweep_idle();
    void stop();
};

// One call from submission to callback. Every handler holds it; after finish() each does nothing.
class AsyncExchange : public std::enable_shared_from_this<AsyncExchange> {
  public:
    AsyncExchange(AsyncClientState& client, AsyncCall call, AsyncClient::Callback callback)
        : client_(client),
          call_(std::move(call)),
          callback_(std::move(callback)),
          server_(render_url(call_.server)),
          total_deadline_(after(call_.total_deadline)),
          timer_(client.loop),
          resolver_(client.loop),
          socket_(client.loop) {}

    void arm() { set_deadline(total_deadline_, "in answering"); }
    void start();
    void fail_with(Error error) { finish(std::unexpected(std::move(error))); }
    void mark_running() { running_ = true; }

  private:
    void set_deadline(Time at, std::string doing);
    void begin_exchange(bool reused);
    void connect_fresh();
    void connect_next();
    void connected();
    void send_some();
    void wait_to_read();
    void read_some();
    bool take(std::string_view bytes);  // false: finished
    bool parse();
    void peer_ended();
    void broken(const std::string& what);
    void finish(Result<Response> result);
    void adopt(Socket socket) { socket_.assign(socket.release()); }

    AsyncClientState& client_;
    AsyncCall call_;
    AsyncClient::Callback callback_;
    std::string server_;
    Time total_deadline_;
    asio::steady_timer timer_;
    asio::ip::tcp::resolver resolver_;
    asio::posix::stream_descriptor socket_;
    std::unique_ptr<TlsSession> tls_;
    std::vector<Endpoint> endpoints_;
    std::size_t next_endpoint_ = 0;
    std::string head_;
    Outbox out_;
    bool request_written_ = false;
    std::optional<ResponseParser> parser_;
    std::string in_;
    std::string body_;
    bool running_ = false;
    bool reused_ = false;
    bool answered_ = false;
    bool done_ = false;
};

void AsyncExchange::set_deadline(Time at, std::string doing) {
    timer_.expires_at(at);
    timer_.async_wait([self = shared_from_this(), doing = std::move(doing)](const error_code& error) {
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
        if (error) return self->fail_with(cannot_connect(self->call_.server, error.message()).error());
        for (const auto& entry : results) {
            Endpoint endpoint;
            endpoint.length = static_cast<socklen_t>(entry.endpoint().size());
            std::memcpy(&endpoint.storage, entry.endpoint().data(), endpoint.length);
            self->endpoints_.push_back(endpoint);
        }
        self->connect_next();
    };
    resolver_.async_resolve(call_.server.host, std::to_string(call_.server.port), std::move(on_found));
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
        socket_.async_wait(socket_.wait_write, [self = shared_from_this()](const error_code& error) {
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
        if (Status status = client_.load_tls(); !status) return fail_with(std::move(status).error());
    if (secure) tls_ = std::make_unique<TlsSession>(client_.tls, call_.server.host);
    begin_exchange(false);
}

void AsyncExchange::begin_exchange(bool reused) {
    reused_ = reused;
    if (!tls_) set_deadline(total_deadline_, "answering");
    request_written_ = false;
    parser_.emplace(call_.call.method == "HEAD", client_.options.header_bytes_max, [this](std::string_view piece) {
        if (piece.size() + body_.size() > static_cast<std::size_t>(call_.body_max)) return false;
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
    if (got < 0) return reused_ && !answered_ ? peer_ended() : broken(std::string("broke off: ") + std::strerror(errno));
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
        client_.keep_idle(server_, {.socket = Socket(socket_.release()), .tls = std::move(tls_), .since = Clock::now()});
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

Status AsyncClientState::load_tls() {
    TANDEM_LET(loaded, TlsContext::for_client({.ca_file = options.ca_file,
                                               .certificate_file = options.certificate_file,
                                               .key_file = options.key_file}));
    tls = std::move(loaded);
    return {};
}

void AsyncClientState::submit(std::shared_ptr<AsyncExchange> exchange) {
    live.insert(exchange);
    if (stopping) return exchange->fail_with({ErrorCode::unavailable, "the client is stopping"});
    exchange->arm();
    if (running >= options.calls_max) {
        waiting.push_back(std::move(exchange));
        return;
    }
    ++running;
    exchange->mark_running();
    exchange->start();
}

void AsyncClientState::finished(const std::shared_ptr<AsyncExchange>& exchange, bool was_running) {
    live.erase(exchange);
    admitted.fetch_sub(1);
    if (!was_running) {
        std::erase(waiting, exchange);
        return;
    }
    --running;
    if (waiting.empty() || stopping) return;
    auto next = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    next->mark_running();
    asio::post(loop, [next] { next->start(); });  // not from here: the chain could get deep
}

std::optional<IdleWire> AsyncClientState::take_idle(const std::string& server) {
    auto found = idle.find(server);
    std::optional<IdleWire> taken;
    if (found == idle.end()) return taken;
    while (!found->second.empty() && !taken) {
        if (!is_stale(found->second.back().socket)) taken = std::move(found->second.back());
        found->second.pop_back();
    }
    if (found->second.empty()) idle.erase(found);
    return taken;
}

void AsyncClientState::keep_idle(const std::string& server, IdleWire wire) {
    auto& of = idle[server];
    if (static_cast<int>(of.size()) < options.idle_per_server_max) of.push_back(std::move(wire));
    if (of.empty()) idle.erase(server);
    if (!sweeping && !idle.empty()) sweep_idle();
}

void AsyncClientState::sweep_idle() {
    Time oldest = Clock::now() - std::chrono::milliseconds(options.idle_max.ms);
    for (auto& [server, wires] : idle)
        std::erase_if(wires, [&](const IdleWire& wire) { return wire.since <= oldest; });
    std::erase_if(idle, [](const auto& entry) { return entry.second.empty(); });
    sweeping = !idle.empty() && !stopping;
    if (!sweeping) return;
    sweep.expires_after(std::chrono::milliseconds(options.idle_max.ms));
    sweep.async_wait([this](const error_code& error) {
        if (!error) sweep_idle();
    });
}

void AsyncClientState::stop() {
    stopping = true;
    waiting.clear();
    auto all = live;
    for (const auto& exchange : all) exchange->fail_with({ErrorCode::unavailable, "the client is stopping"});
    idle.clear();
    sweep.cancel();
    keep_running.reset();
}

AsyncClient::AsyncClient(std::shared_ptr<AsyncClientState> state) : state_(std::move(state)) {}

AsyncClient::~AsyncClient() {
    asio::post(state_->loop, [state = state_.get()] { state->stop(); });
    state_->thread.join();
}

Result<std::unique_ptr<AsyncClient>> AsyncClient::make(AsyncClientOptions options) {
    if (options.calls_max < 1) return invalid_field("calls_max", "must be at least 1");
    auto state = std::make_shared<AsyncClientState>();
    state->options = std::move(options);
    // The system's certificates cost memory, so they wait for the first https call.
    if (!state->options.ca_file.empty() || !state->options.certificate_file.empty())
        TANDEM_TRY(state->load_tls());
    state->keep_running.emplace(state->loop.get_executor());
    state->thread = std::thread([state = state.get()] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        pthread_setname_np(pthread_self(), "http-client");
        state->loop.run();
    });
    return std::unique_ptr<AsyncClient>(new AsyncClient(std::move(state)));
}

void AsyncClient::send(AsyncCall call, Callback callback) {
    if (state_->admitted.fetch_add(1) >= 2 * state_->options.calls_max) {
        state_->admitted.fetch_sub(1);
        asio::post(state_->loop, [callback = std::move(callback)]() mutable {
            callback(fail(ErrorCode::exhausted, "too many calls wait already; try again later"));
        });
        return;
    }
    auto exchange = std::make_shared<AsyncExchange>(*state_, std::move(call), std::move(callback));
    asio::post(state_->loop, [state = state_.get(), exchange] { state->submit(exchange); });
}

}  // namespace tandem::http
