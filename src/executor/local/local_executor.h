// SPDX-License-Identifier: Apache-2.0
// LocalExecutor: runs tasks on this machine, each under its own tandem-shim, behind core's Executor
// port.
//
// A task's name is its identity: starting a name that lives adopts it and reports it again,
// starting one that has ended reports its end again; there is never a second copy. Tasks outlive
// this object and its process. Reports (to the sink, from the executor's own threads): NodeReported
// and TasksListed after start(), the list again each relist_period, so that a report that was lost
// is made good; TaskStarted, TaskProgress (coalesced), CheckpointSeen, TaskExited | TaskGone;
// OutputStored for CollectOutputs. ProbeReplica is not for this executor and is ignored. A task
// whose shim died without an exit record is reported TaskGone once nothing of it is left; until
// then it counts as alive. Settled: core has committed the end; the task's folder then moves aside
// and is no longer listed at start. Thread rule: execute, forget, settle, read_log from any thread;
// the hooks are called from the executor's threads, keep_output from its worker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/ports.h"
#include "executor/local/task_folders.h"
#include "model/capacity.h"
#include "telemetry/log.h"

namespace tandem::executor {

struct LocalOptions {
    std::string home{};  // absolute; tasks/, ended/ and checkpoints/ are made in it
    std::string shim{};  // path of tandem-shim
    std::string node{};  // name that this machine is known by
    std::vector<model::Device> devices{};
    std::vector<model::Fact> facts{};
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::string runtimes{};                         // {runtimes}
    std::string python{};                           // {python}
    std::map<std::string, std::string> base_env{};  // PATH, HOME, LANG of every task
    std::int64_t ring_bytes = 64 << 20;
    Duration poll_period = seconds(1);    // of progress files and checkpoints
    Duration output_period = seconds(5);  // output alone is reported at most this often
    Duration relist_period = minutes(5);  // TasksListed again
    Duration settle_after = minutes(10);  // after a reported end, when nobody calls settle()
    std::int64_t settled_max = 10'000;    // ended folders that are kept
    bool use_cgroups = true;
};

// What other parts of the installation do for tasks. Each may be empty when no task needs it.
struct LocalHooks {
    std::function<std::string(const model::TaskName&)>
        replica_key{};  // a secret: into the environment only
    std::function<Result<std::string>(const std::string& digest)> model_path{};
    std::function<Result<std::string>(const std::string& path)>
        digest_of{};  // "sha256:<hex>" of a file
    std::function<Result<model::OutputRecord>(const std::string& name, const std::string& path)>
        keep_output{};
};

class LocalExecutor : public core::Executor {
  public:
    // The error names the folder or file that is missing.
    static Result<std::unique_ptr<LocalExecutor>> open(LocalOptions options, LocalHooks hooks,
                                                       core::InputSink sink, telemetry::Log log);
    ~LocalExecutor() override;

    // Lists and adopts what is there, reports it, and begins to execute. Once. Tasks that ended and
    // were settled under an installation before `generation` are listed too: rows of a restored
    // backup may still take them for alive.
    void start(std::int64_t generation = 0);

    void execute(const model::Intent& intent) override;
    void forget(RowId intent) override;
    void settle(const model::TaskName& task) override;
    // offset < 0 counts from the end. Error: not_found.
    Result<LogSlice> read_log(const model::TaskName& task, std::int64_t offset,
                              std::size_t max) const;

  private:
    class Loop;
    explicit LocalExecutor(std::unique_ptr<Loop> loop);
    std::unique_ptr<Loop> loop_;
};

}  // namespace tandem::executor
