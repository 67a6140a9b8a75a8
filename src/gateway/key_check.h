// SPDX-License-Identifier: Apache-2.0
// Who calls: the bearer key of a request against the routes' keys. Every refusal that depends on a stored key costs
// the same work and says the same: unknown, revoked and wrong are one answer. Thread rule: pure, any thread.
#pragma once

#include <expected>
#include <string_view>

#include "base/time.h"
#include "gateway/answers.h"
#include "gateway/route_table.h"

namespace tandem::gateway {

// `authorization`: the header's value, empty when there is none. The key lives as long as the table.
std::expected<const model::FeedKey*, ApiError> check_key(const RouteTable& table, std::string_view authorization,
                                                         Instant now);

}  // namespace tandem::gateway
