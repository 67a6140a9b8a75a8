// SPDX-License-Identifier: Apache-2.0
// What the rows of the engine are measured on: nodes of eight devices in four zones, and a queue tree of three
// levels. The planner alone: no store, no API.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sched/planner.h"

namespace tandem::bench {

inline constexpr std::int64_t devices_a_node = 8;
inline constexpr std::int64_t all_steps = std::int64_t{1} << 60;

struct Tree {
    std::int64_t groups = 5;
    std::int64_t leaves = 50;  // of all groups together
    bool unlimited = false;    // no quota is stated
};
// Nodes `node-N`, labelled zone=zN and host=hN; queues root > group-G > team-Q. The tables are built.
void furnish(sched::Planner& planner, std::int64_t nodes, const Tree& tree);

std::string node_name(std::int64_t node);
std::string team(std::int64_t queue);

// `count` ranks of `devices` whole devices; the zone is selected by its label, -1: none is.
struct Wish {
    std::int64_t queue = 0;
    std::int64_t count = 1;
    std::int64_t devices = 1;
    std::int64_t zone = -1;
    std::int64_t cpu_milli = 1000;
    std::int64_t priority = 0;
    std::int64_t minutes = 0;  // stated length; 0: not stated
    bool preemptible = true;
};
sched::Demand demand(std::int64_t id, const Wish& wish);

struct Running {
    std::int64_t queue = 0;
    bool preemptible = true;
    std::int64_t ends_minutes = 0;  // 0: not stated
};
// One device, as core enters what runs.
void add_running(sched::Planner& planner, std::int64_t id, std::int64_t node, std::int64_t device, const Running& how);

// Processor time of this thread: what else the machine does is not counted.
class Watch {
  public:
    double milliseconds() const { return now() - begin_; }

  private:
    static double now() {
        timespec at{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
        return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
    }

    double begin_ = now();
};

// Of times: `part` 0.5 is the middle.
double at_part(std::vector<double> times, double part);

[[noreturn]] void give_up(const std::string& what);

}  // namespace tandem::bench
