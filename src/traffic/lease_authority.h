// SPDX-License-Identifier: Apache-2.0
// LeaseAuthority: the server's side of limits. Each key has a rate (requests in any minute) and a concurrency
// (requests in flight); gateways hold shares of both and spend them locally. PURE: time is handed in.
//
// Invariant: at every moment, over all gateways, what they may hold adds up to no more than the limit.
//  1. A gateway may hold the larger of what it last said it holds and what it was last offered, until an ask of
//     its own shows which.
//  2. A share is taken from one only by granting it less, and is free when it says so. Freed rate rests for a
//     minute (and one second, the grain of its counters) first: what was spent of it still counts in that window.
//  3. Offers that were never taken up (their answer was lost) are free at once: asks are numbered, `answered` tells.
//  4. A gateway that is silent until its grant expires has stopped spending it by then.
//  5. After a restart nothing is known of the holders: those named by expect_holders() may hold everything until
//     they ask, so nobody's share grows before; and where they are several, no rate grows for a minute, since what
//     rested is forgotten as well. A gateway that has lost its server begins again with one batch
//     of asks for all it holds.
// Shares follow demand, max-min fair; what is left over is shared out evenly, so that one gateway alone holds all.
// A limit of 0 is no limit and needs no lease.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/usage.h"

namespace tandem::traffic {

struct LeaseLimits {
    std::int64_t rate = 0;         // a minute
    std::int64_t concurrency = 0;
};

class LeaseAuthority {
  public:
    // `survival`: how long a grant lasts without renewal (auth.stalenessMax).
    explicit LeaseAuthority(Duration survival = hours(1)) : survival_(survival) {}

    struct Asked {
        model::LeaseAsk ask{};
        LeaseLimits limits{};      // of the key; both 0 when it is unknown
    };
    // One batch of a gateway; a grant for each ask, in order.
    std::vector<model::LeaseGrant> ask(const std::string& gateway, const std::vector<Asked>& batch, Instant now);
    // Gateways that may hold shares from before a restart.
    void expect_holders(const std::vector<std::string>& gateways, Instant now);
    void forget_key(const std::string& key_id) { keys_.erase(key_id); }
    // Sum of what gateways may hold of a key, resting rate included; for checks.
    LeaseLimits outstanding(const std::string& key_id, Instant now) const;

  private:
    struct Share {
        std::int64_t confirmed = 0;
        std::int64_t offered = 0;
        std::int64_t demand = 0;
        std::int64_t bound() const { return confirmed > offered ? confirmed : offered; }
    };
    struct Holder {
        Share rate{};
        Share concurrency{};
        std::int64_t sequence = 0;
        Instant expires{};
    };
    struct Resting {
        std::int64_t rate = 0;
        Instant until{};
    };
    struct Key {
        std::map<std::string, Holder> holders{};
        std::vector<Resting> resting{};
    };
    using Field = Share Holder::*;

    void settle(const std::string& gateway, const model::LeaseAsk& ask, Instant now);
    model::LeaseGrant offer(const std::string& gateway, const Asked& asked, Instant now);
    void expire(Key& key, Instant now);
    bool unknown_holders(Instant now) const;
    static std::int64_t fair_share(const Key& key, Field field, std::int64_t limit,
                                   const std::string& gateway);
    std::int64_t grant(const Key& key, Field field, std::int64_t limit, const std::string& gateway,
                       std::int64_t resting, bool may_grow) const;

    Duration survival_;
    std::map<std::string, Key> keys_;
    std::map<std::string, Instant> expected_;  // until when an unheard gateway may still hold shares
    Instant rate_closed_until_{};
};

}  // namespace tandem::traffic
