// SPDX-License-Identifier: Apache-2.0
// What gateways send: load (wakes and scales services), requests for leases, and usage rows, each booked once.
#pragma once

#include "core/turn.h"

namespace tandem::core {

void on_gateway_load(Turn& turn, const model::GatewayLoad& input);
void on_lease_requested(Turn& turn, const model::LeaseRequested& input);
void on_usage_shipped(Turn& turn, const model::UsageShipped& input);
void on_denial_seen(Turn& turn, const model::DenialSeen& input);
void on_errand_done(Turn& turn, const model::ErrandDone& input);

// Appends one audit row; the chain's hash is added when the batch is closed.
void audit(Turn& turn, const model::Caller& caller, std::string action, std::string object, bool allowed,
           std::string rule, std::int64_t count = 1);

}  // namespace tandem::core
