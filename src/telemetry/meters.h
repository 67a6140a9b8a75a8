// SPDX-License-Identifier: Apache-2.0
// Small ways of counting on top of metrics.h. Thread rule: as metrics.
#pragma once

#include <utility>

#include "telemetry/metrics.h"

namespace tandem::telemetry {

// Counts one in a gauge for as long as it lives: sessions, watchers.
class GaugeHold {
  public:
    explicit GaugeHold(Gauge gauge) : gauge_(std::move(gauge)) { gauge_.add(1); }
    ~GaugeHold() { gauge_.add(-1); }
    GaugeHold(const GaugeHold&) = delete;
    GaugeHold& operator=(const GaugeHold&) = delete;

  private:
    Gauge gauge_;
};

// For a count that another part keeps: up to what that part says; never down.
inline void raise_to(Counter counter, std::int64_t total) {
    const auto counted = static_cast<std::int64_t>(counter.value());
    if (total > counted) counter.add(total - counted);
}

}  // namespace tandem::telemetry
