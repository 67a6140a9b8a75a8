// SPDX-License-Identifier: Apache-2.0
// Router: patterns to handlers. Every route says who may come in; a route without a rule stops the
// start.
//
//   open     anybody (health, version, the OpenAPI document)
//   caller   whoever shows a valid key; the handler asks `auth` about what it reads, core about
//   what it changes host     a process of this host that may open the server's unix socket
//   (gateways)
// Thread rule: add() before serving; route() from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/call.h"
#include "api/parameters.h"

namespace tandem::api {

enum class Door : std::uint8_t { unset, open, caller, host };

using RouteHandler = std::function<void(Call)>;

struct Route {
    std::string method{};
    std::string pattern{};  // "/api/v1/projects/{project}"
    Door door = Door::unset;
    RouteHandler handler{};
    std::string operation{};       // for OpenAPI: "listJobs", unique
    std::string summary{};
    std::string request_schema{};  // component names; empty: none
    std::string response_schema{};
    Parameters query{};                   // all that it takes; anything else is refused
    std::shared_ptr<RouteMeter> meter{};  // made by add()
};

class Router {
  public:
    explicit Router(const Parts& parts);

    void add(Route route);
    // First route without a rule or handler; null when all is well.
    const Route* find_unguarded() const;
    // First route whose operation has no name, or that of another; null when all is well.
    const Route* find_unnamed() const;
    const std::vector<Route>& routes() const { return routes_; }

    void route(http::Request request, http::Responder responder) const;
    // What the HTTP server answered by itself, for the access log.
    void note_refusal(const http::RefusedRequest& refused) const;

  private:
    struct Parsed {
        std::vector<std::string> segments{};  // "{x}" for a variable
        std::size_t route = 0;
    };
    // Where a path leads: the route, or the methods that the path would take.
    struct Found {
        const Parsed* parsed = nullptr;
        std::set<std::string> methods{};
    };
    Found find(const std::vector<std::string>& path, const std::string& method) const;
    void enter(const Parsed& parsed, const std::vector<std::string>& path, Call call) const;
    Result<server::Identity> identify(const http::Request& request, Door door) const;

    const Parts& parts_;
    std::unique_ptr<AccessLog> access_log_;
    std::vector<Route> routes_;
    std::map<std::size_t, std::vector<Parsed>> by_length_;
};

}  // namespace tandem::api
