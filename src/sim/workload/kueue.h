// SPDX-License-Identifier: Apache-2.0
// Kueue's generator of scheduler loads (test/performance/scheduler of that project): cohorts of
// queues with sets of workloads that come at even intervals and run for a given time. Read into
// Tandem's own objects, and played by core's driver under a virtual clock.
//
// What stands for what: a cohort is an inner queue, its queues are leaves with nominal and
// borrowing limit; a workload is a job of podCount ranks. One device of the flavor "unit" is the
// largest amount of CPU that divides all requests and quotas, so that quotas bind exactly as they
// do there; there are three times as many devices as the quotas give out, in nodes that hold four
// of the largest pod, so that quotas alone bind. Levels of a topology and constraints on them are
// read, checked, and not applied.
//
// Errors: invalid, with the field from the text's root ("cohorts[0].queuesSets[0].count").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/command.h"
#include "model/object.h"
#include "sim/workload/chronicle.h"

namespace tandem::sim {

struct KueueQueue {
    std::string name{};
    std::string cohort{};
    std::int64_t nominal_milli = 0;  // of CPU
    std::int64_t borrow_milli = 0;   // -1: not limited
    bool reclaims = true;
    bool preempts_lower = true;
};
struct KueueWork {
    std::string name{};
    std::string class_name{};
    std::string queue{};
    Duration created{};  // after the begin
    Duration run_time{};
    std::int64_t number = 0;  // in the order of the text
    std::int64_t priority = 0;
    std::int64_t pods = 1;
    std::int64_t request_milli = 0;  // of CPU, each pod
};
struct KueueLoad {
    std::vector<KueueQueue> queues{};
    std::vector<KueueWork> work{};  // in order of creation
    std::int64_t unit_milli = 1;    // CPU that one device stands for
    bool constrained = false;       // some work names a constraint on a topology
};
Result<KueueLoad> parse_kueue(std::string_view yaml);

// The cluster and the queues; a job.
inline constexpr std::string_view kueue_flavor = "unit";
std::int64_t kueue_node_count(const KueueLoad& load);
std::int64_t kueue_node_devices(const KueueLoad& load);
std::vector<model::Action> make_queues(const KueueLoad& load);
model::Job make_job(const KueueLoad& load, const KueueWork& work);

struct KueueClass {
    std::int64_t count = 0;
    std::int64_t wait_ms = 0;  // from creation to the first start, of all together
};
struct KueueReport {
    std::string violation{};  // of a rule; empty: none
    std::int64_t wall_ms = 0;
    std::int64_t ideal_ms = 0;   // if the whole quota were in use until the end
    std::int64_t used_parts = 0; // of the quota over the wall, in millionths: work that was of use
    std::int64_t evictions = 0;
    std::int64_t batches = 0;
    std::map<std::string, KueueClass> classes{};
    ChronicleFigures figures{};
};
KueueReport play_kueue(const KueueLoad& load);

}  // namespace tandem::sim
