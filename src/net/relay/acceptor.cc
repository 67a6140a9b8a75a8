// SPDX-License-Identifier: Apache-2.0
#include "net/relay/acceptor.h"

#include <sys/socket.h>

#include <fmt/format.h>

namespace tandem::relay {

Acceptor::Acceptor(Loop& loop, std::vector<Fd> listeners, std::shared_ptr<TlsIdentity> tls,
                   const ServerLimits& limits, ServerCounters& counters,
                   std::unique_ptr<Handler> handler)
    : loop_(loop),
      listeners_(std::move(listeners)),
      tls_(std::move(tls)),
      limits_(limits),
      counters_(counters),
      fd_max_(descriptor_limit() - limits.descriptors_reserved),
      handler_(std::move(handler)),
      retry_([this] { on_events(event_in); }) {}

Acceptor::~Acceptor() = default;

Status Acceptor::open() {
    for (const Fd& listener : listeners_) TANDEM_TRY(loop_.watch_accept(listener, *this));
    return {};
}

void Acceptor::close_door() {
    listeners_.clear();
    retry_.cancel();
    for (ClientConnection* connection : all()) connection->close_if_idle();
}

void Acceptor::end_all() {
    for (ClientConnection* connection : all()) connection->end();
}

std::vector<ClientConnection*> Acceptor::all() const {
    std::vector<ClientConnection*> result;
    result.reserve(connections_.size());
    for (const auto& [connection, owned] : connections_) result.push_back(connection);
    return result;
}

void Acceptor::on_events(std::uint32_t) {
    if (tls_) tls_->refresh(loop_.now_ms());
    for (const Fd& listener : listeners_)
        if (!accept_from(listener)) return loop_.timers().arm(retry_, loop_.now_ms() + 100);
}

// False: out of descriptors.
bool Acceptor::accept_from(const Fd& listener) {
    for (int i = 0; i < 64; ++i) {
        auto accepted = accept_tcp(listener);
        if (accepted.exhausted) return false;
        if (!accepted.socket) break;
        admit(std::move(accepted));
    }
    return true;
}

void Acceptor::admit(Accepted accepted) {
    const auto from = accepted.peer.network();
    auto& from_here = per_address_[from];
    const bool crowded = !accepted.peer.loopback() && from_here >= limits_.connections_per_address;
    const bool full = counters_.open.load(std::memory_order_relaxed) >= limits_.connections_max;
    if (crowded || full || accepted.socket.get() >= fd_max_) {
        if (from_here == 0) per_address_.erase(from);
        refuse(std::move(accepted.socket));
        return;
    }
    ++from_here;
    counters_.accepted.fetch_add(1, std::memory_order_relaxed);
    counters_.open.fetch_add(1, std::memory_order_relaxed);
    auto tls = tls_ ? tls_->accept(accepted.socket) : nullptr;
    auto connection = std::make_unique<ClientConnection>(*this, std::move(accepted.socket),
                                                         accepted.peer, std::move(tls));
    ClientConnection& ref = *connection;
    connections_.emplace(&ref, std::move(connection));
    if (!ref.open()) forget(ref);
}

void Acceptor::refuse(Fd socket) {
    counters_.refused.fetch_add(1, std::memory_order_relaxed);
    if (tls_) return;  // a handshake for a refusal would cost more than serving
    const auto body = handler_->render_refusal(503, "too many connections");
    const auto text = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
        "{}Connection: close\r\nContent-Length: {}\r\n\r\n{}",
        handler_->refusal_headers(), body.size(), body);
    ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

void Acceptor::forget(ClientConnection& connection) {
    const auto found = connections_.find(&connection);
    if (found == connections_.end()) return;
    counters_.open.fetch_sub(1, std::memory_order_relaxed);
    const auto counted = per_address_.find(connection.peer().network());
    if (counted != per_address_.end() && --counted->second == 0) per_address_.erase(counted);
    loop_.bury(std::move(found->second));
    connections_.erase(found);
}

}  // namespace tandem::relay
