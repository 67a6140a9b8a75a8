// SPDX-License-Identifier: Apache-2.0
// ServerLink: all that a gateway has to do with its server, on three threads: the feed (snapshot
// and deltas, kept on disk too), leases and load, usage rows. Each goes on by itself when the
// server is away, and comes back with a growing pause (up to a second). Nothing on the data path
// waits for it. Thread rule: start and stop by the owner; wake() from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "gateway/clock.h"
#include "gateway/dispatcher.h"
#include "gateway/lease_desk.h"
#include "gateway/options.h"
#include "gateway/route_table.h"
#include "gateway/usage_shipper.h"
#include "net/http/client.h"
#include "telemetry/log.h"

namespace tandem::gateway {

struct LinkParts {
    const GatewayOptions& options;
    const Clock& clock;
    RouteBoard& board;
    Dispatcher& dispatcher;
    LeaseDesk& leases;
    UsageJournal& journal;
    telemetry::Log log;
};

// What an earlier life left on disk, so that a gateway can start alone.
void load_routes(const LinkParts& parts);

class ServerLink {
  public:
    static Result<std::unique_ptr<ServerLink>> make(LinkParts parts);
    ~ServerLink();
    ServerLink(const ServerLink&) = delete;
    ServerLink& operator=(const ServerLink&) = delete;

    void start();
    void stop();
    void wake();  // leases or a sleeping service can't wait for the next second
    bool connected() const { return connected_.load(); }

  private:
    ServerLink(LinkParts parts, std::unique_ptr<http::Client> feed,
               std::unique_ptr<http::Client> posts, std::unique_ptr<http::Client> usage);
    void run_feed();
    Status read_feed();
    void take_update(const std::string& text);
    void note_contact();
    void run_posts();
    bool post_leases();
    bool post_load();
    void run_usage();
    Result<std::string> post(http::Client& client, std::string_view path, std::string body);
    bool pause(int ms);  // false: stopping

    LinkParts parts_;
    std::unique_ptr<http::Client> feed_client_;
    std::unique_ptr<http::Client> post_client_;
    std::unique_ptr<http::Client> usage_client_;
    UsageShipper shipper_;
    http::Cancel cancel_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> connected_{false};
    std::mutex mutex_;
    std::condition_variable woken_;
    bool wake_ = false;
    std::map<Uid, model::ServiceLoad> reported_;  // posts thread only
    Instant load_sent_{};
    Instant contact_noted_{};  // feed thread only
    std::thread feed_thread_;
    std::thread post_thread_;
    std::thread usage_thread_;
};

}  // namespace tandem::gateway
