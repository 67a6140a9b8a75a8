// SPDX-License-Identifier: Apache-2.0
// MemoryDisk: what a store in memory has made durable. It outlives the store object, so that a crash is: let
// go of the MemoryStore, open another one on the same disk. Commits are atomic; faults can be armed.
//
// Used by the simulator and by tests. Rows stay typed; JSON is made only when somebody reads through the API.
// Thread rule: owned by the stores that are open on it; look inside only while none of them is used.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ports.h"

namespace tandem::store {

// What happens to the next commit.
enum class CommitFault : std::uint8_t {
    none,
    full,                // no space: nothing is written
    fatal_before_write,  // the machine goes down before anything is written
    fatal_after_write,   // everything is written, but nobody hears of it
};

// One row of a segment's log: replaying it from the state before gives the state after, with this digest.
struct LoggedBatch {
    std::int64_t sequence = 0;
    model::Tick tick{};
    std::vector<model::Input> inputs{};
    std::uint64_t digest = 0;
};
struct Segment {
    std::int64_t number = 0;
    std::string core_version{};
    core::RecoveredState start{};
    std::vector<LoggedBatch> batches{};
};
struct KeptChange {
    model::Change change{};
    std::int64_t batch = 0;
    Instant at{};  // `now` of that batch
};

using RequestKey = std::tuple<std::string, std::int64_t, std::int64_t>;  // gateway, epoch, sequence

struct MemoryRows {
    model::CoreMeta meta{};
    std::map<RowId, model::Object> objects{};
    std::map<model::ObjectKey, RowId> names{};
    std::map<RowId, model::Intent> intents{};
    std::map<RowId, model::UsageRecord> open_intervals{};
    std::map<std::pair<std::string, std::int64_t>, model::GatewayCursor> cursors{};
    std::map<std::pair<std::string, std::string>, model::IdempotencyRow> idempotency{};
    std::deque<KeptChange> changes{};
    std::int64_t changes_floor = 0;  // newest version that is no longer kept
    std::map<RowId, model::EventRecord> events{};
    std::vector<model::AuditRecord> audit{};
    std::map<RowId, model::UsageRecord> usage{};
    std::map<RequestKey, model::RequestUsage> requests{};
    std::vector<Segment> segments{};
};

struct MemoryOptions {
    std::size_t change_rows_max = 1'000'000;
    Duration change_age_max = hours(24);
    std::size_t segment_batches_max = 1'000'000;
    bool keep_history = true;  // false: no segments, for runs that are never replayed
};

class MemoryDisk {
  public:
    explicit MemoryDisk(MemoryOptions options = {}) : options_(options) {}

    const MemoryRows& rows() const { return rows_; }
    const std::vector<Segment>& segments() const { return rows_.segments; }
    void arm(CommitFault fault) { armed_ = fault; }
    std::int64_t faults_fired() const { return faults_fired_; }

  private:
    friend class MemoryStore;
    MemoryOptions options_;
    MemoryRows rows_{};
    CommitFault armed_ = CommitFault::none;
    std::int64_t faults_fired_ = 0;
    Instant swept_{};
    std::mutex mutex_{};  // rows_: the driver's thread writes, any thread reads
};

}  // namespace tandem::store
