// SPDX-License-Identifier: Apache-2.0
#include "gateway/meters.h"

namespace tandem::gateway {

telemetry::Counter Meters::requests(std::string_view service, int status) {
    return registry_.counter(
        "tandem_gateway_requests_total", "Requests answered, by service and HTTP status.",
        {{"service", std::string(service)}, {"status", std::to_string(status)}});
}

Meters::Service& Meters::service(std::string_view name) {
    if (const auto found = services_.find(name); found != services_.end()) return found->second;
    if (services_.size() > 10'000)
        services_.clear();  // handles only; the registry keeps the counts
    const std::string text(name);
    const auto tokens = [&](const char* kind) {
        return registry_.counter("tandem_gateway_tokens_total",
                                 "Tokens metered, by service and kind.",
                                 {{"service", text}, {"kind", kind}});
    };
    return services_
        .emplace(
            text,
            Service{
                .ttft = registry_.histogram("tandem_gateway_time_to_first_token_seconds",
                                            "From the request's last byte to the first content.",
                                            telemetry::latency_buckets(), {{"service", text}}),
                .total = registry_.histogram("tandem_gateway_request_seconds",
                                             "From the request's last byte to the end.",
                                             telemetry::latency_buckets(), {{"service", text}}),
                .prompt = tokens("prompt"),
                .cached = tokens("cached"),
                .completion = tokens("completion")})
        .first->second;
}

void Meters::count(std::string_view name, const RequestMarks& marks) {
    Service& meters = service(name);
    auto counter = meters.requests.find(marks.status);
    if (counter == meters.requests.end())
        counter = meters.requests.emplace(marks.status, requests(name, marks.status)).first;
    counter->second.add();
    if (marks.ttft_seconds >= 0) meters.ttft.observe(marks.ttft_seconds);
    meters.total.observe(marks.total_seconds);
    if (marks.prompt_tokens) meters.prompt.add(marks.prompt_tokens);
    if (marks.cached_tokens) meters.cached.add(marks.cached_tokens);
    if (marks.completion_tokens) meters.completion.add(marks.completion_tokens);
}

void Meters::count_refused(int status) {
    auto found = refused_.find(status);
    if (found == refused_.end()) found = refused_.emplace(status, requests("none", status)).first;
    found->second.add();
}

}  // namespace tandem::gateway
