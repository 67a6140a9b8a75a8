// SPDX-License-Identifier: Apache-2.0
#include "api/gateways.h"

#include <fmt/format.h>
#include <atomic>

#include "codec/json_writer.h"
#include "codec/record.h"
#include "telemetry/meters.h"

namespace tandem::api {
namespace {

constexpr Duration alive_period = seconds(2);

std::string render_event(const model::FeedUpdate& update) {
    return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", update.version,
                       update.full ? "snapshot" : "delta", codec::encode(update));
}

// Passes deltas on as they are published. Deltas older than the snapshot are left out.
class FeedSession : public std::enable_shared_from_this<FeedSession> {
  public:
    FeedSession(const Parts& parts, http::Stream stream)
        : parts_(parts),
          stream_(std::move(stream)),
          counted_(parts.metrics.gauge("tandem_api_feed_clients", "Gateways that are connected.")) {
    }

    // Listening begins before the snapshot is taken, so that nothing falls between.
    void begin() {
        listener_ = parts_.core.feed().listen([weak = weak_from_this()] {
            if (auto self = weak.lock()) self->pass_on();
        });
        stream_.on_closed([self = shared_from_this()] { self->closed_ = true; });
        const Status queued =
            parts_.core.query([self = shared_from_this()](const core::State& state) {
                self->send_snapshot(
                    self->parts_.core.feed_builder().snapshot(state, self->parts_.core.now()));
            });
        if (!queued) stream_.close();
    }

    bool alive() {
        if (closed_) return false;
        stream_.write(fmt::format("event: alive\ndata: {{\"at\":\"{}\"}}\n\n",
                                  render_instant(parts_.core.now())));
        return true;
    }

  private:
    void send_snapshot(const model::FeedUpdate& snapshot) {
        const std::lock_guard lock(mutex_);
        version_ = snapshot.version;
        begun_ = true;
        stream_.write(render_event(snapshot));
        take();
    }
    void pass_on() {
        const std::lock_guard lock(mutex_);
        if (begun_) take();
    }
    void take() {
        bool lost = false;
        for (const auto& update : listener_->take(lost))
            if (update->version > version_ && !closed_) stream_.write(render_event(*update));
        if (lost) stream_.close();
    }

    const Parts& parts_;
    http::Stream stream_;
    telemetry::GaugeHold counted_;
    std::mutex mutex_;
    std::int64_t version_ = 0;
    bool begun_ = false;
    std::atomic<bool> closed_ = false;
    std::shared_ptr<server::Broadcast<model::FeedUpdate>::Listener> listener_;
};

void feed(const Parts& parts, Ticker& ticker, Call call) {
    http::Stream stream = call.responder.start_stream(
        200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}});
    auto session = std::make_shared<FeedSession>(parts, std::move(stream));
    session->begin();
    ticker.add(alive_period, [session] { return session->alive(); });
}

void take_load(const Parts& parts, Call call) {
    auto load = codec::decode<model::GatewayLoad>(call.request.body);
    if (!load) return call.refuse(load.error());
    parts.core.post(std::move(*load));
    call.responder.respond(http::Response{.status = 204, .headers = {}, .body = {}});
}

std::string render_grants(const std::vector<model::LeaseGrant>& grants) {
    return "{\"grants\":" + codec::encode(grants) + "}";
}

void grant_leases(const Parts& parts, Call call) {
    auto request = codec::decode<model::LeaseRequested>(call.request.body);
    if (!request) return call.refuse(request.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.ask_leases(
        std::move(*request), [shared](const std::vector<model::LeaseGrant>& grants) {
            shared->answer(render_grants(grants));
        });
    if (!queued) shared->refuse(queued.error());
}

void take_usage(const Parts& parts, Call call) {
    auto usage = codec::decode<model::UsageShipped>(call.request.body);
    if (!usage) return call.refuse(usage.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.ship_usage(std::move(*usage), [shared](std::int64_t sequence) {
        shared->answer(fmt::format("{{\"sequence\":{}}}", sequence));
    });
    if (!queued) shared->refuse(queued.error());
}

}  // namespace

void add_gateway_routes(Router& router, const Parts& parts, Ticker& ticker) {
    const auto add = [&](std::string method, std::string pattern, std::string operation,
                         std::string summary, RouteHandler handler) {
        router.add({.method = std::move(method),
                    .pattern = std::move(pattern),
                    .door = Door::host,
                    .handler = std::move(handler),
                    .operation = std::move(operation),
                    .summary = std::move(summary)});
    };
    add("GET", "/api/v1/gateway/feed", "readFeed", "Keys and routes, as a snapshot and deltas",
        [&parts, &ticker](Call call) { feed(parts, ticker, std::move(call)); });
    add("POST", "/api/v1/gateway/load", "reportLoad", "Waiting and running requests of each service",
        [&parts](Call call) { take_load(parts, std::move(call)); });
    add("POST", "/api/v1/gateway/leases", "askLeases", "Ask for shares of keys' limits",
        [&parts](Call call) { grant_leases(parts, std::move(call)); });
    add("POST", "/api/v1/gateway/usage", "shipUsage", "Book usage rows, each once",
        [&parts](Call call) { take_usage(parts, std::move(call)); });
}

}  // namespace tandem::api
