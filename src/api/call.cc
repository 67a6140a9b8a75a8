// SPDX-License-Identifier: Apache-2.0
#include "api/call.h"

#include <fmt/format.h>

#include "base/quantity.h"

namespace tandem::api {

std::string Call::path_or_empty(std::string_view name) const {
    const auto it = path.find(name);
    return it == path.end() ? std::string() : it->second;
}

std::string Call::query_or(std::string_view name, std::string_view otherwise) const {
    return std::string(request.find_query(name).value_or(otherwise));
}

bool Call::query_flag(std::string_view name) const {
    return query_or(name) == "true";
}

void Call::touched(const model::Outcome& outcome) {
    if (outcome.changed || outcome.created)
        exchange->facts.objects.push_back({outcome.uid.text(), outcome.version});
}

model::Caller Call::caller() const {
    return {.subject = who.subject, .key_id = who.key_id, .request_id = request.id};
}

void Call::refuse(const Error& error) {
    http::Response response = http::problem(error);
    if (error.code == ErrorCode::unavailable || error.code == ErrorCode::exhausted)
        response.headers.add("Retry-After", "1");
    responder.respond(std::move(response));
}

void Call::answer(std::string json, int status) {
    responder.respond(status, std::move(json));
}

Result<codec::Value> parse_body(const http::Request& request) {
    if (request.body.empty()) return fail(ErrorCode::invalid, "the request needs a body");
    const std::string_view type = request.headers.get_or("Content-Type", "application/json");
    if (type.find("yaml") == std::string_view::npos) return codec::parse_json(request.body);
    TANDEM_LET(documents, codec::parse_yaml(request.body));
    if (documents.size() != 1)
        return fail(ErrorCode::invalid,
                    fmt::format("must hold one document, holds {}", documents.size()));
    return std::move(documents.front());
}

Result<std::int64_t> query_number(const Call& call, std::string_view name, std::int64_t otherwise,
                                  std::int64_t low, std::int64_t high) {
    const auto text = call.request.find_query(name);
    if (!text) return otherwise;
    const auto value = parse_integer(*text);
    if (!value || *value < low || *value > high)
        return invalid_field(std::string(name), fmt::format("must be {}..{}, is \"{}\"", low, high,
                                                            text->substr(0, 40)));
    return *value;
}

core::ReadScope scope_of(const auth::Reach& reach) {
    return {.all_projects = reach.everywhere, .projects = reach.projects};
}

Status allow_read(const Parts& parts, const Call& call, auth::Permission permission,
                  std::string_view project, const std::string& object) {
    if (auth::decide(call.who.facts, permission, project).allowed) return {};
    parts.core.post(
        model::DenialSeen{.caller = call.caller(), .action = permission.text(), .object = object});
    return fail(ErrorCode::not_found, fmt::format("\"{}\" does not exist", object));
}

}  // namespace tandem::api
