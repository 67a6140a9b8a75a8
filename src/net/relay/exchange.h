// SPDX-License-Identifier: Apache-2.0
// The server face of the relay: what an application implements (Handler, RequestSink) and what it is given
// (Exchange). One Exchange is one request with its answer on one client connection.
//
//   on_request ──▶ on_body* ──▶ on_body_end        the request, as it arrives
//        └── start ── send* ── finish | abort      the answer, whenever the application has it
//   on_client_gone: the client closed, broke, or took nothing for `stall`; nothing may be sent any more.
//
// Ownership: the connection owns the sink, from on_request until finish, abort or on_client_gone has returned; it is
// destroyed at the end of that round. The Exchange is valid just as long.
// Back-pressure: `unsent()` says how many bytes the client has not taken; above `high_water` the application
// stops its source and goes on at on_drained. pause_body() stops reading the request.
// An answer before the end of the request closes the connection after it.
// Thread rule: all of it on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/relay/head.h"
#include "net/relay/loop.h"

namespace tandem::relay {

inline constexpr std::size_t high_water = 256 * 1024;  // bytes per stream
inline constexpr std::size_t low_water = 64 * 1024;

class RequestSink {
  public:
    virtual ~RequestSink() = default;
    virtual void on_body(std::string_view piece) = 0;
    virtual void on_body_end() = 0;
    virtual void on_drained() = 0;
    virtual void on_client_gone() = 0;
};

struct ResponseStart {
    int status = 200;
    std::string_view content_type = "application/json";
    std::string_view headers = {};      // further complete lines, each with CR LF
    std::int64_t content_length = -1;   // -1: chunked, or until close for HTTP/1.0
};

class Exchange {
  public:
    virtual void start(const ResponseStart& response) = 0;
    virtual void send(std::string_view piece) = 0;
    virtual void finish() = 0;
    virtual void abort() = 0;  // the answer can't be completed: close, so that the client notices
    virtual std::size_t unsent() const = 0;
    virtual void pause_body() = 0;
    virtual void resume_body() = 0;
    virtual bool started() const = 0;
    virtual Loop& loop() = 0;
    virtual Endpoint peer() const = 0;

    // The whole answer at once.
    void respond(ResponseStart response, std::string_view body);

  protected:
    ~Exchange() = default;
};

class Handler {
  public:
    virtual ~Handler() = default;
    // Views in `head` die with the call. Null when the answer has been finished already. The body may be read to
    // `body_bytes_max(head)`; a longer one is answered 413 by the relay.
    virtual std::unique_ptr<RequestSink> on_request(const RequestHead& head, Exchange& exchange) = 0;
    virtual std::int64_t body_bytes_max(const RequestHead& head) const = 0;
    // JSON body for an answer that the relay gives itself (400, 408, 413, 414, 431, 503 ...), and its own headers
    // (complete lines).
    virtual std::string render_refusal(int status, std::string_view what) const = 0;
    virtual std::string refusal_headers() { return {}; }
};

// "OK" for 200, "" for what has no text here.
std::string_view reason_phrase(int status);

}  // namespace tandem::relay
