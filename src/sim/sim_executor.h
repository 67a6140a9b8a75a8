// SPDX-License-Identifier: Apache-2.0
// SimExecutor: the world's processes. Tasks live on through crashes of the server, report what they do (sometimes
// late, twice or never), end when told to, die by themselves. It judges what no row can: at no time may two
// live tasks use more of a device than it has, and no rank may live twice.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ports.h"
#include "sim/agenda.h"
#include "sim/fault_plan.h"

namespace tandem::sim {

struct SimTask {
    model::StartTask start{};
    bool alive = true;
    bool hung = false;
    bool reported_start = false;
    std::int64_t step = 0;
    Instant started{};
    std::optional<model::TaskExit> exit{};
    bool server_was_absent = false;
};

class SimExecutor : public core::Executor {
  public:
    SimExecutor(Agenda& agenda, FaultPlan& faults, Random random) : agenda_(agenda), faults_(faults), random_(random) {}

    // The server side: where reports go while a server lives.
    void connect(core::InputSink sink) { sink_ = std::move(sink); }
    void disconnect() { sink_ = nullptr; }
    model::TasksListed list() const;

    void execute(const model::Intent& intent) override;
    void forget(RowId) override {}
    void settle(const model::TaskName&) override {}

    const std::map<model::TaskName, SimTask>& tasks() const { return tasks_; }
    std::int64_t live_tasks() const;
    // First broken rule of the world; empty when none.
    const std::string& violation() const { return violation_; }
    std::int64_t starts() const { return starts_; }

  private:
    void start(const model::StartTask& start);
    void stop(const model::StopTask& stop);
    void probe(const model::ProbeReplica& probe);
    void collect(const model::CollectOutputs& collect);
    void work(const model::TaskName& name);
    void end(const model::TaskName& name, std::int64_t code, std::int64_t signal);
    void report(model::Input input);
    void check_world(const SimTask& task);
    std::int64_t latency_ms();

    Agenda& agenda_;
    FaultPlan& faults_;
    Random random_;
    core::InputSink sink_;
    std::map<model::TaskName, SimTask> tasks_;
    std::string violation_;
    std::int64_t starts_ = 0;
};

}  // namespace tandem::sim
