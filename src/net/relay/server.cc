// SPDX-License-Identifier: Apache-2.0
#include "net/relay/server.h"

#include <csignal>
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
        // OpenSSL writes without MSG_NOSIGNAL: a peer that has gone must be an error here, not the
        // process's end.
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
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

Server::~Server() {
    stop(milliseconds(0));
}

Loop& Server::loop(int index) {
    return *lanes_.at(static_cast<std::size_t>(index))->loop;
}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options,
                                              HandlerFactory factory) {
    auto server = std::unique_ptr<Server>(new Server);
    TANDEM_TRY(server->open_lanes(options, factory));
    return server;
}

Status Server::open_lanes(const ServerOptions& options, const HandlerFactory& factory) {
    endpoint_ = options.listen;
    if (options.tls) {
        TANDEM_LET(identity, TlsIdentity::load(*options.tls));
        tls_ = std::move(identity);
    }
    for (int i = 0; i < options.threads; ++i) {
        TANDEM_LET(listeners, listen_on(options));
        TANDEM_LET(loop, Loop::make());
        auto lane = std::make_unique<Lane>();
        lane->loop = std::move(loop);
        Lane& ref = *lane;
        std::promise<Status> ready;
        auto listening = ready.get_future();
        auto make = [this, &ref, &factory, limits = options.limits, i,
                     sockets = std::make_shared<std::vector<Fd>>(std::move(listeners))] {
            return std::make_unique<Acceptor>(*ref.loop, std::move(*sockets), tls_, limits,
                                              counters_, factory(*ref.loop, i));
        };
        lane->thread = std::thread([&ref, &ready, make] { ref.run(ready, make); });
        lanes_.push_back(std::move(lane));
        TANDEM_TRY(listening.get());
    }
    return {};
}

// The sockets of one loop.
Result<std::vector<Fd>> Server::listen_on(const ServerOptions& options) {
    std::vector<Fd> sockets;
    TANDEM_LET(first, listen_tcp(endpoint_));
    if (endpoint_.port == 0) {
        TANDEM_LET(port, local_port(first));
        endpoint_.port = port;  // the other sockets share the port that the first was given
    }
    sockets.push_back(std::move(first));
    for (Endpoint also : options.also) {
        if (also.port == 0) also.port = endpoint_.port;
        if (auto socket = listen_tcp(also))
            sockets.push_back(std::move(*socket));
        else if (has_address(also))
            return pass_on(socket.error());
    }
    return sockets;
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
