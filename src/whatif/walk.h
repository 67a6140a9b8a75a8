// SPDX-License-Identifier: Apache-2.0
// Walk: core's own driver, on the rows of a scene, goes on through virtual time: tasks start at
// once, end by what their jobs state (else by what is typical, else never), and leave when they are
// asked to. What starts, who is asked to leave and who still waits at the end is what the server
// itself would do, had it the same luck.
//
// Nothing of it reaches the world: its store takes everything and keeps nothing. Work is bounded by
// the horizon, by a number of batches, and by `stop`, which is asked between batches. PURE. Thread
// rule: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/driver.h"
#include "whatif/scene.h"

namespace tandem::whatif {

struct WalkBounds {
    Instant now{};
    Duration horizon{};
    std::int64_t batches_max = 100'000;
    std::function<bool()> stop = [] { return false; };
};

struct StartSeen {
    Instant at{};
    bool stated = true;  // nothing that was let go for it ended by a guess
};
struct Fate {
    model::ObjectKey object{};
    std::string queue{};
    std::string pool{};
    bool waited = false;   // when the walk began, or since it came
    bool at_once = false;  // placed by the first plan, if only as a claim
    bool first =
        false;  // of its queue, and no other queue's work waits for the pool, nor may any grow
    std::optional<StartSeen> start{};  // the first
    std::vector<model::ForeseenEviction> evictions{};
    bool waits_still = false;  // at the end
    model::Reason waits{};     // then: what its row says
};

class Walk : private core::Store,
             private core::Executor,
             private core::Publisher,
             private core::AuditHasher {
  public:
    Walk(Scene scene, WalkBounds bounds);
    ~Walk() override;

    // Plays it all. Error: what core says of the change, as of the caller's own fields
    // ("actions[3].spec.queue").
    Status play();

    const std::map<RowId, Fate>& fates() const { return fates_; }
    // Whose turn it was once the change was there.
    const std::vector<sched::QueueTurn>& turns() const { return turns_; }
    Instant began() const { return began_; }
    Instant until() const { return now_; }
    bool complete() const { return complete_; }
    // Work holds the pool, and nothing of it would ever end.
    bool is_endless(const std::string& pool) const { return endless_.contains(pool); }
    bool knows(const model::ObjectKey& key) const;  // a job or service that is there at the end
    // Why it waits at the end, with the numbers of that moment.
    model::Reason explain(RowId workload) const;
    std::int64_t version() const { return version_; }

  private:
    Result<core::RecoveredState> recover() override { return std::move(scene_.rows); }
    Status open_segment(const model::CoreMeta&, std::string_view,
                        const model::LiveMemory*) override {
        return {};
    }
    bool segment_is_full() const override { return false; }
    core::CommitOutcome commit(const model::BatchRecord& record) override;
    void execute(const model::Intent& intent) override;
    void forget(RowId) override {}
    void settle(const model::TaskName&) override {}
    void publish(const model::BatchRecord&, const core::State&) override {}
    void answer(const model::Answer& answer) override { answer_ = answer; }
    void grant(std::int64_t, const std::vector<model::LeaseGrant>&) override {}
    void acknowledge(std::int64_t, std::int64_t) override {}
    std::string hash(std::string_view, const model::AuditRecord&) override { return {}; }

    struct Task {
        RowId workload{};
        std::string pool{};
        bool leaving = false;
        bool ended = false;
        bool stated = true;  // its end
    };
    Status begin();
    model::TasksListed list_tasks();
    void take_on(const model::Replica& replica);
    void start(const model::StartTask& start);
    void stop(const model::StopTask& stop);
    void end_by_itself(const model::TaskName& name, Task& task, const model::Job& job,
                       Instant started);
    void plan_exit(const model::TaskName& name, Instant at, bool well);
    void note_first(RowId workload);
    void note_end(const model::Input& input);
    void mark_waiting();
    void see_the_end();
    Duration grace_of(RowId workload) const;
    void at(Instant when, model::Input input);
    Status run_batch(std::vector<model::Input> inputs);
    Status play_on();

    Scene scene_;
    WalkBounds bounds_;
    std::unique_ptr<core::Driver> driver_;
    Instant began_{};
    Instant now_{};
    Instant end_{};
    std::int64_t version_ = 0;
    std::uint64_t seeds_ = 0;
    std::int64_t sequence_ = 0;
    std::int64_t batches_ = 0;
    bool complete_ = true;
    std::map<std::pair<Instant, std::int64_t>, model::Input> agenda_{};
    std::map<model::TaskName, Task> tasks_{};
    std::map<model::TaskName, std::pair<Instant, std::int64_t>> exits_{};  // where in the agenda
    std::map<RowId, Duration>
        saved_{};                      // work of jobs with checkpoints that need not be done again
    std::set<std::string> guessed_{};  // pools in which something ended by a guess
    std::map<RowId, Fate> fates_{};
    std::set<std::string> endless_{};
    std::vector<sched::QueueTurn> turns_{};
    std::optional<model::Answer> answer_{};
};

}  // namespace tandem::whatif
