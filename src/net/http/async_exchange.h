// SPDX-License-Identifier: Apache-2.0
// The inside of AsyncClient: its state, and one call from submission to callback. Inside net/http
// only. Thread rule: the client's thread, but for what is said to be free of it.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http/async_client.h"
#include "net/http/dial.h"
#include "net/http/outbox.h"
#include "net/http/parser.h"
#include "net/http/tls.h"

namespace tandem::http {

using AsyncTime = std::chrono::steady_clock::time_point;

struct IdleWire {
    Socket socket;
    std::unique_ptr<TlsSession> tls;
    AsyncTime since{};
};

class AsyncExchange;

// All but `loop`, `admitted` and `options` belongs to the client's thread.
struct AsyncClientState {
    AsyncClientOptions options;
    std::shared_ptr<TlsContext> tls;
    boost::asio::io_context loop{1};
    boost::asio::steady_timer sweep{loop};
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>>
        keep_running;
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
    AsyncExchange(AsyncClientState& client, AsyncCall call, AsyncClient::Callback callback);

    void arm();
    void start();
    void fail_with(Error error) { finish(std::unexpected(std::move(error))); }
    void mark_running() { running_ = true; }

  private:
    void set_deadline(AsyncTime at, std::string doing);
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
    AsyncTime total_deadline_;
    boost::asio::steady_timer timer_;
    boost::asio::ip::tcp::resolver resolver_;
    boost::asio::posix::stream_descriptor socket_;
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

}  // namespace tandem::http
