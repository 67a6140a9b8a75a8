// SPDX-License-Identifier: Apache-2.0
#include "gateway/front.h"

#include <algorithm>

#include "codec/json_writer.h"
#include "gateway/completion.h"
#include "gateway/key_check.h"
#include "net/http/message.h"
#include "telemetry/process.h"

namespace tandem::gateway {
namespace {

constexpr ModelEndpoint model_endpoints[] = {
    {"/v1/chat/completions"},
    {"/v1/completions"},
    {"/v1/embeddings"},
    {"/v1/rerank"},
    {"/v1/messages", Dialect::anthropic},
    {"/v1/messages/count_tokens", Dialect::anthropic, false}};

const ModelEndpoint* endpoint_of(std::string_view path) {
    const auto* found = std::ranges::find(model_endpoints, path, &ModelEndpoint::path);
    return found == std::end(model_endpoints) ? nullptr : found;
}
constexpr std::string_view models_path = "/v1/models";
constexpr std::int64_t other_body_max = 64 * 1024;

bool is_request_id(std::string_view text) {
    return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_' || c == '.';
    });
}

void write_model(codec::JsonWriter& writer, const ServiceRoute& service) {
    writer.begin_object();
    writer.key("id");
    writer.text(service.facts.public_name);
    writer.key("object");
    writer.text("model");
    writer.key("created");
    writer.number(service.facts.created.ms / 1000);
    writer.key("owned_by");
    writer.text(service.facts.project);
    writer.end_object();
}

// What stands in the way of reading the body, by its headers.
std::optional<ApiError> check_body_headers(const relay::RequestHead& head) {
    if (head.find("content-encoding"))
        return refusal_error(
            415, "Send the body as it is: encodings (Content-Encoding) are not accepted.");
    const auto* type = head.find("content-type");
    if (type && !relay::equals_ignoring_case(type->substr(0, 16), "application/json"))
        return refusal_error(415, "The body must be application/json.");
    return std::nullopt;
}

}  // namespace

std::int64_t Front::body_bytes_max(const relay::RequestHead& head) const {
    return endpoint_of(head.path) ? lane_.commons.options.body_bytes_max : other_body_max;
}

std::string Front::render_refusal(int status, std::string_view what) const {
    return render_error(refusal_error(status, what));
}

crypto::SipKey Front::draw_secret(Random& random) {
    return {random.draw(), random.draw()};
}

std::string Front::make_request_id() {
    return "req-" + lane_.random.draw_uid().text();
}

std::string Front::refusal_headers() {
    return "X-Request-Id: " + make_request_id() + "\r\n";
}

std::string Front::request_id_of(const relay::RequestHead& head) {
    if (const auto* given = head.find("x-request-id"); given && is_request_id(*given))
        return std::string(*given);
    return make_request_id();
}

std::unique_ptr<relay::RequestSink> Front::on_request(const relay::RequestHead& head,
                                                      relay::Exchange& exchange) {
    auto request_id = request_id_of(head);
    const bool get = head.method == "GET" || head.method == "HEAD";
    if (const auto* endpoint = endpoint_of(head.path)) {
        if (head.method == "POST")
            return start_completion(head, exchange, *endpoint, std::move(request_id));
        refuse(exchange, request_id,
               {.status = 405,
                .type = "invalid_request_error",
                .code = "method_not_allowed",
                .message = "Use POST " + std::string(head.path) + "."},
               endpoint->dialect);
        return nullptr;
    }
    if (get && head.path == "/healthz")
        answer_health(exchange, request_id);
    else if (get && head.path == "/readyz")
        answer_ready(exchange, request_id);
    else if (get && head.path == "/metrics")
        answer_metrics(head, exchange, request_id);
    else if (get && (head.path == models_path || head.path.starts_with("/v1/models/")))
        answer_models(head, exchange, request_id);
    else
        refuse(exchange, request_id,
               not_found("There is nothing at " + std::string(head.method) + " " +
                         std::string(head.path) + "."));
    return nullptr;
}

void Front::refuse(relay::Exchange& exchange, const std::string& request_id, const ApiError& error,
                   Dialect dialect) {
    lane_.meters.count_refused(error.status);
    answer_error(exchange, request_id, error, dialect);
}

