// SPDX-License-Identifier: Apache-2.0
// How a gateway talks to its server; both sides take paths and shapes from here. Texts are encode()
// of the named record (codec/record.h). The server lets in processes of its host (unix socket) and
// known gateways (mutual TLS).
//
//   GET  feed_path?gateway=NAME     SSE: a `snapshot`, then `delta`s in order, with a FeedUpdate as data; and
//                                   something (`alive`) at least every feed_beat
//   POST leases_path                LeaseRequested -> 200 {"grants": list of LeaseGrant, one for each ask in order}
//   POST load_path                  GatewayLoad -> 204
//   POST usage_path                 UsageShipped -> 200 {"sequence": N}: booked up to it
#pragma once

#include <string_view>

#include "base/time.h"

namespace tandem::codec {

inline constexpr std::string_view feed_path = "/api/v1/gateway/feed";
inline constexpr std::string_view leases_path = "/api/v1/gateway/leases";
inline constexpr std::string_view load_path = "/api/v1/gateway/load";
inline constexpr std::string_view usage_path = "/api/v1/gateway/usage";
inline constexpr std::string_view snapshot_event = "snapshot";
inline constexpr std::string_view delta_event = "delta";
inline constexpr Duration feed_beat = seconds(5);

}  // namespace tandem::codec
