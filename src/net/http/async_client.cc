// SPDX-License-Identifier: Apache-2.0
#include "net/http/async_client.h"

#include <pthread.h>

#include <csignal>

#include <boost/asio/post.hpp>

#include "net/http/async_exchange.h"

namespace tandem::http {

namespace asio = boost::asio;

Status AsyncClientState::load_tls() {
    TANDEM_LET(loaded, TlsContext::for_client({.ca_file = options.ca_file,
                                               .certificate_file = options.certificate_file,
                                               .key_file = options.key_file}));
    tls = std::move(loaded);
    return {};
}

void AsyncClientState::submit(std::shared_ptr<AsyncExchange> exchange) {
    live.insert(exchange);
    if (stopping) return exchange->fail_with({ErrorCode::unavailable, "the client is stopping"});
    exchange->arm();
    if (running >= options.calls_max) {
        waiting.push_back(std::move(exchange));
        return;
    }
    ++running;
    exchange->mark_running();
    exchange->start();
}

void AsyncClientState::finished(const std::shared_ptr<AsyncExchange>& exchange, bool was_running) {
    live.erase(exchange);
    admitted.fetch_sub(1);
    if (!was_running) {
        std::erase(waiting, exchange);
        return;
    }
    --running;
    if (waiting.empty() || stopping) return;
    auto next = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    next->mark_running();
    asio::post(loop, [next] { next->start(); });  // not from here: the chain could get deep
}

std::optional<IdleWire> AsyncClientState::take_idle(const std::string& server) {
    auto found = idle.find(server);
    std::optional<IdleWire> taken;
    if (found == idle.end()) return taken;
    while (!found->second.empty() && !taken) {
        if (!is_stale(found->second.back().socket)) taken = std::move(found->second.back());
        found->second.pop_back();
    }
    if (found->second.empty()) idle.erase(found);
    return taken;
}

void AsyncClientState::keep_idle(const std::string& server, IdleWire wire) {
    auto& of = idle[server];
    if (static_cast<int>(of.size()) < options.idle_per_server_max) of.push_back(std::move(wire));
    if (of.empty()) idle.erase(server);
    if (!sweeping && !idle.empty()) sweep_idle();
}

void AsyncClientState::sweep_idle() {
    AsyncTime oldest =
        std::chrono::steady_clock::now() - std::chrono::milliseconds(options.idle_max.ms);
    for (auto& [server, wires] : idle)
        std::erase_if(wires, [&](const IdleWire& wire) { return wire.since <= oldest; });
    std::erase_if(idle, [](const auto& entry) { return entry.second.empty(); });
    sweeping = !idle.empty() && !stopping;
    if (!sweeping) return;
    sweep.expires_after(std::chrono::milliseconds(options.idle_max.ms));
    sweep.async_wait([this](const boost::system::error_code& error) {
        if (!error) sweep_idle();
    });
}

void AsyncClientState::stop() {
    stopping = true;
    waiting.clear();
    auto all = live;
    for (const auto& exchange : all)
        exchange->fail_with({ErrorCode::unavailable, "the client is stopping"});
    idle.clear();
    sweep.cancel();
    keep_running.reset();
}

AsyncClient::AsyncClient(std::shared_ptr<AsyncClientState> state) : state_(std::move(state)) {}

AsyncClient::~AsyncClient() {
    asio::post(state_->loop, [state = state_.get()] { state->stop(); });
    state_->thread.join();
}

Result<std::unique_ptr<AsyncClient>> AsyncClient::make(AsyncClientOptions options) {
    if (options.calls_max < 1) return invalid_field("calls_max", "must be at least 1");
    auto state = std::make_shared<AsyncClientState>();
    state->options = std::move(options);
    // The system's certificates cost memory, so they wait for the first https call.
    if (!state->options.ca_file.empty() || !state->options.certificate_file.empty())
        TANDEM_TRY(state->load_tls());
    state->keep_running.emplace(state->loop.get_executor());
    state->thread = std::thread([state = state.get()] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        pthread_setname_np(pthread_self(), "http-client");
        state->loop.run();
    });
    return std::unique_ptr<AsyncClient>(new AsyncClient(std::move(state)));
}

void AsyncClient::send(AsyncCall call, Callback callback) {
    if (state_->admitted.fetch_add(1) >= 2 * state_->options.calls_max) {
        state_->admitted.fetch_sub(1);
        asio::post(state_->loop, [callback = std::move(callback)]() mutable {
            callback(fail(ErrorCode::exhausted, "too many calls wait already; try again later"));
        });
        return;
    }
    auto exchange = std::make_shared<AsyncExchange>(*state_, std::move(call), std::move(callback));
    asio::post(state_->loop, [state = state_.get(), exchange] { state->submit(exchange); });
}

}  // namespace tandem::http
