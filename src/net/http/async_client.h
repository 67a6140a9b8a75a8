// SPDX-License-Identifier: Apache-2.0
// AsyncClient: HTTP/1.1 calls with callbacks on one own thread, to any server; for probes, posts
// and other small exchanges. Each call has one connection of its own or reuses an idle one to the
// same server.
//
// The callback is called exactly once, on the client's thread, and must not block: with the answer
// or an error as in client.h. At most `calls_max` calls run at once and as many wait; further ones
// fail as exhausted. Thread rule: every function from any thread. The destructor ends running calls
// (unavailable) and joins; it waits for a name look-up that runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/http/message.h"
#include "net/http/url.h"

namespace tandem::http {

struct AsyncClientOptions {
    std::string ca_file{};
    std::string certificate_file{};
    std::string key_file{};
    int calls_max = 256;
    int idle_per_server_max = 8;
    Duration idle_max = seconds(30);
    std::int64_t header_bytes_max = 64 * 1024;
};

struct AsyncCall {
    Url server{};
    Call call{};
    Duration connect_deadline = seconds(2);
    Duration total_deadline = seconds(10);  // from send() on, waiting included
    std::int64_t body_max = 1024 * 1024;
};

struct AsyncClientState;

class AsyncClient {
  public:
    using Callback = std::move_only_function<void(Result<Response>)>;

    static Result<std::unique_ptr<AsyncClient>> make(AsyncClientOptions options);
    ~AsyncClient();
    AsyncClient(const AsyncClient&) = delete;
    AsyncClient& operator=(const AsyncClient&) = delete;

    void send(AsyncCall call, Callback callback);

  private:
    explicit AsyncClient(std::shared_ptr<AsyncClientState> state);
    std::shared_ptr<AsyncClientState> state_;
};

}  // namespace tandem::http
