// SPDX-License-Identifier: Apache-2.0
// CoreMeters: what is counted and timed of each batch of core. MeteredStore stands between driver
// and store and times the commit, since core itself reads no clock.
// Thread rule: the core thread.
#pragma once

#include <chrono>
#include <vector>

#include "core/ports.h"
#include "telemetry/metrics.h"

namespace tandem::server {

class CoreMeters {
  public:
    explicit CoreMeters(telemetry::Metrics& metrics);

    void began(std::size_t inputs);
    void committing();  // decided; the store's turn
    void committed(core::CommitOutcome outcome);
    void ended();
    void published(const model::BatchRecord& record);
    void granted(std::size_t leases) { leases_.add(static_cast<std::int64_t>(leases)); }

  private:
    using Clock = std::chrono::steady_clock;
    void count_failures(const model::Input& input);

    telemetry::Counter batches_;
    telemetry::Gauge version_;
    telemetry::Histogram batch_inputs_;
    telemetry::Histogram batch_seconds_;
    telemetry::Histogram decide_seconds_;
    telemetry::Histogram commit_seconds_;
    telemetry::Counter commits_full_;
    telemetry::Counter leases_;
    telemetry::Counter start_failures_;
    telemetry::Counter output_failures_;
    telemetry::Counter tasks_lost_;
    telemetry::Counter probe_failures_;
    std::vector<telemetry::Counter> inputs_;   // by kind of input
    std::vector<telemetry::Counter> intents_;  // by kind of intent
    Clock::time_point began_{};
    Clock::time_point committing_{};
};

class MeteredStore final : public core::Store {
  public:
    MeteredStore(core::Store& store, CoreMeters& meters) : store_(store), meters_(meters) {}
    Result<core::RecoveredState> recover() override { return store_.recover(); }
    Status open_segment(const model::CoreMeta& meta, std::string_view version,
                        const model::LiveMemory* live) override {
        return store_.open_segment(meta, version, live);
    }
    bool segment_is_full() const override { return store_.segment_is_full(); }
    core::CommitOutcome commit(const model::BatchRecord& record) override {
        meters_.committing();
        const core::CommitOutcome outcome = store_.commit(record);
        meters_.committed(outcome);
        return outcome;
    }

  private:
    core::Store& store_;
    CoreMeters& meters_;
};

}  // namespace tandem::server
