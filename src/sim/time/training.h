// SPDX-License-Identifier: Apache-2.0
// Training jobs on one cluster of equal nodes: what `tandem sim jobs` plays. Times in microseconds.
//
// Rules of the world, the same for every policy (those of the published simulator of Muri, SIGCOMM
// 2022, so that its tables are the yardstick): a job needs `devices` at once and `service` of
// running time; whenever something happens (an arrival, an end, a change of tier), each running job
// loses `overhead` of its progress since the last happening, at most all of it. A job of at most
// one node's devices runs inside one node; a larger one takes whole nodes, and one more for the
// rest. PURE; one owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::sim {

using Micros = std::int64_t;

struct TrainingJob {
    std::string id{};
    std::int64_t devices = 1;
    Micros submit = 0;
    Micros service = 0;
    Micros overhead = 0;
};

struct TrainingCluster {
    std::int64_t nodes = 8;
    std::int64_t devices = 8;  // of each
    std::int64_t total() const { return nodes * devices; }
};

struct TrainingOutcome {
    std::string id{};
    Micros submit = 0;
    Micros start = -1;  // first; -1: never
    Micros end = -1;
    std::int64_t evictions = 0;
};

struct TrainingReport {
    std::vector<TrainingOutcome> jobs{};  // in the order of the trace
    std::int64_t evictions = 0;
    Micros total_jct = 0;
    Micros makespan = 0;  // last end - first submission
    Micros p99_jct = 0;   // sorted[floor(0.99 n)]
};

// Sums up outcomes.
TrainingReport summarise(std::vector<TrainingOutcome> outcomes);

// Progress of one job in this world.
struct Trainee {
    const TrainingJob* job = nullptr;
    std::size_t index = 0;  // in the trace
    Micros remaining = 0;
    Micros executed = 0;
    Micros checked = 0;
    bool running = false;
    int tier = 0;
    Micros end_at(Micros now) const { return now + remaining; }
};
void advance(Trainee& trainee, Micros now);

// Free devices by node, filled anew in order of a key: first fit, consolidated.
class FirstFit {
  public:
    explicit FirstFit(const TrainingCluster& cluster)
        : cluster_(cluster), free_(static_cast<std::size_t>(cluster.nodes), cluster.devices) {}
    void clear() {
        free_.assign(free_.size(), cluster_.devices);
        left_ = cluster_.total();
    }
    bool take(std::int64_t devices);
    std::int64_t left() const { return left_; }

  private:
    bool take_several(std::int64_t devices);

    TrainingCluster cluster_;
    std::vector<std::int64_t> free_{};
    std::int64_t left_ = cluster_.total();
};

}  // namespace tandem::sim
