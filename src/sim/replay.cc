// SPDX-License-Identifier: Apache-2.0
#include "sim/replay.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "core/driver.h"

namespace tandem::sim {
namespace {

// A world that takes everything and remembers only the last digest.
class Sink : public core::Store, public core::Executor, public core::Publisher, public core::AuditHasher {
  public:
    explicit Sink(const core::RecoveredState& start) : start_(start) {}

    Result<core::RecoveredState> recover() override { return start_; }
    Status open_segment(const model::CoreMeta&, std::string_view, const model::LiveMemory*) override { return {}; }
    bool segment_is_full() const override { return false; }
    core::CommitOutcome commit(const model::BatchRecord& record) override {
        digest = record.digest;
        return core::CommitOutcome::committed;
    }
    void execute(const model::Intent&) override {}
    void forget(RowId) override {}
    void settle(const model::TaskName&) override {}
    void publish(const model::BatchRecord&, const core::State&) override {}
    void answer(const model::Answer&) override {}
    void grant(std::int64_t, const std::vector<model::LeaseGrant>&) override {}
    void acknowledge(std::int64_t, std::int64_t) override {}
    std::string hash(std::string_view previous, const model::AuditRecord& record) override {
        Digest chained;
        chained.add(previous);
        chained.add(record.sequence);
        return fmt::format("{:016x}", chained.value());
    }

    std::uint64_t digest = 0;

  private:
    const core::RecoveredState& start_;
};

}  // namespace

std::string replay(const store::Segment& segment) {
    Sink sink(segment.start);
    core::Driver driver({sink, sink, sink, sink});
    driver.set_digests(true);
    if (const Status started = driver.start(segment.core_version); !started)
        return fmt::format("segment {}: {}", segment.number, started.error().message);
    for (const store::LoggedBatch& batch : segment.batches) {
        if (driver.run(batch.inputs, batch.tick) != core::BatchResult::committed)
            return fmt::format("segment {}: batch {} was not taken", segment.number, batch.sequence);
        if (sink.digest != batch.digest)
            return fmt::format("replay: batch {} of segment {} ends in another state", batch.sequence, segment.number);
    }
    return {};
}

}  // namespace tandem::sim
