// SPDX-License-Identifier: Apache-2.0
// Server: HTTP/1.1 over TCP, TLS and unix sockets at once; used by the API and the gateway's own
// routes.
//
// The handler runs on the `threads` worker threads, on all at once, and must not block for long: it
// answers or moves its Responder away and finishes later from any thread. What the server itself
// refuses (see Limits) never reaches the handler and is answered with an RFC 9457 body. A handler
// that throws answers 500.
//
// Errors of start() name the address and what is wrong ("127.0.0.1:8080 is in use").
// Thread rule: every function from any thread, but stop() and the destructor not from a handler.
// Invariants: (1) each request gets exactly one answer, in order; a Responder that goes without one
// sends 500. (2) buffers of a connection are bounded by Limits; a peer that is too slow is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/http/message.h"

namespace tandem::http {

// The two faces behind Responder and Stream. A test of a handler may bring its own.
class StreamSink {
  public:
    virtual ~StreamSink() = default;
    virtual bool write(std::string_view text) = 0;
    virtual std::size_t room() const = 0;
    virtual void close() = 0;
    virtual void on_closed(std::move_only_function<void()> callback) = 0;
    virtual void on_drained(std::move_only_function<void()> callback) = 0;
};
class ResponseSink {
  public:
    virtual ~ResponseSink() = default;
    virtual void respond(std::uint64_t ticket, Response response) = 0;
    virtual std::shared_ptr<StreamSink> start_stream(std::uint64_t ticket, int status,
                                                     Headers headers) = 0;
};

// A response that is written piece by piece (SSE, logs). A copyable handle; the stream is closed
// when the last copy goes.
class Stream {
  public:
    Stream() = default;
    explicit Stream(std::shared_ptr<StreamSink> sink);

    // False when the peer is gone or the text does not fit in the buffer (Limits::stream_buffer). A
    // write that does not fit drops the peer, since its stream would have a hole; ask room() first
    // to wait instead.
    bool write(std::string_view text) const;
    std::size_t room() const;  // bytes that fit now; 0 when closed
    void close() const;        // sends what is buffered, then ends the response
    // Called once when the stream has ended, for whichever reason; at once if it already has. One
    // callback.
    void on_closed(std::move_only_function<void()> callback) const;
    // Called once when the buffer is at most half full (at once if so now), or when the stream has
    // ended.
    void on_drained(std::move_only_function<void()> callback) const;

  private:
    struct Handle;
    std::shared_ptr<Handle> handle_;
};

class Responder {
  public:
    Responder() = default;
    Responder(std::shared_ptr<ResponseSink> sink, std::uint64_t ticket)
        : sink_(std::move(sink)), ticket_(ticket) {}
    Responder(Responder&& other) noexcept = default;
    Responder& operator=(Responder&& other) noexcept;
    ~Responder();

    // Either of these finishes it. Requires: not finished before.
    void respond(Response response);
    void respond(int status, std::string body, std::string content_type = "application/json");
    Stream start_stream(int status, Headers headers);

    explicit operator bool() const { return sink_ != nullptr; }

  private:
    std::shared_ptr<ResponseSink> sink_;
    std::uint64_t ticket_ = 0;
};

using Handler = std::move_only_function<void(Request, Responder)>;

// Asked when the head of a request with a body has been read (`request.body` is empty), before the
// body is. Runs on a worker thread, for several connections at once.
struct BodyVerdict {
    std::optional<std::int64_t> body_max{};  // instead of Limits::body_max, for this request
    std::optional<Response> refusal{};       // answered at once; the connection is then closed
};
using BodyGate = std::move_only_function<BodyVerdict(const Request&)>;

// What the server answered by itself, as far as it was read; method and path may be empty.
struct RefusedRequest {
    int status = 0;
    std::string method{};
    std::string path{};
    std::string peer{};
    std::string id{};
};
// Told of each of them, on a worker thread, for several connections at once.
using RefusalListener = std::move_only_function<void(const RefusedRequest&)>;

struct Limits {
    std::int64_t request_line_max = 8 * 1024;   // 414
    std::int64_t headers_max = 100;             // 431
    std::int64_t header_bytes_max = 32 * 1024;  // 431
    std::int64_t body_max = 1024 * 1024;        // 413
    Duration header_deadline = seconds(10);     // 408
    Duration body_grace = seconds(10);  // after it the body must average body_rate_min, else 408
    std::int64_t body_rate_min = 1024;  // bytes a second
    Duration idle_max = seconds(75);    // between requests; closed silently
    Duration write_stall_max = seconds(30);  // without any byte taken by the peer; dropped
    std::int64_t connections_max = 4096;     // 503
    std::int64_t stream_buffer = 256 * 1024;
};

struct TlsFiles {
    std::string certificate_file;  // PEM chain
    std::string key_file;          // PEM, not encrypted
    std::string client_ca_file{};  // if given, clients must show a certificate of it
};

struct TcpListen {
    std::string address = "127.0.0.1";  // numeric IPv4 or IPv6; "::" takes both kinds
    std::uint16_t port = 0;             // 0: any free one
    std::optional<TlsFiles> tls{};      // files that change are read again for new connections
    bool if_there = false;              // left out on a host that has no such address
};

struct ServerOptions {
    std::vector<TcpListen> tcp{};
    std::vector<std::string> unix_sockets{};  // files, made with mode 0600; a stale one is replaced
    int threads = 1;
    Limits limits{};
    BodyGate body_gate{};
    RefusalListener on_refused{};
};

struct ServerStats {
    std::int64_t connections = 0;       // open now
    std::uint64_t requests = 0;         // handed to the handler
    std::uint64_t refused = 0;          // answered by the server itself
    std::uint64_t streams_dropped = 0;  // peers too slow for their stream
};

class Server {
  public:
    static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
    ~Server();  // stop() with no grace
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    std::uint16_t port(std::size_t listen = 0) const;  // of options.tcp[listen]
    ServerStats stats() const;
    // Stops accepting, closes streams and idle connections, waits at most `grace` for running
    // requests, then closes the rest. Callbacks and handlers have returned when it returns. A
    // second call does nothing.
    void stop(Duration grace);

  private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tandem::http
