// SPDX-License-Identifier: Apache-2.0
// Chronicle: watches a stage and tells what happened there as figures: devices by flavor and queue
// over time, waits, evictions and device-time by class of work, what was free and of no use, and
// what each queue got against its weight. The reports of `tandem sim run`, `kueue` and `what-if`
// are made of it; report_json.h and report_html.h write it down.
//
// A class is the job's label "class", or else its queue. A wait is the time from a job's creation
// to its first start. Fragmentation is that of sched/mix.h (Weng et al., USENIX ATC 2023), with all
// jobs submitted so far as what is typical; it is measured after every batch, in
// large worlds once in each bucket of the curves.
// Contested: while somebody waits in a queue of the same parent.
// Units: milli-devices, milliseconds, parts of a thousand. Thread rule: one owner; the stage must
// outlive it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/workload/curves.h"
#include "sim/workload/stage.h"

namespace tandem::sim {

struct FlavorFigures {
    std::string flavor{};
    std::vector<std::int64_t> capacity{};
    std::vector<std::int64_t> used{};
    std::vector<std::int64_t> fragmented{};
    Wide capacity_ms = 0;
    Wide used_ms = 0;
    Wide fragmented_ms = 0;
};
struct QueueFigures {
    std::string queue{};
    std::string parent{};
    std::string flavor{};
    std::int64_t nominal = 0;
    std::int64_t weight = 1;
    std::vector<std::int64_t> used{};
    Wide used_ms = 0;
    Wide borrowed_ms = 0;
    Wide contested_ms = 0;
    Wide contested_borrowed_ms = 0;
    // Of its parent's children that wanted this flavor.
    std::int64_t share_of_use = 0;       // while contested
    std::int64_t share_of_borrowed = 0;  // while contested
    std::int64_t share_by_weight = 0;
};
struct ClassFigures {
    std::string name{};
    std::int64_t jobs = 0;
    std::int64_t started = 0;
    std::int64_t ended = 0;
    std::int64_t evictions = 0;
    std::vector<std::int64_t> waits_ms{};  // of those that started, ascending
    Wide used_ms = 0;                      // milli-devices times ms, of all its tasks
};
struct ChronicleFigures {
    Duration length{};
    Duration bucket{};
    std::vector<FlavorFigures> flavors{};
    std::vector<QueueFigures> queues{};
    std::vector<ClassFigures> classes{};
    std::vector<std::int64_t> waiting{};  // jobs, times 1000
};

std::int64_t mean_of(const std::vector<std::int64_t>& waits);
// The smallest value that at least so many percent do not exceed; 0 of nothing.
std::int64_t percentile_of(const std::vector<std::int64_t>& ascending, std::int64_t percent);
std::int64_t per_mille(Wide part, Wide whole);  // 0 of nothing

class Chronicle {
  public:
    explicit Chronicle(Stage& stage);
    ~Chronicle();
    Chronicle(const Chronicle&) = delete;
    Chronicle& operator=(const Chronicle&) = delete;

    // Counts a job to this class, whatever it says itself.
    void classify(const std::string& job, const std::string& name) { classes_[job] = name; }
    // Ends with the stage's time, or with the last change when nothing is in use any more.
    ChronicleFigures close();

  private:
    void look();
    void note_flavors(Curves::Values& values);
    void note_queues(Curves::Values& values);
    void note_fragments(Curves::Values& values);
    void tell_flavors(ChronicleFigures& figures) const;
    void tell_queues(ChronicleFigures& figures) const;
    void tell_classes(ChronicleFigures& figures) const;

    struct Queue {
        std::string parent{};
        std::int64_t nominal = 0;
        std::int64_t weight = 1;
    };
    Stage& stage_;
    Instant begin_{};
    Curves curves_;
    std::int64_t bucket_looked_ = -1;
    std::int64_t rows_looked_ = 0;
    Curves::Values fragments_{};
    std::map<std::string, std::string> classes_{};                   // by job
    std::map<std::pair<std::string, std::string>, Queue> queues_{};  // by name and flavor, as last
};

}  // namespace tandem::sim