std::expected<const model::FeedKey*, ApiError> Front::caller_of(const relay::RequestHead& head) {
    const auto& routes = lane_.routes();
    const auto now = lane_.now();
    if (!routes)
        return std::unexpected(
            unavailable("The gateway has not heard from its server yet.", seconds(1)));
    if (now - lane_.commons.board.last_heard() > lane_.commons.options.staleness_max)
        return std::unexpected(unavailable(
            "Keys can't be verified: the server was not heard for too long.", seconds(10)));
    const auto check = [&](std::string_view authorization) {
        return keys_.check(*routes, lane_.routes_revision(), authorization, now);
    };
    if (const auto* header = head.find("authorization")) return check(*header);
    const auto* key = head.find("x-api-key");  // as Anthropic's clients send it
    return check(key ? "Bearer " + std::string(*key) : std::string());
}

std::unique_ptr<relay::RequestSink> Front::start_completion(const relay::RequestHead& head,
                                                            relay::Exchange& exchange,
                                                            const ModelEndpoint& endpoint,
                                                            std::string request_id) {
    const auto key = caller_of(head);
    const auto wrong = key ? check_body_headers(head) : std::optional(key.error());
    if (wrong) {
        refuse(exchange, request_id, *wrong, endpoint.dialect);
        return nullptr;
    }
    CompletionStart start{.endpoint = &endpoint,
                          .extra_headers = {},
                          .request_id = std::move(request_id),
                          .routes = lane_.routes(),
                          .key = *key};
    if (endpoint.dialect == Dialect::anthropic)
        for (const std::string_view name : {"anthropic-version", "anthropic-beta"})
            if (const auto* value = head.find(name))
                start.extra_headers.append(name).append(": ").append(*value).append("\r\n");
    return std::make_unique<Completion>(lane_, exchange, std::move(start));
}

void Front::answer_models(const relay::RequestHead& head, relay::Exchange& exchange,
                          const std::string& request_id) {
    const auto key = caller_of(head);
    if (!key) return refuse(exchange, request_id, key.error());
    const auto& routes = *lane_.routes();
    std::string body;
    codec::JsonWriter writer(body);
    if (head.path == models_path) {
        writer.begin_object();
        writer.key("object");
        writer.text("list");
        writer.key("data");
        writer.begin_array();
        for (const auto& service : routes.services_for(**key)) write_model(writer, *service);
        writer.end_array();
        writer.end_object();
    } else {
        const auto name = http::decode_component(head.path.substr(models_path.size() + 1), false);
        const auto service = name ? routes.find_service(**key, *name) : nullptr;
        if (!service) return refuse(exchange, request_id, model_not_found(name ? *name : "?"));
        write_model(writer, *service);
    }
    answer_json(exchange, request_id, body);
}

void Front::answer_health(relay::Exchange& exchange, const std::string& request_id) {
    const bool routes = lane_.routes() != nullptr;
    answer_json(exchange, request_id,
                routes ? R"({"status":"ok"})" : R"({"status":"ok","routes":"none yet"})");
}

// Ready: a call with a good key would be taken. Alive without being so is no reason to start it
// anew.
void Front::answer_ready(relay::Exchange& exchange, const std::string& request_id) {
    auto& commons = lane_.commons;
    const auto age = lane_.now() - commons.board.last_heard();
    const char* wrong = !lane_.routes() ? "no routes from the server yet"
                        : age > commons.options.staleness_max
                            ? "the server was not heard for too long"
                        : !commons.journal.healthy() ? "usage can't be recorded"
                                                     : nullptr;
    if (wrong) return refuse(exchange, request_id, unavailable(wrong, seconds(1)));
    answer_json(exchange, request_id, R"({"status":"ready"})");
}

// Names of services are no public matter: without a key only this host may look.
void Front::answer_metrics(const relay::RequestHead& head, relay::Exchange& exchange,
                           const std::string& request_id) {
    if (!exchange.peer().loopback()) {
        if (const auto key = caller_of(head); !key)
            return refuse(exchange, request_id, key.error());
    }
    auto& metrics = lane_.commons.metrics;
    telemetry::measure_process(metrics);
    std::int64_t held = 0;
    std::int64_t in_flight = 0;
    for (const auto& load : lane_.commons.dispatcher.loads()) {
        held += load.waiting;
        in_flight += load.in_flight;
    }
    metrics.gauge("tandem_gateway_held_requests", "Requests that wait for a replica.")
        .set(static_cast<double>(held));
    metrics.gauge("tandem_gateway_requests_in_flight", "Requests at a replica.")
        .set(static_cast<double>(in_flight));
    auto& journal = lane_.commons.journal;
    metrics
        .gauge("tandem_gateway_usage_rows_unshipped",
               "Usage rows that the server has not booked yet.")
        .set(static_cast<double>(journal.synced() - journal.acknowledged()));
    exchange.respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                      .headers = "X-Request-Id: " + request_id + "\r\n"},
                     metrics.render_prometheus_text());
}

}  // namespace tandem::gateway
