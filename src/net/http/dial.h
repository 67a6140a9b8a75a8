// SPDX-License-Identifier: Apache-2.0
// What both clients need to reach a server and to write a request. Inside net/http only.
// Errors have code unavailable and name the server; a call that can't be written is invalid.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "net/http/client.h"
#include "net/http/listen.h"

namespace tandem::http {

struct Endpoint {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

// Numeric hosts and unix sockets: without any look-up. Empty for a name.
Result<std::vector<Endpoint>> numeric_endpoints(const Url& url);
// May block in the system's resolver.
Result<std::vector<Endpoint>> resolve_endpoints(const Url& url);

struct Dialled {
    Socket socket;             // non-blocking
    bool in_progress = false;  // wait until it is writable, then finish_connect()
};
Result<Dialled> begin_connect(const Endpoint& endpoint, const Url& url);
Status finish_connect(const Socket& socket, const Url& url);
std::unexpected<Error> cannot_connect(const Url& url, const std::string& reason);

bool is_stale(const Socket& idle);  // the peer has closed it, or sent what nobody asked for
bool may_repeat(const Call& call);
// The request up to its body.
Result<std::string> render_call_head(const Url& url, const Call& call);

}  // namespace tandem::http
