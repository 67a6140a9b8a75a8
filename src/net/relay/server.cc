// SPDX-License-Identifier: Apache-2.0
#include "net/relay/server.h"

#include <future>

#include "net/relay/acceptor.h"

namespace tandem::relay {

// One loop with its thread. Everything but `loop` is touched by the thread only.
struct Server::Lane {
    std::unique_ptr<Loop> loop;
    std::unique_ptr<Acceptor> acceptor;
    std::unique_ptr<Timer> drain_timer;
    std::thread thread;

    void run(std::promise<Status>& ready, std::function<std::unique_ptr<Acceptor>()> make) {
        acceptor = make();
        auto opened = acceptor->open();
        const bool good = opened.has_value();
        ready.set_value(std::move(opened));
        if (good) loop->run();
        acceptor->end_all();
        drain_timer.reset();
        acceptor.reset();
    }

    void drain_until(std::int64_t deadline_ms) {
        if (acceptor->empty() || loop->now_ms() >= deadline_ms) return loop->stop();
        drain_timer = std::make_unique<Timer>([this, deadline_ms] { drain_until(deadline_ms); });
        loop->timers().arm(*drain_timer, loop->now_ms() + 10);
    }
};

Server::Server() = default;

Server::~Server() { stop(milliseconds(0)); }

Loop& Server::loop(int index) { return *lanes_.at(static_cast<std::size_t>(index))->loop; }

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, HandlerFactory factory) {
    auto server = std::unique_ptr<Server>(new Server);
    TANDEM_TRY(server->open_lanes(options, factory));
    return server;
}

Status Server::open_lanes(const ServerOptions& options, const HandlerFactory& factory) {
    endpoint_ = options.listen;
    for (int i = 0; i < options.threads; ++i) {
        TANDEM_LET(listener, listen_tcp(endpoint_));
        if (endpoint_.port == 0) {
            TANDEM_LET(port, local_port(listener));
            endpoint_.port = port;  // the other loops share the port that the first was given
        }
        TANDEM_LET(loop, Loop::make());
        auto lane = std::make_unique<Lane>();
        lane->loop = std::move(loop);
        Lane& ref = *lane;
        std::promise<Status> ready;
        auto listening = ready.get_future();
        auto make = [this, &ref, &factory, limits = options.limits, i,
                     socket = std::make_shared<Fd>(std::move(listener))] {
            return std::make_unique<Acceptor>(*ref.loop, std::move(*socket), limits, counters_,
                                              factory(*ref.loop, i));
        };
        lane->thread = std::thread([&ref, &ready, make] { ref.run(ready, make); });
        lanes_.push_back(std::move(lane));
        TANDEM_TRY(listening.get());
    }
    return {};
}

void Server::stop(Duration grace) {
    if (stopped_) return;
    stopped_ = true;
    for (auto& lane : lanes_) {
        Lane& ref = *lane;
        ref.loop->post([&ref, grace] {
            if (!ref.acceptor) return;
            ref.acceptor->close_door();
            ref.drain_until(ref.loop->now_ms() + grace.ms);
        });
    }
    for (auto& lane : lanes_)
        if (lane->thread.joinable()) lane->thread.join();
}

}  // namespace tandem::relay
