// SPDX-License-Identifier: Apache-2.0
#include "net/relay/upstream.h"

#include "net/relay/upstream_connection.h"

namespace tandem::relay {

std::string_view name_of(UpstreamFailure failure) {
    switch (failure) {
        case UpstreamFailure::unreachable:
            return "unreachable";
        case UpstreamFailure::closed_early:
            return "closed_early";
        case UpstreamFailure::malformed:
            return "malformed";
        case UpstreamFailure::first_byte_timeout:
            return "first_byte_timeout";
        case UpstreamFailure::idle_timeout:
            return "idle_timeout";
        case UpstreamFailure::total_timeout:
            return "total_timeout";
    }
    return "unknown";
}

void UpstreamCall::pause() {
    if (connection_) connection_->pause();
}

void UpstreamCall::resume() {
    if (connection_) connection_->resume();
}

void UpstreamCall::abort() {
    if (connection_) connection_->abort();
    connection_ = nullptr;
}

UpstreamPool::UpstreamPool(Loop& loop, PoolOptions options) : loop_(loop), options_(options) {}

UpstreamPool::~UpstreamPool() {
    std::vector<UpstreamConnection*> all;
    for (auto& [connection, owned] : connections_) all.push_back(connection);
    for (UpstreamConnection* connection : all) connection->abort();
}

UpstreamCall UpstreamPool::call(const Endpoint& endpoint, const RequestPieces& request,
                                const CallTimeouts& timeouts, ResponseSink& sink) {
    auto found = idle_.find(endpoint);
    UpstreamConnection* connection = nullptr;
    if (found != idle_.end() && !found->second.empty()) {
        connection = found->second.back();  // the warmest: the rest may age away
        found->second.pop_back();
        ++counters_.reused;
    } else {
        connection = &fresh(endpoint);
    }
    connection->begin(request, timeouts, sink);
    return UpstreamCall(*connection);
}

UpstreamConnection& UpstreamPool::fresh(const Endpoint& endpoint) {
    ++counters_.connects;
    auto owned = std::make_unique<UpstreamConnection>(*this, endpoint);
    UpstreamConnection& connection = *owned;
    connections_.emplace(&connection, std::move(owned));
    return connection;
}

void UpstreamPool::keep(UpstreamConnection& connection) {
    auto& idle = idle_[connection.endpoint()];
    if (idle.size() >= options_.idle_per_endpoint_max) return connection.abort();
    idle.push_back(&connection);
}

void UpstreamPool::drop(UpstreamConnection& connection) {
    if (const auto found = idle_.find(connection.endpoint()); found != idle_.end()) {
        std::erase(found->second, &connection);
        if (found->second.empty()) idle_.erase(found);
    }
    const auto owned = connections_.find(&connection);
    if (owned == connections_.end()) return;
    loop_.bury(std::move(owned->second));
    connections_.erase(owned);
}

}  // namespace tandem::relay
