// SPDX-License-Identifier: Apache-2.0
// Errors as OpenAI's clients expect them: {"error":{"message","type","param","code"}}, all four
// always there, code a text or null; as Anthropic's do:
// {"type":"error","error":{"type","message"}}. Retry-After is sent with 429 and 503. Thread rule:
// values.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "model/feed.h"
#include "net/relay/exchange.h"
#include "net/relay/upstream.h"

namespace tandem::gateway {

// Whose protocol a caller speaks.
enum class Dialect : std::uint8_t { openai, anthropic };

struct ApiError {
    int status = 500;
    std::string_view type = "server_error";
    std::string_view code{};  // empty: null
    std::string message{};
    std::string param{};     // empty: null
    Duration retry_after{};  // zero: none
};

std::string render_error(const ApiError& error, Dialect dialect = Dialect::openai);
// After the head of a stream has gone out.
std::string render_error_event(const ApiError& error, Dialect dialect);
// What the relay refuses by itself; `what` is its sentence.
ApiError refusal_error(int status, std::string_view what);
// The whole answer, with its headers.
void answer_error(relay::Exchange& exchange, std::string_view request_id, const ApiError& error,
                  Dialect dialect = Dialect::openai);
void answer_json(relay::Exchange& exchange, std::string_view request_id, std::string_view body);

ApiError invalid_api_key(std::string message);
ApiError not_found(std::string message);
ApiError model_not_found(std::string_view model);
ApiError unavailable(std::string message, Duration retry_after);
// Nothing of it is ready and its starts fail; Retry-After is when the next one is due.
ApiError failing(const model::FeedService& service, Instant now);
ApiError upstream_failed(relay::UpstreamFailure failure);

}  // namespace tandem::gateway
