// SPDX-License-Identifier: Apache-2.0
#include "gateway/answers.h"

#include <algorithm>

#include "codec/json_writer.h"
#include "codec/reasons.h"

namespace tandem::gateway {
namespace {

void text_or_null(codec::JsonWriter& writer, std::string_view name, std::string_view text) {
    writer.key(name);
    if (text.empty())
        writer.null();
    else
        writer.text(text);
}

std::string_view anthropic_type(int status) {
    switch (status) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 404:
            return "not_found_error";
        case 413:
            return "request_too_large";
        case 429:
            return "rate_limit_error";
        case 503:
            return "overloaded_error";
        default:
            return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

std::string render_anthropic(const ApiError& error) {
    std::string body;
    codec::JsonWriter writer(body);
    writer.begin_object();
    writer.key("type");
    writer.text("error");
    writer.key("error");
    writer.begin_object();
    writer.key("type");
    writer.text(anthropic_type(error.status));
    writer.key("message");
    writer.text(error.message);
    writer.end_object();
    writer.end_object();
    return body;
}

}  // namespace

std::string render_error_event(const ApiError& error, Dialect dialect) {
    return (dialect == Dialect::anthropic ? "event: error\ndata: " : "data: ") +
           render_error(error, dialect) + "\n\n";
}

std::string render_error(const ApiError& error, Dialect dialect) {
    if (dialect == Dialect::anthropic) return render_anthropic(error);
    std::string body;
    codec::JsonWriter writer(body);
    writer.begin_object();
    writer.key("error");
    writer.begin_object();
    writer.key("message");
    writer.text(error.message);
    writer.key("type");
    writer.text(error.type);
    text_or_null(writer, "param", error.param);
    text_or_null(writer, "code", error.code);
    writer.end_object();
    writer.end_object();
    return body;
}

ApiError refusal_error(int status, std::string_view what) {
    ApiError error{.status = status, .type = "invalid_request_error", .message = std::string(what)};
    switch (status) {
        case 408:
            error.code = "timeout";
            break;
        case 413:
            error.code = "request_too_large";
            break;
        case 415:
            error.code = "unsupported_media_type";
            break;
        case 503:
            error.type = "server_error";
            error.code = "overloaded";
            break;
        default:
            error.code = "bad_request";
            break;
    }
    return error;
}

void answer_error(relay::Exchange& exchange, std::string_view request_id, const ApiError& error,
                  Dialect dialect) {
    std::string headers;
    headers.append("X-Request-Id: ").append(request_id).append("\r\n");
    if (error.retry_after.ms > 0) {
        const auto whole_seconds = std::max<std::int64_t>(1, (error.retry_after.ms + 999) / 1000);
        headers.append("Retry-After: ").append(std::to_string(whole_seconds)).append("\r\n");
    }
    if (error.status == 401) headers.append("WWW-Authenticate: Bearer\r\n");
    exchange.respond({.status = error.status, .headers = headers}, render_error(error, dialect));
}

void answer_json(relay::Exchange& exchange, std::string_view request_id, std::string_view body) {
    std::string headers;
    headers.append("X-Request-Id: ").append(request_id).append("\r\n");
    exchange.respond({.status = 200, .headers = headers}, body);
}

ApiError invalid_api_key(std::string message) {
    return {.status = 401,
            .type = "authentication_error",
            .code = "invalid_api_key",
            .message = std::move(message)};
}

ApiError not_found(std::string message) {
    return {.status = 404,
            .type = "invalid_request_error",
            .code = "not_found",
            .message = std::move(message)};
}

ApiError model_not_found(std::string_view model) {
    return {.status = 404,
            .type = "invalid_request_error",
            .code = "model_not_found",
            .message = "The model `" + std::string(model) +
                       "` does not exist or this key may not call it.",
            .param = "model"};
}

ApiError unavailable(std::string message, Duration retry_after) {
    return {.status = 503,
            .type = "server_error",
            .code = "overloaded",
            .message = std::move(message),
            .retry_after = retry_after};
}

ApiError failing(const model::FeedService& service, Instant now) {
    constexpr Duration between =
        seconds(5);  // a start under way: until it is known what came of it
    const Duration left = service.next_try ? *service.next_try - now : Duration{};
    return {.status = 503,
            .type = "server_error",
            .code = "model_unavailable",
            .message = "The model `" + service.public_name + "` can't be had at the moment: " +
                       codec::render_reason(service.trouble) + ".",
            .retry_after = std::max(left, between)};
}

ApiError upstream_failed(relay::UpstreamFailure failure) {
    using enum relay::UpstreamFailure;
    const bool late =
        failure == first_byte_timeout || failure == idle_timeout || failure == total_timeout;
    return {.status = late ? 504 : 502,
            .type = "server_error",
            .code = late ? "upstream_timeout" : "upstream_error",
            .message = std::string(late ? "The model server did not answer in time ("
                                        : "The model server failed before it answered (") +
                       std::string(relay::name_of(failure)) + ")."};
}

}  // namespace tandem::gateway
