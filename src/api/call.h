// SPDX-License-Identifier: Apache-2.0
// Call: one request on its way through a handler: who asks, for what, and the way to answer.
// Handlers are: parse -> command or query -> render.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/exchange.h"
#include "api/parts.h"
#include "auth/policy.h"
#include "codec/document.h"
#include "net/http/server.h"
#include "server/access_view.h"

namespace tandem::api {

struct Call {
    http::Request request;
    http::Responder responder;
    server::Identity who;
    std::map<std::string, std::string, std::less<>> path;  // "{name}" of the pattern -> text
    std::shared_ptr<Exchange> exchange{};

    const std::string& at(std::string_view name) const { return path.find(name)->second; }
    std::string path_or_empty(std::string_view name) const;
    std::string query_or(std::string_view name, std::string_view otherwise = {}) const;
    bool query_flag(std::string_view name) const;  // the router has checked that it is one
    model::Caller caller() const;

    void touched(const model::Outcome& outcome);  // for the access log
    void refuse(const Error& error);
    void answer(std::string json, int status = 200);
};

// Body as one document: JSON, or YAML when the content type says so. Error when there is none.
Result<codec::Value> parse_body(const http::Request& request);

// A whole number of the query, in a range; `otherwise` when absent.
Result<std::int64_t> query_number(const Call& call, std::string_view name, std::int64_t otherwise,
                                  std::int64_t low, std::int64_t high);

core::ReadScope scope_of(const auth::Reach& reach);

// May the caller read this area in this project? When not, it is told "not there" and the denial is
// audited.
Status allow_read(const Parts& parts, const Call& call, auth::Permission permission,
                  std::string_view project, const std::string& object);

}  // namespace tandem::api
