// SPDX-License-Identifier: Apache-2.0
// The client side of the relay: calls to upstream servers over kept-alive connections, one pool per loop.
//
// call() sends a request and reports to a ResponseSink:
//   on_response ── on_response_body* ── on_response_end        or, at any point, on_upstream_failed
// The last of them ends the call; until then `UpstreamCall` may pause, resume and abort (after which nothing is
// reported). No sink function runs inside call().
// The request's bytes are not copied: they stay valid until the call ends.
// A kept connection that turns out dead before its first response byte costs nothing: the request goes once more,
// on a fresh one (the server closed it before it read the request).
// Connections rest `keep_idle` at most; llama.cpp's server closes after 5 s, so we must be earlier.
// Timers: connect, first byte (from sent request to response head), idle (between bytes), total.
// Thread rule: loop thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "net/relay/head.h"
#include "net/relay/loop.h"

namespace tandem::relay {

struct CallTimeouts {
    Duration connect = seconds(2);
    Duration first_byte = seconds(120);
    Duration idle = seconds(60);
    Duration total = hours(1);
};

// Head (complete, with blank line) and body, in the order in which they are sent; unused pieces are empty.
using RequestPieces = std::array<std::string_view, 5>;

enum class UpstreamFailure : std::uint8_t {
    unreachable,         // refused, or no connection in time
    closed_early,        // closed or reset before the response was complete
    malformed,           // what came was not HTTP/1.1 as spoken here
    first_byte_timeout,
    idle_timeout,
    total_timeout,
};
std::string_view name_of(UpstreamFailure failure);

class ResponseSink {
  public:
    virtual void on_response(const ResponseHead& head) = 0;  // views die with the call
    virtual void on_response_body(std::string_view piece) = 0;
    virtual void on_response_end() = 0;
    virtual void on_upstream_failed(UpstreamFailure failure) = 0;

  protected:
    ~ResponseSink() = default;
};

class UpstreamConnection;

// Refers to a running call, from call() to the last report; one holder.
class UpstreamCall {
  public:
    UpstreamCall() = default;
    explicit UpstreamCall(UpstreamConnection& connection) : connection_(&connection) {}

    explicit operator bool() const { return connection_ != nullptr; }
    void clear() { connection_ = nullptr; }  // the sink calls it when the call has ended
    void pause();
    void resume();
    void abort();  // closes the connection: the server sees its client gone

  private:
    UpstreamConnection* connection_ = nullptr;
};

struct PoolOptions {
    Duration keep_idle = milliseconds(4'000);
    std::size_t idle_per_endpoint_max = 256;
    HeadLimits head{};
};

struct PoolCounters {
    std::int64_t connects = 0;
    std::int64_t reused = 0;
    std::int64_t resent = 0;  // on a fresh connection, after a kept one was dead
};

class UpstreamPool {
  public:
    explicit UpstreamPool(Loop& loop, PoolOptions options = {});
    ~UpstreamPool();  // aborts what still runs
    UpstreamPool(const UpstreamPool&) = delete;
    UpstreamPool& operator=(const UpstreamPool&) = delete;

    UpstreamCall call(const Endpoint& endpoint, const RequestPieces& request,
                      const CallTimeouts& timeouts, ResponseSink& sink);
    const PoolCounters& counters() const { return counters_; }

  private:
    friend class UpstreamConnection;
    UpstreamConnection& fresh(const Endpoint& endpoint);
    void keep(UpstreamConnection& connection);
    void drop(UpstreamConnection& connection);

    Loop& loop_;
    PoolOptions options_;
    PoolCounters counters_;
    ResponseHead head_;  // scratch
    std::map<Endpoint, std::vector<UpstreamConnection*>> idle_;
    std::unordered_map<UpstreamConnection*, std::unique_ptr<UpstreamConnection>> connections_;
};

}  // namespace tandem::relay
