// SPDX-License-Identifier: Apache-2.0
#include "net/http/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/assert.h"
#include "net/http/connection.h"
#include "net/http/worker.h"

namespace tandem::http {

namespace {

constexpr std::int64_t refused_at_once_max =
    64;  // connections beyond the limit that get a proper 503
constexpr int accepts_per_wake = 64;

struct SocketFile {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
};

SocketFile identify(const std::string& path) {
    struct stat info{};
    ::lstat(path.c_str(), &info);
    return {.path = path, .device = info.st_dev, .inode = info.st_ino};
}

}  // namespace

// One listening socket; lives on the first worker.
class Listener : public std::enable_shared_from_this<Listener> {
  public:
    Listener(const std::vector<std::shared_ptr<Worker>>& workers, Socket socket,
             std::shared_ptr<ServerIdentity> tls, bool over_unix_socket)
        : workers_(workers),
          core_(workers.front()->core),
          socket_(workers.front()->loop, socket.release()),
          pause_(workers.front()->loop),
          tls_(std::move(tls)),
          over_unix_socket_(over_unix_socket) {}

    void wait() {
        socket_.async_wait(socket_.wait_read,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                               if (!error && self->socket_.is_open()) self->accept_some();
                           });
    }
    void close() {
        boost::system::error_code ignored;
        socket_.close(ignored);
        pause_.cancel();
    }

  private:
    void accept_some() {
        for (int i = 0; i < accepts_per_wake; ++i) {
            Socket accepted(
                ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (accepted) {
                place(std::move(accepted));
            } else if (errno == EAGAIN) {
                break;
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                return rest();  // would be ready again at once; give others time to close
            }
        }
        wait();
    }
    void rest() {
        pause_.expires_after(std::chrono::milliseconds(100));
        pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
            if (!error && self->socket_.is_open()) self->wait();
        });
    }
    void place(Socket accepted) {
        std::int64_t open = core_->connections.fetch_add(1);
        bool too_many = open >= core_->limits.connections_max;
        if (too_many && (tls_ || open >= core_->limits.connections_max + refused_at_once_max)) {
            core_->connections.fetch_sub(1);
            return;
        }
        NewSocket socket{.socket = std::move(accepted),
                         .tls = tls_ ? tls_->current() : nullptr,
                         .over_unix_socket = over_unix_socket_,
                         .one_too_many = too_many};
        Worker& worker = *workers_[next_++ % workers_.size()];
        if (worker.on_thread()) return worker.adopt(std::move(socket));
        worker.post(
            [&worker, socket = std::move(socket)]() mutable { worker.adopt(std::move(socket)); });
    }

    const std::vector<std::shared_ptr<Worker>>& workers_;
    std::shared_ptr<ServerCore> core_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer pause_;
    std::shared_ptr<ServerIdentity> tls_;
    bool over_unix_socket_;
    std::size_t next_ = 0;
};

struct Server::State {
    std::shared_ptr<ServerCore> core = std::make_shared<ServerCore>();
    std::vector<std::shared_ptr<Worker>> workers;
    std::vector<std::shared_ptr<Listener>> listeners;
    std::vector<std::uint16_t> ports;
    std::vector<SocketFile> files;
    std::mutex stop_mutex;
    bool stopped = false;

    Status listen(const ServerOptions& options);
    void on_all(std::move_only_function<void(Worker&)> task);
    void remove_files();
};

Status Server::State::listen(const ServerOptions& options) {
    for (const TcpListen& tcp : options.tcp) {
        std::shared_ptr<ServerIdentity> tls;
        if (tcp.tls) {
            TANDEM_LET(made, ServerIdentity::load(*tcp.tls));
            tls = std::move(made);
        }
        auto socket = listen_tcp(tcp.address, tcp.port);
        if (!socket && tcp.if_there && socket.error().code == ErrorCode::unavailable) continue;
        if (!socket) return pass_on(std::move(socket).error());
        ports.push_back(port_of(*socket));
        listeners.push_back(
            std::make_shared<Listener>(workers, std::move(*socket), std::move(tls), false));
    }
    for (const std::string& path : options.unix_sockets) {
        TANDEM_LET(socket, listen_unix(path));
        files.push_back(identify(path));
        listeners.push_back(std::make_shared<Listener>(workers, std::move(socket), nullptr, true));
    }
    return {};
}

