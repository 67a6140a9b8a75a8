// SPDX-License-Identifier: Apache-2.0
// StateMeters: gauges of what core's state holds: work by phase, waiting work by reason, devices by
// pool and queue. They are measured when somebody scrapes, and at most once in `period`: a pass
// walks the replicas. Series that have no value any more go to 0.
// Thread rule: measure() inside CoreThread::query only.
#pragma once

#include <map>
#include <string>

#include "core/state.h"
#include "telemetry/metrics.h"

namespace tandem::server {

class StateMeters {
  public:
    explicit StateMeters(telemetry::Metrics& metrics) : metrics_(metrics) {}

    void measure(const core::State& state, Instant now);

    static constexpr Duration period = seconds(5);
    // Waiting jobs whose verdict is asked for; those beyond count as "notExamined".
    static constexpr std::size_t verdicts_max = 1000;

  private:
    struct Series {
        std::string help{};
        std::map<telemetry::Labels, double> values{};
        std::map<telemetry::Labels, telemetry::Gauge> gauges{};
    };
    void add(const std::string& name, const std::string& help, telemetry::Labels labels,
             double value);
    void measure_work(const core::State& state);
    void measure_waiting(const core::State& state);
    void measure_capacity(const core::State& state);
    void write();

    telemetry::Metrics& metrics_;
    Instant last_{};
    std::map<std::string, Series> series_;
};

}  // namespace tandem::server
