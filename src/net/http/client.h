// SPDX-License-Identifier: Apache-2.0
// Client: blocking HTTP/1.1 calls to one server over TCP, TLS or a unix socket; used by the CLI,
// the gateway's feed and tests. Keeps up to `idle_max` connections for reuse. When a reused
// connection turns out to be closed before any byte of the answer, a call that may be repeated
// (GET, HEAD, PUT, DELETE, OPTIONS, or any with an Idempotency-Key) is sent once more on a fresh
// one.
//
// Errors: unavailable (can't connect, cut off, deadline; the message names the server), invalid
// (not HTTP, or an answer that breaks the limits), too_large (body beyond body_max). Any HTTP
// status is a success here. Thread rule: every function from any thread; calls of several threads
// run side by side.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/http/message.h"
#include "net/http/url.h"

namespace tandem::http {

struct ClientOptions {
    Url server{};
    std::string ca_file{};           // for https; empty: the system's
    std::string certificate_file{};  // own identity for mutual TLS
    std::string key_file{};
    Duration connect_deadline = seconds(5);       // name look-up not included
    Duration total_deadline = seconds(30);        // of send(): from connecting to the last byte
    Duration stream_idle_deadline = seconds(60);  // of stream(): longest silence
    std::int64_t body_max = 64 * 1024 * 1024;
    std::int64_t header_bytes_max = 64 * 1024;
    int idle_max = 4;
};

// Ends a running stream() or send() from another thread. Reusable: no. A cancelled call fails as
// unavailable.
class Cancel {
  public:
    Cancel();
    ~Cancel();
    Cancel(const Cancel&) = delete;
    Cancel& operator=(const Cancel&) = delete;

    void cancel();
    bool cancelled() const { return cancelled_.load(); }
    int wait_descriptor() const { return descriptor_; }  // readable once cancelled

  private:
    std::atomic<bool> cancelled_ = false;
    int descriptor_ = -1;
};

// Told of the head once, then of each piece of the body. Either returns false to end the call (a
// success).
struct StreamReader {
    std::move_only_function<bool(const Response&)> on_head{};  // may be empty
    std::move_only_function<bool(std::string_view)> on_chunk;
};

class Client {
  public:
    // Error: TLS files that can't be read.
    static Result<std::unique_ptr<Client>> make(ClientOptions options);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    Result<Response> send(const Call& call, Cancel* cancel = nullptr);
    // Returns when the body has ended, the reader said stop, or with an error. No total deadline.
    Status stream(const Call& call, StreamReader reader, Cancel* cancel = nullptr);

  private:
    struct State;
    explicit Client(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tandem::http
