// SPDX-License-Identifier: Apache-2.0
#include "net/http/client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/assert.h"
#include "net/http/dial.h"
#include "net/http/outbox.h"
#include "net/http/parser.h"
#include "net/http/tls.h"

namespace tandem::http {

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

Time after(Duration duration) {
    return Clock::now() + std::chrono::milliseconds(duration.ms);
}

// One open connection. Every wait ends at `deadline` or when cancelled.
struct Wire {
    Socket socket;
    std::unique_ptr<TlsSession> tls;
    bool used_before = false;
};

struct Waiter {
    const Url& url;
    Cancel* cancel = nullptr;
    Time deadline{};
    std::string_view doing = "answering";

    std::unexpected<Error> broken(const std::string& what) const {
        return fail(ErrorCode::unavailable, render_url(url) + " " + what);
    }
    Status wait(const Socket& socket, short events) const {
        while (true) {
            if (cancel && cancel->cancelled()) return broken("call was cancelled");
            auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
            if (left <= 0) return broken("took too long " + std::string(doing));
            pollfd watched[2] = {{socket.get(), events, 0},
                                 {cancel ? cancel->wait_descriptor() : -1, POLLIN, 0}};
            int ready = ::poll(watched, 2, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
            if (ready > 0 && watched[0].revents) return {};
            if (ready < 0 && errno != EINTR)
                return broken(std::string("can't be waited for: ") + std::strerror(errno));
        }
    }
};

Status send_all(Wire& wire, Outbox& out, const Waiter& waiter) {
    while (true) {
        SendResult result = out.send(wire.socket.get());
        if (result == SendResult::all_sent) return {};
        if (result == SendResult::broken) return waiter.broken("closed the connection");
        TANDEM_TRY(waiter.wait(wire.socket, POLLOUT));
    }
}

// Appends what comes next; false at the end of the connection.
Result<bool> read_more(Wire& wire, std::string& in, const Waiter& waiter) {
    char buffer[64 * 1024];
    while (true) {
        ssize_t got = ::recv(wire.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            TANDEM_TRY(waiter.wait(wire.socket, POLLIN));
            continue;
        }
        if (got < 0)
            return waiter.broken(std::string("broke the connection: ") + std::strerror(errno));
        if (got == 0) {
            // Without its goodbye a TLS stream may have been cut by anybody on the way.
            if (wire.tls && !wire.tls->peer_closed())
                return waiter.broken("closed the connection without TLS goodbye");
            return false;
        }
        std::string_view bytes(buffer, static_cast<std::size_t>(got));
        if (!wire.tls) {
            in += bytes;
            return true;
        }
        std::size_t before = in.size();
        TANDEM_TRY(wire.tls->receive(bytes, in));
        if (in.size() > before) return true;
        if (wire.tls->peer_closed()) return false;
    }
}

Status handshake(Wire& wire, const Waiter& waiter) {
    std::string nothing;
    TANDEM_TRY(wire.tls->receive({}, nothing));
    char buffer[16 * 1024];
    while (true) {
        Outbox out;
        out.add(wire.tls->take_output());
        TANDEM_TRY(send_all(wire, out, waiter));
        if (wire.tls->ready()) return {};
        TANDEM_TRY(waiter.wait(wire.socket, POLLIN));
        ssize_t got = ::recv(wire.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got <= 0) return waiter.broken("closed the connection during the TLS handshake");
        if (Status status = wire.tls->receive({buffer, static_cast<std::size_t>(got)}, nothing);
            !status)
            return in_context(render_url(waiter.url), std::move(status).error());
    }
}

struct Exchange {
    Status status{};
    bool answered = false;  // at least one byte came
    bool reusable = false;
};

Exchange exchange(Wire& wire, const std::string& head, const Call& call, ResponseParser& parser,
                  Waiter waiter, const std::function<void(Waiter&)>& on_progress) {
    Outbox out;
    if (wire.tls) {
        Status status = wire.tls->send(head);
        if (status) status = wire.tls->send(call.body);
        if (!status) return {.status = status};
        out.add(wire.tls->take_output());
    } else {
        out.add(head);
        out.add(call.body);
    }
    // A server may answer and close before it has taken all (413): so look for an answer in any
    // case.
    Status sent = send_all(wire, out, waiter);
    Exchange result;
    std::string in;
    while (!parser.done()) {
        on_progress(waiter);
        auto more = read_more(wire, in, waiter);
        if (!more) {
            result.status = sent ? pass_on(std::move(more).error()) : sent;
            return result;
        }
        if (!*more) {
            Status end = parser.feed_end();
            if (!end) result.status = waiter.broken(end.error().message);
            return result;
        }
        result.answered = true;
        auto used = parser.feed(in);
        if (!used) {
            result.status = in_context(render_url(waiter.url), std::move(used).error());
            return result;
        }
        in.erase(0, *used);
        if (parser.stopped()) return result;
    }
    result.reusable = sent && in.empty() && parser.keep_alive();
    return result;
}

}  // namespace

Cancel::Cancel() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TANDEM_ASSERT(descriptor_ >= 0, "a descriptor is left");
}
Cancel::~Cancel() {
    ::close(descriptor_);
}
void Cancel::cancel() {
    cancelled_.store(true);
    std::uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(descriptor_, &one, sizeof one);
}

struct Client::State {
    ClientOptions options;
    std::shared_ptr<TlsContext> tls;
    std::mutex mutex;
    std::vector<Wire> idle;

