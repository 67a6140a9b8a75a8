// SPDX-License-Identifier: Apache-2.0
// Rows of the usage ledger. All append-only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/phase.h"

namespace tandem::model {

// One closed interval of one device (or part of it) in one state. Intervals of a device cover its whole time
// without gap or overlap per milli; an idle interval belongs to the pool that owns the device.
// Quantity: milli * (to - from) milli-device-milliseconds; reports divide by 1000.
// state queued: device empty, milli = what was asked for, of one workload.
struct UsageRecord {
    RowId id{};
    LedgerState state = LedgerState::idle;
    Instant from{};
    Instant to{};
    std::int64_t milli = 0;
    std::string node{};
    std::int64_t device = -1;
    std::string flavor{};
    std::string pool{};
    std::string queue{};
    std::string project{};
    std::string name_space{};
    std::string owner_kind{};     // "Job", "Service", or empty
    std::string owner_name{};
    Uid owner_uid{};
    std::string replica{};
    std::int64_t epoch = 0;
    bool server_absent = false;
};

// One call of a model, as its gateway metered it.
struct RequestUsage {
    std::string gateway{};        // with epoch and sequence the row's identity; set when it is booked
    std::int64_t epoch = 0;       // of the gateway's journal
    std::int64_t sequence = 0;    // of the gateway's journal, from 1
    std::string request_id{};
    Instant at{};
    std::string key_id{};
    std::string subject{};
    std::string project{};
    std::string name_space{};
    std::string service{};
    Uid service_uid{};            // which one of that name
    std::string model_version{};
    std::string replica{};
    std::int64_t prompt_tokens = 0;
    std::int64_t cached_tokens = 0;
    std::int64_t completion_tokens = 0;
    std::int64_t status = 0;      // HTTP status that the caller saw
    std::int64_t ttft_ms = 0;
    std::int64_t total_ms = 0;
    bool streamed = false;
    bool aborted = false;
    // What the engine did not tell, and how the call ended if not by an answer.
    bool estimated = false;         // completion tokens are the pieces that the gateway passed on
    bool prompt_estimated = false;  // prompt tokens are reckoned from the request's bytes
    bool gateway_lost = false;      // its gateway died over it: settled by the next one, from the last mark
};

// A gateway asks for a share of a key's limits; the grant replaces what it had. How sums stay within the limit:
// traffic/lease_authority.h.
struct LeaseAsk {
    std::string key_id{};
    std::int64_t rate = 0;          // requests it expects in the coming minute
    std::int64_t concurrency = 0;   // requests in flight that it expects
    std::int64_t sequence = 0;      // of this gateway's asks, growing, also over its restarts
    std::int64_t answered = 0;      // the latest of its asks whose grant it holds; before the first: a number
                                    // not below any of its earlier lives
    std::int64_t held_rate = 0;     // what it holds while it asks
    std::int64_t held_concurrency = 0;
    bool operator==(const LeaseAsk&) const = default;
};
struct LeaseGrant {
    std::string key_id{};
    std::int64_t rate = 0;          // requests in any minute: its share until the next grant
    std::int64_t concurrency = 0;   // requests in flight: likewise
    Instant expires{};              // both survive without a server until then
    bool operator==(const LeaseGrant&) const = default;
};

}  // namespace tandem::model
