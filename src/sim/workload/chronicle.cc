// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/chronicle.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/jobs.h"
#include "sim/workload/fragments.h"

namespace tandem::sim {
namespace {

using model::Job;

constexpr std::int64_t rows_looked_at_will = 2'000'000;

std::string class_of(const Job& job) {
    const auto label = job.meta.labels.find("class");
    return label == job.meta.labels.end() ? job.spec.queue : label->second;
}

CurveKey of_queue(CurveOf of, const sched::QueueLine& line) {
    return {of, line.queue, line.flavor};
}

// Queues below which somebody waits, themselves included.
std::set<std::string> queues_with_waiters(const std::vector<sched::QueueLine>& lines) {
    std::map<std::string, std::string> parents;
    for (const sched::QueueLine& line : lines) parents[line.queue] = line.parent;
    std::set<std::string> found;
    for (const sched::QueueLine& line : lines) {
        if (line.waiting == 0) continue;
        for (std::string at = line.queue; !at.empty() && found.insert(at).second;) at = parents[at];
    }
    return found;
}

// A queue that has nothing yet has a line without a flavor: here one of each that it may have.
std::vector<sched::QueueLine> lines_by_flavor(const core::State& state) {
    std::vector<sched::QueueLine> lines = state.planner.queue_lines();
    std::set<std::string> flavors;
    for (const sched::PoolLine& pool : state.planner.pool_lines()) flavors.insert(pool.flavor);
    std::vector<sched::QueueLine> told;
    for (sched::QueueLine& line : lines) {
        const model::Queue* queue = state.table<model::Queue>().find_named(line.queue);
        if (!line.flavor.empty() || queue == nullptr) {
            told.push_back(line);
            continue;
        }
        for (const std::string& flavor : flavors) {
            const auto quota = std::ranges::find_if(queue->spec.quotas, [&](const auto& one) {
                return one.flavor == flavor || one.flavor == "*";
            });
            if (quota == queue->spec.quotas.end() && !queue->spec.quotas.empty()) continue;
            line.flavor = flavor;
            if (quota != queue->spec.quotas.end()) {
                line.nominal = quota->nominal;
                line.weight = quota->weight;
            }
            told.push_back(line);
        }
    }
    return told;
}

}  // namespace

std::int64_t mean_of(const std::vector<std::int64_t>& waits) {
    Wide sum = 0;
    for (const std::int64_t wait : waits) sum += wait;
    return waits.empty() ? 0 : static_cast<std::int64_t>(sum / static_cast<Wide>(waits.size()));
}

std::int64_t percentile_of(const std::vector<std::int64_t>& ascending, std::int64_t percent) {
    if (ascending.empty()) return 0;
    const auto count = static_cast<std::int64_t>(ascending.size());
    const std::int64_t rank = std::max<std::int64_t>(1, (count * percent + 99) / 100);
    return ascending[static_cast<std::size_t>(rank - 1)];
}

std::int64_t per_mille(Wide part, Wide whole) {
    return whole == 0 ? 0 : static_cast<std::int64_t>(part * 1000 / whole);
}

Chronicle::Chronicle(Stage& stage) : stage_(stage), begin_(stage.now()), curves_(begin_) {
    stage_.watch([this] { look(); });
}

Chronicle::~Chronicle() {
    stage_.watch({});
}

void Chronicle::look() {
    Curves::Values values;
    note_flavors(values);
    note_queues(values);
    note_fragments(values);
    curves_.hold(stage_.now(), std::move(values));
}

void Chronicle::note_flavors(Curves::Values& values) {
    for (const sched::PoolLine& line : stage_.state().planner.pool_lines()) {
        values[{CurveOf::capacity, line.flavor, {}}] += line.total;
        values[{CurveOf::used, line.flavor, {}}] += line.used;
    }
}

void Chronicle::note_queues(Curves::Values& values) {
    const std::vector<sched::QueueLine> lines = lines_by_flavor(stage_.state());
    const std::set<std::string> waited = queues_with_waiters(lines);
    std::set<std::string> contested;  // parents
    std::map<std::string, std::int64_t> waiting;
    std::set<std::string> inner;  // theirs is that of all below
    for (const sched::QueueLine& line : lines) {
        waiting[line.queue] = line.waiting;
        inner.insert(line.parent);
        if (waited.contains(line.queue)) contested.insert(line.parent);
        queues_[{line.queue, line.flavor}] = {line.parent, line.nominal, line.weight};
    }
    for (const sched::QueueLine& line : lines) {
        values[of_queue(CurveOf::queue_used, line)] = line.used;
        values[of_queue(CurveOf::queue_borrowed, line)] = line.borrowed;
        if (line.used > 0 || waited.contains(line.queue))
            values[of_queue(CurveOf::wanted, line)] = 1000;
        if (!contested.contains(line.parent)) continue;
        values[of_queue(CurveOf::contested, line)] = line.used;
        values[of_queue(CurveOf::contested_borrowed, line)] = line.borrowed;
    }
    std::int64_t all = 0;
    for (const auto& [queue, count] : waiting) all += inner.contains(queue) ? 0 : count;
    values[{CurveOf::waiting, {}, {}}] = all * 1000;
}

void Chronicle::note_fragments(Curves::Values& values) {
    const std::int64_t bucket = (stage_.now() - begin_).ms / curves_.width().ms;
    if (bucket != bucket_looked_ || rows_looked_ < rows_looked_at_will) {
        bucket_looked_ = bucket;
        const core::State& state = stage_.state();
        rows_looked_ += static_cast<std::int64_t>(state.table<model::Replica>().rows().size() +
                                                  state.table<Job>().rows().size());
        fragments_.clear();
        for (const auto& [flavor, milli] : measure_fragments(state))
            fragments_[{CurveOf::fragmented, flavor, {}}] = milli;
    }
    values.insert(fragments_.begin(), fragments_.end());
}

ChronicleFigures Chronicle::close() {
    look();
    if (!curves_.all_zero(CurveOf::used)) curves_.close(stage_.now());
    ChronicleFigures figures{.length = curves_.length(), .bucket = curves_.width()};
    figures.waiting = curves_.means({CurveOf::waiting, {}, {}});
    tell_flavors(figures);
    tell_queues(figures);
    tell_classes(figures);
    return figures;
}

void Chronicle::tell_flavors(ChronicleFigures& figures) const {
    for (const CurveKey& key : curves_.keys()) {
        if (key.of != CurveOf::capacity) continue;
        const CurveKey used{CurveOf::used, key.name, {}};
        const CurveKey fragmented{CurveOf::fragmented, key.name, {}};
        figures.flavors.push_back({.flavor = key.name,
                                   .capacity = curves_.means(key),
                                   .used = curves_.means(used),
                                   .fragmented = curves_.means(fragmented),
                                   .capacity_ms = curves_.integral(key),
                                   .used_ms = curves_.integral(used),
                                   .fragmented_ms = curves_.integral(fragmented)});
    }
}

void Chronicle::tell_queues(ChronicleFigures& figures) const {
    struct Family {
        Wide contested = 0;
        Wide borrowed = 0;
        Wide weights = 0;
    };
    std::map<std::pair<std::string, std::string>, Family> families;
    const auto integral = [&](CurveOf of, const auto& key) {
        return curves_.integral({of, key.first, key.second});
    };
    for (const auto& [key, queue] : queues_) {
        if (integral(CurveOf::wanted, key) == 0) continue;
        Family& family = families[{queue.parent, key.second}];
        family.contested += integral(CurveOf::contested, key);
        family.borrowed += integral(CurveOf::contested_borrowed, key);
        family.weights += queue.weight;
    }
    for (const auto& [key, queue] : queues_) {
        if (integral(CurveOf::wanted, key) == 0) continue;
        const Family& family = families[{queue.parent, key.second}];
        QueueFigures told{.queue = key.first, .parent = queue.parent, .flavor = key.second};
        told.nominal = queue.nominal;
        told.weight = queue.weight;
        told.used = curves_.means({CurveOf::queue_used, key.first, key.second});
        told.used_ms = integral(CurveOf::queue_used, key);
        told.borrowed_ms = integral(CurveOf::queue_borrowed, key);
        told.contested_ms = integral(CurveOf::contested, key);
        told.contested_borrowed_ms = integral(CurveOf::contested_borrowed, key);
        told.share_of_use = per_mille(told.contested_ms, family.contested);
        told.share_of_borrowed = per_mille(told.contested_borrowed_ms, family.borrowed);
        told.share_by_weight = per_mille(queue.weight, family.weights);
        figures.queues.push_back(std::move(told));
    }
}

void Chronicle::tell_classes(ChronicleFigures& figures) const {
    std::map<std::string, Instant> first;
    std::map<std::string, Wide> used;
    std::map<std::string, std::int64_t> evictions;
    for (const StartSeen& start : stage_.starts()) first.try_emplace(start.job, start.at);
    for (const EvictionSeen& eviction : stage_.evictions()) evictions[eviction.job] += 1;
    for (const TaskSeen& task : stage_.tasks())
        used[task.job] += Wide{task.milli} * (task.ended.value_or(stage_.now()) - task.started).ms;
    std::map<std::string, ClassFigures> classes;
    for (const auto& [id, job] : stage_.state().table<Job>().rows()) {
        if (job.spec.array) continue;  // its elements are jobs
        const auto told = classes_.find(job.meta.name);
        ClassFigures& one = classes[told == classes_.end() ? class_of(job) : told->second];
        one.jobs += 1;
        one.evictions += evictions[job.meta.name];
        one.used_ms += used[job.meta.name];
        const auto started = first.find(job.meta.name);
        if (started == first.end()) continue;
        one.started += 1;
        one.ended += model::is_terminal(job.status.phase) ? 1 : 0;
        one.waits_ms.push_back((started->second - job.meta.created).ms);
    }
    for (auto& [name, one] : classes) {
        one.name = name;
        std::ranges::sort(one.waits_ms);
        figures.classes.push_back(std::move(one));
    }
}

}  // namespace tandem::sim
