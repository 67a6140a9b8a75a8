// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"

#include "api/gateways.h"
#include "api/history.h"
#include "api/keys.h"
#include "api/metrics.h"
#include "api/models.h"
#include "api/old_tasks.h"
#include "api/resources.h"
#include "api/system.h"
#include "api/work.h"

namespace tandem::api {
namespace {

constexpr std::int64_t batch_body_max = 8 * 1024 * 1024;
constexpr std::int64_t upload_part_max = 16 * 1024 * 1024;
constexpr std::int64_t usage_body_max = 8 * 1024 * 1024;

std::int64_t body_max_of(std::string_view path) {
    if (path == "/api/v1/batch" || path == "/api/v1/whatif") return batch_body_max;
    if (path.starts_with("/api/v1/blobs/")) return upload_part_max;
    if (path.starts_with("/api/v1/gateway/")) return usage_body_max;
    return 1024 * 1024;
}

}  // namespace

Api::Api(Parts parts)
    : parts_(std::move(parts)), router_(parts_), weights_(parts_), start_times_(parts_), questions_(parts_) {
    add_resource_routes(router_, parts_, ticker_, weights_);
    add_work_routes(router_, parts_, ticker_, start_times_);
    add_foresight_routes(router_, questions_);
    add_key_routes(router_, parts_);
    add_model_routes(router_, parts_, weights_);
    add_history_routes(router_, parts_);
    add_gateway_routes(router_, parts_, ticker_);
    add_old_task_routes(router_, parts_);
    add_system_routes(router_, parts_, errands_);
    add_metrics_route(router_, parts_, ticker_);
}

Result<std::unique_ptr<Api>> Api::make(Parts parts) {
    std::unique_ptr<Api> api(new Api(std::move(parts)));
    if (const Route* route = api->router_.find_unguarded())
        return fail(ErrorCode::internal,
                    "route " + route->method + " " + route->pattern + " says not who may come in");
    if (const Route* route = api->router_.find_unnamed())
        return fail(ErrorCode::internal,
                    "route " + route->method + " " + route->pattern + " has no operation of its own");
    return api;
}

void Api::handle(http::Request request, http::Responder responder) const {
    router_.route(std::move(request), std::move(responder));
}

http::BodyVerdict Api::admit_body(const http::Request& request) const {
    if (request.over_unix_socket) return {.body_max = body_max_of(request.path), .refusal = {}};
    constexpr std::int64_t before_key_max = 64 * 1024;
    const std::string_view header = request.headers.get_or("Authorization");
    const bool known =
        header.starts_with("Bearer ") &&
        parts_.core.access()->identify(header.substr(7), parts_.core.now()).has_value();
    return {.body_max = known ? body_max_of(request.path) : before_key_max, .refusal = {}};
}

}  // namespace tandem::api