// A file that another server has put in its place since is left alone.
void Server::State::remove_files() {
    for (const SocketFile& file : files) {
        SocketFile now = identify(file.path);
        if (now.device == file.device && now.inode == file.inode) ::unlink(file.path.c_str());
    }
    files.clear();
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() {
    stop(Duration{});
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
    if (options.threads < 1 || options.threads > 256)
        return invalid_field("threads", "must be 1..256");
    if (options.tcp.empty() && options.unix_sockets.empty())
        return invalid_field("listen", "at least one address or unix socket is needed");
    auto state = std::make_unique<State>();
    state->core->limits = options.limits;
    state->core->handler = std::move(handler);
    state->core->body_gate = std::move(options.body_gate);
    state->core->on_refused = std::move(options.on_refused);
    for (int i = 0; i < options.threads; ++i)
        state->workers.push_back(std::make_shared<Worker>(state->core));
    if (Status status = state->listen(options); !status) {
        state->remove_files();
        return pass_on(std::move(status).error());
    }
    for (const auto& worker : state->workers) worker->start();
    for (const auto& listener : state->listeners)
        state->workers.front()->post([listener] { listener->wait(); });
    return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port(std::size_t listen) const {
    TANDEM_ASSERT(listen < state_->ports.size(), "there is such a listener");
    return state_->ports[listen];
}

ServerStats Server::stats() const {
    const ServerCore& core = *state_->core;
    return {.connections = core.connections.load(),
            .requests = core.requests.load(),
            .refused = core.refused.load(),
            .streams_dropped = core.streams_dropped.load()};
}

void Server::stop(Duration grace) {
    State& state = *state_;
    std::scoped_lock once(state.stop_mutex);
    if (std::exchange(state.stopped, true)) return;
    for (const auto& worker : state.workers)
        TANDEM_ASSERT(!worker->on_thread(), "a server is not stopped from its own handler");
    state.workers.front()->post([&state] {
        for (const auto& listener : state.listeners) listener->close();
    });
    for (const auto& worker : state.workers)
        worker->post([&worker] { worker->stop_connections(); });
    state.remove_files();
    {
        std::unique_lock lock(state.core->mutex);
        state.core->connection_gone.wait_for(lock, std::chrono::milliseconds(grace.ms),
                                             [&] { return state.core->connections.load() == 0; });
    }
    for (const auto& worker : state.workers) {
        worker->post([&worker] {
            worker->abort_connections();
            worker->close_inbox();
        });
        worker->join();
    }
}

struct Stream::Handle {
    std::shared_ptr<StreamSink> sink;
    ~Handle() { sink->close(); }
};

Stream::Stream(std::shared_ptr<StreamSink> sink) : handle_(new Handle{std::move(sink)}) {}
bool Stream::write(std::string_view text) const {
    return handle_ && handle_->sink->write(text);
}
std::size_t Stream::room() const {
    return handle_ ? handle_->sink->room() : 0;
}
void Stream::close() const {
    if (handle_) handle_->sink->close();
}
void Stream::on_closed(std::move_only_function<void()> callback) const {
    if (handle_)
        handle_->sink->on_closed(std::move(callback));
    else
        callback();
}
void Stream::on_drained(std::move_only_function<void()> callback) const {
    if (handle_)
        handle_->sink->on_drained(std::move(callback));
    else
        callback();
}

Responder& Responder::operator=(Responder&& other) noexcept {
    if (this != &other) {
        Responder old(std::move(*this));
        sink_ = std::move(other.sink_);
        ticket_ = other.ticket_;
    }
    return *this;
}
Responder::~Responder() {
    if (sink_)
        respond(problem(500, "the request was dropped without an answer",
                        name_of(ErrorCode::internal)));
}
void Responder::respond(Response response) {
    TANDEM_ASSERT(sink_, "a request is answered once");
    std::exchange(sink_, nullptr)->respond(ticket_, std::move(response));
}
void Responder::respond(int status, std::string body, std::string content_type) {
    respond(Response{.status = status,
                     .headers = {{"Content-Type", std::move(content_type)}},
                     .body = std::move(body)});
}
Stream Responder::start_stream(int status, Headers headers) {
    TANDEM_ASSERT(sink_, "a request is answered once");
    return Stream(std::exchange(sink_, nullptr)->start_stream(ticket_, status, std::move(headers)));
}

}  // namespace tandem::http
