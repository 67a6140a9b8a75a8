// SPDX-License-Identifier: Apache-2.0
#include "api/router.h"

#include <algorithm>
#include <span>

namespace tandem::api {
namespace {

std::vector<std::string> split_path(std::string_view path) {
    std::vector<std::string> segments;
    while (!path.empty()) {
        if (path.front() == '/') {
            path.remove_prefix(1);
            continue;
        }
        const std::size_t end = std::min(path.find('/'), path.size());
        segments.emplace_back(path.substr(0, end));
        path.remove_prefix(end);
    }
    return segments;
}

bool is_variable(const std::string& segment) {
    return segment.starts_with('{');
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (!is_variable(pattern[i]) && pattern[i] != path[i]) return false;
    return true;
}

std::string join_methods(const std::set<std::string>& methods) {
    std::string text;
    for (const std::string& method : methods) text += (text.empty() ? "" : ", ") + method;
    return text;
}

}  // namespace

Router::Router(const Parts& parts)
    : parts_(parts), access_log_(std::make_unique<AccessLog>(parts.log, parts.metrics)) {}

void Router::add(Route route) {
    route.meter = std::make_shared<RouteMeter>(parts_.metrics, route.method, route.pattern);
    Parsed parsed{.segments = split_path(route.pattern), .route = routes_.size()};
    auto& bucket = by_length_[parsed.segments.size()];
    // Fixed words before variables: "/usage/report" is no "/usage/{name}".
    const auto variables = [](const Parsed& one) {
        return std::count_if(one.segments.begin(), one.segments.end(), is_variable);
    };
    const auto at = std::find_if(bucket.begin(), bucket.end(), [&](const Parsed& other) {
        return variables(other) > variables(parsed);
    });
    bucket.insert(at, std::move(parsed));
    routes_.push_back(std::move(route));
}

const Route* Router::find_unguarded() const {
    for (const Route& route : routes_)
        if (route.door == Door::unset || !route.handler) return &route;
    return nullptr;
}

const Route* Router::find_unnamed() const {
    std::set<std::string> names;
    for (const Route& route : routes_)
        if (route.operation.empty() || !names.insert(route.operation).second) return &route;
    return nullptr;
}

Result<server::Identity> Router::identify(const http::Request& request, Door door) const {
    if (door == Door::open) return server::Identity{};
    if (door == Door::host) {
        if (request.over_unix_socket)
            return server::Identity{.subject = "system:gateway", .key_id = {}, .facts = {}};
        return fail(ErrorCode::unauthenticated,
                    "only processes of the server's own host may do this");
    }
    const std::string_view header = request.headers.get_or("Authorization");
    if (!header.starts_with("Bearer "))
        return fail(ErrorCode::unauthenticated,
                    "send an API key as \"Authorization: Bearer td_...\"", "Authorization");
    return parts_.core.access()->identify(header.substr(7), parts_.core.now());
}

Router::Found Router::find(const std::vector<std::string>& path, const std::string& method) const {
    Found found;
    const auto bucket = by_length_.find(path.size());
    const std::span<const Parsed> candidates =
        bucket == by_length_.end() ? std::span<const Parsed>() : bucket->second;
    for (const Parsed& parsed : candidates) {
        if (!matches(parsed.segments, path)) continue;
        const Route& route = routes_[parsed.route];
        if (route.method == method || (method == "HEAD" && route.method == "GET")) {
            found.parsed = &parsed;
            return found;
        }
        found.methods.insert(route.method);
    }
    return found;
}

void Router::enter(const Parsed& parsed, const std::vector<std::string>& path, Call call) const {
    const Route& route = routes_[parsed.route];
    call.exchange->facts.meter = route.meter.get();
    auto who = identify(call.request, route.door);
    if (!who) {
        parts_.core.post(model::DenialSeen{
            .caller = {.subject = "unknown", .key_id = {}, .request_id = call.request.id},
            .action = "authenticate",
            .object = route.pattern});
        return call.refuse(who.error());
    }
    call.who = std::move(*who);
    call.exchange->facts.subject = call.who.subject;
    call.exchange->facts.key_id = call.who.key_id;
    // A gateway of another version may say more than this server knows.
    if (!call.request.query.empty() && route.door != Door::host)
        if (const Status right = check_query(call.request.query, route.query); !right)
            return call.refuse(right.error());
    for (std::size_t i = 0; i < path.size(); ++i)
        if (is_variable(parsed.segments[i]))
            call.path[parsed.segments[i].substr(1, parsed.segments[i].size() - 2)] = path[i];
    route.handler(std::move(call));
}

void Router::route(http::Request request, http::Responder responder) const {
    const std::vector<std::string> path = split_path(request.path);
    auto exchange = std::make_shared<Exchange>(*access_log_, request, std::move(responder));
    Call call{.request = std::move(request),
              .responder = http::Responder(exchange, 0),
              .who = {},
              .path = {},
              .exchange = exchange};
    const Found found = find(path, call.request.method);
    if (found.parsed) return enter(*found.parsed, path, std::move(call));
    if (found.methods.empty())
        return call.refuse({ErrorCode::not_found, "there is nothing at this path", ""});
    http::Response response =
        http::problem(405, "this path does not take " + call.request.method, "method_not_allowed");
    response.headers.add("Allow", join_methods(found.methods));
    call.responder.respond(std::move(response));
}

void Router::note_refusal(const http::RefusedRequest& refused) const {
    access_log_->record({.request_id = refused.id,
                         .method = refused.method,
                         .path = refused.path,
                         .peer = refused.peer},
                        refused.status, false, std::chrono::microseconds(0));
}

}  // namespace tandem::api
