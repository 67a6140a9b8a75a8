// SPDX-License-Identifier: Apache-2.0
// Server: N loops, each with its own thread and its own listening socket on the same address (SO_REUSEPORT), so that
// connections spread over the cores and are never handed between threads.
// start() returns when all loops listen; stop() closes the listeners at once, lets exchanges go on until `grace`
// has passed, then ends the threads; the loops take posts until the Server is destroyed. The Handler of a loop is made, used and destroyed by that loop's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/relay/body.h"
#include "net/relay/exchange.h"
#include "net/relay/tls.h"

namespace tandem::relay {

struct ServerLimits {
    HeadLimits head{};
    std::int64_t chunks_max = 65'536;
    std::int64_t average_chunk_min = 64;
    int requests_per_connection = 1'000;
    int connections_per_address = 256;  // loopback excepted: a front on the same host speaks for many
    int connections_max = 20'000;
    int descriptors_reserved = 64;
    Duration head_timeout = seconds(10);
    Duration idle_timeout = seconds(75);
    Duration body_grace = seconds(10);          // then at least body_rate_min bytes per second
    std::int64_t body_rate_min = 1'024;
    Duration stall = seconds(30);               // a client that takes nothing
};

struct ServerOptions {
    Endpoint listen{};
    std::vector<Endpoint> also{};  // further addresses; port 0: that of `listen`. Left out where the host has no such one
    std::optional<TlsFiles> tls{}; // for all of them
    int threads = 1;
    ServerLimits limits{};
};

// Counters of all loops; relaxed, for metrics only.
struct ServerCounters {
    std::atomic<std::int64_t> accepted{0};
    std::atomic<std::int64_t> open{0};
    std::atomic<std::int64_t> refused{0};    // 503 at the door
    std::atomic<std::int64_t> malformed{0};  // requests refused by the relay itself
};

using HandlerFactory = std::function<std::unique_ptr<Handler>(Loop&, int loop_index)>;

class Server {
  public:
    static Result<std::unique_ptr<Server>> start(const ServerOptions& options, HandlerFactory factory);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    Endpoint endpoint() const { return endpoint_; }
    const ServerCounters& counters() const { return counters_; }
    std::string tls_error() const { return tls_ ? tls_->error() : std::string(); }  // why new files are not used
    int loop_count() const { return static_cast<int>(lanes_.size()); }
    Loop& loop(int index);
    void stop(Duration grace);

  private:
    struct Lane;
    Server();
    Status open_lanes(const ServerOptions& options, const HandlerFactory& factory);

    Result<std::vector<Fd>> listen_on(const ServerOptions& options);
    Endpoint endpoint_;
    std::shared_ptr<TlsIdentity> tls_;
    ServerCounters counters_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    bool stopped_ = false;
};

}  // namespace tandem::relay
