// SPDX-License-Identifier: Apache-2.0
// For tests of the clients: a handler that echoes, the address of a server, and a call that is
// waited for.
#pragma once

#include <cstdlib>
#include <future>
#include <memory>

#include "net/http/async_client.h"
#include "net/http/client.h"
#include "net/http/test_server.h"

namespace tandem::http {

inline void echo(Request request, Responder responder) {
    responder.respond({.status = request.path == "/missing" ? 404 : 200,
                       .headers = {{"X-Peer-Name", request.peer_name}},
                       .body = request.method + " " + request.path + " " + request.body});
}

inline Url url_of(const Server& server) {
    return {.scheme = Scheme::http, .host = "127.0.0.1", .port = server.port(), .path = ""};
}

inline std::unique_ptr<Client> client_of(ClientOptions options) {
    return Client::make(std::move(options)).value();
}

inline Result<Response> await(AsyncClient& client, AsyncCall call) {
    std::promise<Result<Response>> promise;
    auto future = promise.get_future();
    client.send(std::move(call),
                [&](Result<Response> result) { promise.set_value(std::move(result)); });
    if (future.wait_for(std::chrono::seconds(10)) != std::future_status::ready) std::abort();
    return future.get();
}

}  // namespace tandem::http
