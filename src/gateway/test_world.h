// SPDX-License-Identifier: Apache-2.0
// For tests: a gateway between a server and model servers that the test plays, all over loopback in
// one process.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "codec/gateway_wire.h"
#include "codec/record.h"
#include "crypto/api_key.h"
#include "gateway/gateway.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/http/sse.h"
#include "traffic/lease_authority.h"

namespace tandem::gateway {

// Waits for a condition that other threads bring about; false after 5 s.
template <class Condition>
bool eventually(Condition condition) {
    for (int i = 0; i < 1000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

// A model server whose answers the test gives: each call is handed to `serve`.
class ScriptedEngine {
  public:
    using Serve = std::function<void(http::Request, http::Responder)>;
    explicit ScriptedEngine(Serve serve) : serve_(std::move(serve)) {
        http::Limits limits;
        limits.body_max = 16 * 1024 * 1024;
        auto server = http::Server::start({.tcp = {{}}, .threads = 2, .limits = limits},
                                          [this](http::Request request, http::Responder responder) {
                                              {
                                                  const std::lock_guard lock(mutex_);
                                                  requests_.push_back(request);
                                              }
                                              serve_(std::move(request), std::move(responder));
                                          });
        EXPECT_TRUE(server);
        server_ = std::move(*server);
    }
    std::string endpoint() const { return "127.0.0.1:" + std::to_string(server_->port()); }
    std::size_t calls() const {
        const std::lock_guard lock(mutex_);
        return requests_.size();
    }
    http::Request request(std::size_t index) const {
        const std::lock_guard lock(mutex_);
        return requests_.at(index);
    }

  private:
    Serve serve_;
    mutable std::mutex mutex_;
    std::vector<http::Request> requests_;
    std::unique_ptr<http::Server> server_;
};

// The server's side of the wire: feed, leases by the real authority, load, usage by core's cursor
// rule.
class PlayedServer {
  public:
    PlayedServer() { come_up(0); }
    void go_down() { server_.reset(); }
    void come_up(std::uint16_t port) {
        auto server = http::Server::start({.tcp = {{.port = port}}, .threads = 2},
                                          [this](http::Request request, http::Responder responder) {
                                              serve(std::move(request), std::move(responder));
                                          });
        ASSERT_TRUE(server) << server.error().message;
        server_ = std::move(*server);
        port_ = server_->port();
    }
    std::uint16_t port() const { return port_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    void publish(model::FeedUpdate update) {
        const std::lock_guard lock(mutex_);
        update.version = ++version_;
        current_ = update;
        const auto text = render();
        for (auto& stream : streams_) stream.write(text);
    }
    std::vector<model::RequestUsage> rows() const {
        const std::lock_guard lock(mutex_);
        return rows_;
    }
    std::int64_t most_waiting() const {
        const std::lock_guard lock(mutex_);
        return most_waiting_;
    }
    void limit(const std::string& key_id, traffic::LeaseLimits limits) {
        const std::lock_guard lock(mutex_);
        limits_[key_id] = limits;
    }

  private:
    std::string render() const {
        return http::render_sse(
            {.id = {},
             .event = std::string(current_->full ? codec::snapshot_event : codec::delta_event),
             .data = codec::encode(*current_)});
    }
    void serve(http::Request request, http::Responder responder) {
        const std::lock_guard lock(mutex_);
        if (request.path == codec::feed_path) {
            auto stream = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
            if (current_) stream.write(render());
            streams_.push_back(std::move(stream));
        } else if (request.path == codec::leases_path) {
            responder.respond(200, grant(request.body));
        } else if (request.path == codec::load_path) {
            const auto load = codec::decode<model::GatewayLoad>(request.body);
            for (const auto& entry : load->services)
                most_waiting_ = std::max(most_waiting_, entry.waiting);
            responder.respond({.status = 204});
        } else if (request.path == codec::usage_path) {
            responder.respond(200, book(request.body));
        } else {
            responder.respond({.status = 404});
        }
    }
    std::string grant(const std::string& body) {
        const auto asked = codec::decode<model::LeaseRequested>(body);
        std::vector<traffic::LeaseAuthority::Asked> batch;
        for (const auto& ask : asked->asks)
            batch.push_back({.ask = ask, .limits = limits_[ask.key_id]});
        const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch());
        return "{\"grants\":" +
               codec::encode(authority_.ask(asked->gateway, batch, Instant{now.count()})) + "}";
    }
    std::string book(const std::string& body) {
        const auto shipped = codec::decode<model::UsageShipped>(body);
        auto& cursor = cursors_[{shipped->gateway, shipped->epoch}];
        for (const auto& row : shipped->rows) {
            if (row.sequence <= cursor) continue;
            cursor = row.sequence;
            rows_.push_back(row);
        }
        return "{\"sequence\":" + std::to_string(cursor) + "}";
    }

    mutable std::mutex mutex_;
    std::map<std::string, traffic::LeaseLimits> limits_;
    std::int64_t version_ = 0;
    std::optional<model::FeedUpdate> current_;
    std::vector<http::Stream> streams_;
    traffic::LeaseAuthority authority_;
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> cursors_;
    std::vector<model::RequestUsage> rows_;
    std::int64_t most_waiting_ = 0;
    std::uint16_t port_ = 0;
    std::unique_ptr<http::Server> server_;
};

class GatewayTest : public testing::Test {
  protected:
    GatewayTest() {
        char name[] = "/tmp/tandem-gateway-XXXXXX";
        home_ = ::mkdtemp(name);
        options_ = {.name = "gw", .home = home_, .server = played_.url()};
    }
    ~GatewayTest() override {
        gateway_.reset();
        std::filesystem::remove_all(home_);
    }

    static Uid uid_of(std::uint8_t number) {
        Uid uid;
        uid.bytes[11] = number;
        return uid;
    }
    // A service of these replicas, in a project that the key may use.
    static model::FeedService service(const std::string& name,
                                      const std::vector<std::string>& endpoints,
                                      std::int64_t concurrency = 4,
                                      const std::string& project = "default") {
        std::uint8_t sum = 0;
        for (char c : name) sum = static_cast<std::uint8_t>(sum * 31 + c);
        model::FeedService result{.uid = uid_of(sum),
                                  .public_name = name,
                                  .project = project,
                                  .name_space = "default",
                                  .name = name,
                                  .concurrency = concurrency,
                                  .created = Instant{1'700'000'000'000}};
        std::uint8_t number = 100;
        for (const auto& endpoint : endpoints) {
            result.replicas.push_back({.uid = uid_of(number),
                                       .name = name + "-" + std::to_string(number),
                                       .endpoint = endpoint,
                                       .key = "replica-secret",
                                       .model_version = "m.v1"});
            ++number;
        }
        return result;
    }
    void publish(std::vector<model::FeedService> services, std::int64_t rate = 0,
                 std::int64_t concurrency = 0) {
        played_.limit(key_.key_id, {.rate = rate, .concurrency = concurrency});
        played_.publish({.generation = 1,
                         .full = true,
                         .keys = {{.key_id = key_.key_id,
                                   .digest = key_.digest,
                                   .subject = "user:a",
                                   .projects = {"default"},
                                   .requests_per_minute = rate,
                                   .concurrency = concurrency}},
                         .services = std::move(services)});
    }
    void start() {
        auto started = Gateway::start(options_, {}, metrics_);
        ASSERT_TRUE(started) << started.error().message;
        gateway_ = std::move(*started);
        ASSERT_TRUE(eventually([&] { return gateway_->connected() || options_.server.empty(); }));
        options_.listen = gateway_->endpoint();  // a restart comes back on the same port
    }
    http::Client& client() {
        if (!client_) {
            auto made = http::Client::make(
                {.server = *http::parse_url("http://" + gateway_->endpoint().text()),
                 .total_deadline = seconds(10)});
            EXPECT_TRUE(made);
            client_ = std::move(*made);
        }
        return *client_;
    }
    http::Call call(const std::string& body,
                    const std::string& target = "/v1/chat/completions") const {
        return {.method = "POST",
                .target = target,
                .headers = {{"Content-Type", "application/json"},
                            {"Authorization", "Bearer " + std::string(key_.text.reveal())}},
                .body = body};
    }
    http::Response send(const http::Call& what) {
        const auto response = client().send(what);
        EXPECT_TRUE(response) << response.error().message;
        return response.value_or(http::Response{.status = 0});
    }
    http::Response get(const std::string& target) {
        auto what = call("", target);
        what.method = "GET";
        return send(what);
    }
    std::vector<model::RequestUsage> rows(std::size_t count) {
        EXPECT_TRUE(eventually([&] { return played_.rows().size() >= count; }));
        return played_.rows();
    }

    std::string home_;
    PlayedServer played_;
    crypto::NewApiKey key_ = crypto::make_api_key();
    telemetry::Metrics metrics_;
    GatewayOptions options_;
    std::unique_ptr<Gateway> gateway_;
    std::unique_ptr<http::Client> client_;
};

}  // namespace tandem::gateway
