// SPDX-License-Identifier: Apache-2.0
// World: one seed. Core's own driver over a memory disk that survives, executors whose tasks survive, clients that
// retry, a gateway that ships usage; faults strike by the seed's plan. First chaos with safety rules checked after
// every batch; then everything heals and all work must end within a bound of virtual time (liveness); then every
// replay segment is run again and must give the same digests.
//
// Size of a seed: >= 4 nodes, 20 jobs, 300 inputs, 1 crash.
//
// A Case is a seed of which only some operations and strikes happen: what a failing seed is made smaller to
// (shrink.h). The case that has all of a seed's is the very run of the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/driver.h"
#include "sim/agenda.h"
#include "sim/checker.h"
#include "sim/clients.h"
#include "sim/fault_plan.h"
#include "sim/sim_executor.h"
#include "store/memory/memory_store.h"

namespace tandem::sim {

struct Case {
    std::uint64_t seed = 0;
    std::string rule{};                   // that it broke when it was made: "C14"
    std::vector<Operation> operations{};  // in order of their beginning
    std::vector<Strike> strikes{};        // in order
    bool operator==(const Case&) const = default;
};
// The crash that every seed has.
inline constexpr std::int64_t sure_crash = 0;
// Told beside those of checker.h, for tests: the text of what is wrong with a batch, or none.
using Rule = std::function<std::string(const model::BatchRecord&, const core::State&)>;

struct SeedResult {
    std::uint64_t seed = 0;
    std::string violation{};        // empty: all rules held
    std::uint64_t digest = 0;       // of the last state; equal on every compiler
    std::int64_t inputs = 0;
    std::int64_t batches = 0;
    std::int64_t crashes = 0;
    std::int64_t jobs = 0;
    std::int64_t starts = 0;
    std::int64_t virtual_ms = 0;
    std::map<Fault, std::int64_t> faults{};
    Case happened{};  // all that did; its rule is what is before the colon of `violation`
};

class World : public core::Publisher, public core::AuditHasher {
  public:
    explicit World(std::uint64_t seed, Rule rule = {});
    explicit World(const Case& only, Rule rule = {});
    SeedResult run();

    // Publisher and AuditHasher, for the driver.
    void publish(const model::BatchRecord& record, const core::State& state) override;
    void answer(const model::Answer& answer) override;
    void grant(std::int64_t, const std::vector<model::LeaseGrant>&) override {}
    void acknowledge(std::int64_t ticket, std::int64_t sequence) override;
    std::string hash(std::string_view previous, const model::AuditRecord& record) override;

  private:
    World(std::uint64_t seed, const Case* only, Rule rule);
    void boot();
    void crash();
    void plan_sure_crash(bool wanted);
    void post(model::Input input);
    void schedule_batch();
    void run_batch();
    void report_nodes();
    void list_tasks();
    void advance_until(Instant end, bool stop_when_done);
    bool all_work_done() const;
    std::string unfinished() const;

    Random random_;
    Agenda agenda_;
    FaultPlan faults_;
    SimExecutor executor_;
    Clients clients_;
    Checker checker_;
    std::shared_ptr<store::MemoryDisk> disk_;
    std::unique_ptr<store::MemoryStore> store_;
    std::unique_ptr<core::Driver> driver_;
    std::vector<model::Input> mailbox_;
    bool batch_scheduled_ = false;
    std::int64_t life_ = 0;      // of the server; answers to a dead one are lost
    std::int64_t nodes_ = 0;
    Rule rule_;
    bool crash_wanted_ = true;
    SeedResult result_;
};

}  // namespace tandem::sim
