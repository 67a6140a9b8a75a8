// SPDX-License-Identifier: Apache-2.0
#include "server/core_meters.h"

namespace tandem::server {
namespace {

const std::vector<double> batch_buckets{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
// Fine below a millisecond: that is what a batch in memory takes.
const std::vector<double> fine_buckets{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                       0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};

double since(std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

// One counter for each alternative of a variant, by its wire name.
template <class Variant>
std::vector<telemetry::Counter> by_kind(telemetry::Metrics& metrics, const std::string& name,
                                        const std::string& help) {
    std::vector<telemetry::Counter> counters;
    for (std::string_view kind : model::EnumNames<Variant>::values)
        counters.push_back(metrics.counter(name, help, {{"kind", std::string(kind)}}));
    return counters;
}

telemetry::Counter failures(telemetry::Metrics& metrics, const std::string& what) {
    return metrics.counter("tandem_task_failures_total",
                           "What executors and probes could not do, by what it was.",
                           {{"what", what}});
}

}  // namespace

CoreMeters::CoreMeters(telemetry::Metrics& metrics)
    : batches_(metrics.counter("tandem_core_batches_total", "Batches of core that ended.")),
      version_(metrics.gauge("tandem_core_resource_version", "Newest committed resourceVersion.")),
      batch_inputs_(metrics.histogram("tandem_core_batch_inputs", "Inputs in a batch of core.",
                                      batch_buckets)),
      batch_seconds_(metrics.histogram("tandem_core_batch_seconds",
                                       "A batch from its first step to its last effect.",
                                       fine_buckets)),
      decide_seconds_(metrics.histogram("tandem_core_decide_seconds",
                                        "Steps and plan of a batch, before its commit.",
                                        fine_buckets)),
      commit_seconds_(metrics.histogram("tandem_store_commit_seconds",
                                        "One transaction with its sync to disk.", fine_buckets)),
      commits_full_(metrics.counter("tandem_store_full_commits_total",
                                    "Commits that found no space and were taken back.")),
      leases_(metrics.counter("tandem_leases_granted_total",
                              "Shares of keys' limits granted to gateways.")),
      start_failures_(failures(metrics, "start")),
      output_failures_(failures(metrics, "outputs")),
      tasks_lost_(failures(metrics, "lost")),
      probe_failures_(failures(metrics, "probe")),
      inputs_(by_kind<model::Input>(metrics, "tandem_core_inputs_total",
                                    "Inputs that core has worked through, by kind.")),
      intents_(by_kind<model::IntentBody>(metrics, "tandem_executor_actions_total",
                                          "Actions that were ordered, by kind.")) {}

void CoreMeters::began(std::size_t inputs) {
    began_ = Clock::now();
    batch_inputs_.observe(static_cast<double>(inputs));
}

void CoreMeters::committing() {
    committing_ = Clock::now();
    decide_seconds_.observe(std::chrono::duration<double>(committing_ - began_).count());
}

void CoreMeters::committed(core::CommitOutcome outcome) {
    commit_seconds_.observe(since(committing_));
    if (outcome == core::CommitOutcome::full) commits_full_.add();
}

void CoreMeters::ended() {
    batches_.add();
    batch_seconds_.observe(since(began_));
}

void CoreMeters::count_failures(const model::Input& input) {
    if (const auto* exited = std::get_if<model::TaskExited>(&input)) {
        if (!exited->start_error.empty()) start_failures_.add();
    } else if (const auto* stored = std::get_if<model::OutputStored>(&input)) {
        if (!stored->error.empty()) output_failures_.add();
    } else if (std::holds_alternative<model::TaskGone>(input)) {
        tasks_lost_.add();
    } else if (const auto* probed = std::get_if<model::ReplicaProbed>(&input)) {
        if (!probed->ready) probe_failures_.add();
    }
}

void CoreMeters::published(const model::BatchRecord& record) {
    version_.set(static_cast<double>(record.meta.version));
    for (const model::Input& input : record.inputs) {
        inputs_[input.index()].add();
        count_failures(input);
    }
    for (const model::Intent& intent : record.intents_opened) intents_[intent.body.index()].add();
}

}  // namespace tandem::server
