// SPDX-License-Identifier: Apache-2.0
// What requests work with. Commons: one per gateway, shared by all loops. Lane: one per loop, its
// own thread only.
#pragma once

#include <atomic>
#include <memory>

#include "base/random.h"
#include "gateway/clock.h"
#include "gateway/dispatcher.h"
#include "gateway/lease_desk.h"
#include "gateway/meters.h"
#include "gateway/options.h"
#include "gateway/route_table.h"
#include "gateway/usage_journal.h"
#include "net/relay/upstream.h"
#include "telemetry/log.h"

namespace tandem::gateway {

struct Commons {
    const GatewayOptions& options;
    const Clock& clock;
    RouteBoard& board;
    Dispatcher& dispatcher;
    LeaseDesk& leases;
    UsageJournal& journal;
    telemetry::Metrics& metrics;
    telemetry::Log log;
    std::atomic<std::int64_t> buffered_bytes{0};
};

class Lane {
  public:
    Lane(Commons& shared, relay::Loop& own_loop, const Seed& seed)
        : commons(shared), loop(own_loop), pool(own_loop), meters(shared.metrics), random(seed) {}

    // The current routes; looked up again only after they have changed.
    const std::shared_ptr<const RouteTable>& routes() {
        if (const auto revision = commons.board.revision(); revision != revision_) {
            table_ = commons.board.get();
            revision_ = revision;
        }
        return table_;
    }
    Instant now() const { return commons.clock.at(loop.now_us()); }  // of this round
    std::uint64_t routes_revision() const { return revision_; }      // of what routes() gave last

    Commons& commons;
    relay::Loop& loop;
    relay::UpstreamPool pool;
    Meters meters;
    Random random;

  private:
    std::shared_ptr<const RouteTable> table_;
    std::uint64_t revision_ = 0;
};

}  // namespace tandem::gateway
