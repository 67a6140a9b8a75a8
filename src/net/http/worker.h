// SPDX-License-Identifier: Apache-2.0
// Worker: one thread, one event loop, the connections that live on it. ServerCore: what all workers
// share. Inside net/http only. Thread rule: post() and on_thread() from any thread; all else on the
// worker's thread.
//
// Life: Server -> Worker -> Connection while open; a Connection (kept by a Responder or Stream)
// keeps its Worker. After close_inbox() tasks are dropped, so that what outlives the server does
// nothing.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "net/http/listen.h"
#include "net/http/server.h"
#include "net/http/tls.h"

namespace tandem::http {

class Connection;

struct ServerCore {
    Limits limits;
    Handler handler;
    BodyGate body_gate;
    RefusalListener on_refused;
    std::atomic<std::int64_t> connections = 0;
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> streams_dropped = 0;
    std::mutex mutex;
    std::condition_variable connection_gone;
};

struct NewSocket {
    Socket socket;
    std::shared_ptr<TlsContext> tls;
    bool over_unix_socket = false;
    bool one_too_many = false;  // to be answered 503
};

class Worker : public std::enable_shared_from_this<Worker> {
  public:
    explicit Worker(std::shared_ptr<ServerCore> shared) : core(std::move(shared)) {}

    void start();
    bool post(std::move_only_function<void()> task);  // false: dropped
    bool on_thread() const {
        return std::this_thread::get_id() == thread_id_.load(std::memory_order_relaxed);
    }

    void adopt(NewSocket accepted);
    void remove(const std::shared_ptr<Connection>& connection);
    void stop_connections();  // gracefully
    void abort_connections();
    void close_inbox();  // what is in it is still run; connections that come of it are aborted
    void join();         // the loop ends when nothing is left in it

    // "Date: Mon, 30 Nov 2026 14:28:59 GMT\r\n", made once a second.
    std::string_view date_line();

    const std::shared_ptr<ServerCore> core;
    boost::asio::io_context loop{1};
    std::array<char, 64 * 1024> buffer;

  private:
    void run_inbox();
    std::mutex mutex_;
    std::vector<std::move_only_function<void()>> inbox_;
    bool inbox_closed_ = false;
    std::unordered_set<std::shared_ptr<Connection>> connections_;
    bool stopping_ = false;
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>>
        keep_running_;
    std::thread thread_;
    std::atomic<std::thread::id> thread_id_{};
    std::time_t date_second_ = 0;
    std::string date_;
};

}  // namespace tandem::http
