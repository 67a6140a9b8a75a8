// SPDX-License-Identifier: Apache-2.0
#include "api/metrics.h"

#include "server/state_meters.h"
#include "telemetry/process.h"

namespace tandem::api {
namespace {

void answer(const Parts& parts, Call& call) {
    telemetry::measure_process(parts.metrics);
    parts.metrics.gauge("tandem_core_mailbox_inputs", "Inputs that wait for core's next batch.")
        .set(static_cast<double>(parts.core.mailbox_depth()));
    if (parts.measure_world) parts.measure_world();
    http::Response response{
        .status = 200, .headers = {}, .body = parts.metrics.render_prometheus_text()};
    response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    call.responder.respond(std::move(response));
}

void scrape(const Parts& parts, Ticker& ticker, server::StateMeters& meters, Call call) {
    const Status allowed =
        allow_read(parts, call, {auth::Area::admin, auth::Verb::read}, "", call.request.path);
    if (!allowed) return call.refuse(allowed.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued =
        parts.core.query([&parts, &ticker, &meters, shared](const core::State& state) {
            meters.measure(state, parts.core.now());
            ticker.add(milliseconds(0), [&parts, shared] {
                answer(parts, *shared);
                return false;
            });
        });
    if (!queued) shared->refuse(queued.error());
}

}  // namespace

void add_metrics_route(Router& router, const Parts& parts, Ticker& ticker) {
    telemetry::set_build_info(parts.metrics, parts.version);
    auto meters = std::make_shared<server::StateMeters>(parts.metrics);
    router.add({.method = "GET",
                .pattern = "/metrics",
                .door = Door::caller,
                .handler = [&parts, &ticker,
                            meters](Call call) { scrape(parts, ticker, *meters, std::move(call)); },
                .operation = "getMetrics",
                .summary = "Metrics as Prometheus text, for operators"});
}

}  // namespace tandem::api