    Result<Wire> take(Waiter waiter);
    Result<Wire> open(Waiter waiter);
    void give_back(Wire wire);
    Status run(const Call& call, Cancel* cancel, Time deadline,
               const std::function<ResponseParser&()>& make_parser,
               const std::function<void(Waiter&)>& on_progress);
};

Result<Wire> Client::State::take(Waiter waiter) {
    {
        std::scoped_lock lock(mutex);
        while (!idle.empty()) {
            Wire wire = std::move(idle.back());
            idle.pop_back();
            if (!is_stale(wire.socket)) return wire;
        }
    }
    return open(waiter);
}

Result<Wire> Client::State::open(Waiter waiter) {
    TANDEM_LET(endpoints, resolve_endpoints(options.server));
    waiter.deadline = std::min(waiter.deadline, after(options.connect_deadline));
    waiter.doing = "connecting";
    Error last{ErrorCode::unavailable,
               "can't connect to " + render_url(options.server) + ": no address"};
    for (const Endpoint& endpoint : endpoints) {
        auto dialled = begin_connect(endpoint, options.server);
        if (!dialled) {
            last = std::move(dialled).error();
            continue;
        }
        if (dialled->in_progress) {
            TANDEM_TRY(waiter.wait(dialled->socket, POLLOUT));
            if (Status status = finish_connect(dialled->socket, options.server); !status) {
                last = std::move(status).error();
                continue;
            }
        }
        Wire wire{.socket = std::move(dialled->socket), .tls = nullptr};
        if (tls) {
            wire.tls = std::make_unique<TlsSession>(tls, options.server.host);
            TANDEM_TRY(handshake(wire, waiter));
        }
        return wire;
    }
    return pass_on(std::move(last));
}

void Client::State::give_back(Wire wire) {
    wire.used_before = true;
    std::scoped_lock lock(mutex);
    if (static_cast<int>(idle.size()) < options.idle_max) idle.push_back(std::move(wire));
}

Status Client::State::run(const Call& call, Cancel* cancel, Time deadline,
                          const std::function<ResponseParser&()>& make_parser,
                          const std::function<void(Waiter&)>& on_progress) {
    TANDEM_LET(head, render_call_head(options.server, call));
    Waiter waiter{.url = options.server, .cancel = cancel, .deadline = deadline};
    TANDEM_LET(wire, take(waiter));
    while (true) {
        bool first_use = !wire.used_before;
        Exchange result = exchange(wire, head, call, make_parser(), waiter, on_progress);
        if (result.reusable) give_back(std::move(wire));
        bool over = (cancel && cancel->cancelled()) || Clock::now() >= deadline;
        if (result.status || result.answered || first_use || over || !may_repeat(call))
            return result.status;
        TANDEM_LET(fresh, open(waiter));
        wire = std::move(fresh);
    }
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::make(ClientOptions options) {
    auto state = std::make_unique<State>();
    if (options.server.scheme == Scheme::https) {
        TANDEM_LET(tls, TlsContext::for_client({.ca_file = options.ca_file,
                                                .certificate_file = options.certificate_file,
                                                .key_file = options.key_file}));
        state->tls = std::move(tls);
    }
    state->options = std::move(options);
    return std::unique_ptr<Client>(new Client(std::move(state)));
}

Result<Response> Client::send(const Call& call, Cancel* cancel) {
    const ClientOptions& options = state_->options;
    std::string body;
    std::optional<ResponseParser> parser;
    auto make_parser = [&]() -> ResponseParser& {
        return parser.emplace(
            call.method == "HEAD", options.header_bytes_max, [&](std::string_view piece) {
                if (piece.size() + body.size() > static_cast<std::size_t>(options.body_max))
                    return false;
                body += piece;
                return true;
            });
    };
    TANDEM_TRY(
        state_->run(call, cancel,
                    after(call.total_deadline.ms > 0 ? call.total_deadline : options.total_deadline),
                    make_parser, [](Waiter&) {}));
    if (parser->stopped())
        return fail(ErrorCode::too_large, "the answer of " + render_url(options.server) +
                                              " is larger than " +
                                              std::to_string(options.body_max) + " bytes");
    Response response = std::move(parser->response());
    response.body = std::move(body);
    return response;
}

Status Client::stream(const Call& call, StreamReader reader, Cancel* cancel) {
    const ClientOptions& options = state_->options;
    std::optional<ResponseParser> parser;
    bool head_given = false;
    bool stop = false;
    auto give_head = [&] {
        if (head_given || !parser->head_done()) return;
        head_given = true;
        if (reader.on_head) stop = !reader.on_head(parser->response());
    };
    auto make_parser = [&]() -> ResponseParser& {
        return parser.emplace(call.method == "HEAD", options.header_bytes_max,
                              [&](std::string_view piece) {
                                  give_head();
                                  return !stop && reader.on_chunk(piece);
                              });
    };
    // The reader may be told of the head before any piece of the body has come.
    auto on_progress = [&](Waiter& waiter) {
        give_head();
        waiter.deadline = stop ? Clock::now() : after(options.stream_idle_deadline);
        waiter.doing = "sending more";
    };
    Status status =
        state_->run(call, cancel, after(options.stream_idle_deadline), make_parser, on_progress);
    if (stop) return {};
    if (status) give_head();
    return status;
}

}  // namespace tandem::http
