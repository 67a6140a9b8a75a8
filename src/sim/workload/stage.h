// SPDX-License-Identifier: Apache-2.0
// Stage: core's own driver under a virtual clock, over a store that takes everything and tasks that
// behave as a workload says. After every batch the planner's counters must equal a recount from its
// rows, the ledger must hold together, and no device may have more than it has. Thread rule: one
// owner.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/driver.h"
#include "sim/workload/workload.h"

namespace tandem::sim {

struct EvictionSeen {
    Instant at{};
    std::string job{};
    model::Reason reason{};
};
struct StartSeen {
    Instant at{};
    std::string job{};
};
struct TaskSeen {
    std::string job{};
    std::int64_t milli = 0;  // of devices
    Instant started{};
    std::optional<Instant> ended{};
};

class Stage : private core::Store,
              private core::Executor,
              private core::Publisher,
              private core::AuditHasher {
  public:
    // `check_every`: so many batches apart; all of them for whoever does not say.
    explicit Stage(std::int64_t check_every = 1);

    // Applies them in one request; the error of it, if there was one.
    std::optional<Error> submit(std::vector<model::Action> actions);
    void behave(const std::string& job, const Behaviour& behaviour) {
        behaviours_[job] = behaviour;
    }
    void report_nodes(std::vector<model::NodeReported> reports);
    // Every task of the job ends now.
    void end(const std::string& job, std::int64_t code);
    void pass(Duration time);

    const core::State& state() const { return driver_->state(); }
    Instant now() const { return now_; }
    const std::vector<EvictionSeen>& evictions() const { return evictions_; }
    const std::vector<StartSeen>& starts() const { return starts_; }
    // All that ever ran, in order of their names.
    std::vector<TaskSeen> tasks() const;
    std::int64_t batches() const { return batches_; }
    // Called before time moves on, and so sees what holds from now until then; an empty one ends that.
    void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }
    // The first rule that broke; empty when none did.
    const std::string& violation() const { return violation_; }

  private:
    Result<core::RecoveredState> recover() override { return core::RecoveredState{}; }
    Status open_segment(const model::CoreMeta&, std::string_view,
                        const model::LiveMemory*) override {
        return {};
    }
    bool segment_is_full() const override { return false; }
    core::CommitOutcome commit(const model::BatchRecord& record) override;
    void execute(const model::Intent& intent) override;
    void forget(RowId) override {}
    void settle(const model::TaskName&) override {}
    void publish(const model::BatchRecord&, const core::State& state) override;
    void answer(const model::Answer& answer) override { refused_ = answer.error; }
    void grant(std::int64_t, const std::vector<model::LeaseGrant>&) override {}
    void acknowledge(std::int64_t, std::int64_t) override {}
    std::string hash(std::string_view, const model::AuditRecord&) override { return {}; }

    struct Task {
        std::string job{};
        std::int64_t milli = 0;
        Instant started{};
        Duration resumed{};  // work that it did not have to do again
        bool leaving = false;
        std::optional<Instant> ended{};
    };
    void start(const model::StartTask& start);
    void stop(const model::StopTask& stop);
    void plan_exit(const model::TaskName& task, Instant at, std::int64_t code);
    void note_end(const model::TaskExited& exit);
    void note_checkpoint(const model::CheckpointSeen& seen);
    void plan_checkpoint(const model::TaskName& task, std::int64_t step);
    const Behaviour& behaviour_of(const std::string& job) const;
    void at(Instant when, model::Input input);
    void move_to(Instant when);
    void run_batch(std::vector<model::Input> inputs);
    void play_until(Instant end);  // all that happens up to then
    void check(const core::State& state);

    std::unique_ptr<core::Driver> driver_;
    std::int64_t check_every_ = 1;
    Instant now_{1'000'000'000'000};
    std::int64_t sequence_ = 0;
    std::uint64_t seeds_ = 0;
    std::int64_t batches_ = 0;
    std::map<std::pair<Instant, std::int64_t>, model::Input> agenda_{};
    std::map<model::TaskName, Task> tasks_{};
    std::map<std::string, Behaviour> behaviours_{};
    std::map<std::string, Duration> saved_{};  // work of a job up to its last checkpoint
    std::vector<EvictionSeen> evictions_{};
    std::vector<StartSeen> starts_{};
    std::optional<Error> refused_{};
    std::string violation_{};
    Behaviour plain_{};
    std::function<void()> watcher_{};
};

}  // namespace tandem::sim
