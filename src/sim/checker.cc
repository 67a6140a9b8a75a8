// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.h"

#include <fmt/format.h>

#include "core/jobs.h"
#include "sim/clients.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t device_milli = 1000;

// An array holds nothing itself; its counts are those of its elements.
std::string check_array(const model::Job& job) {
    if (!job.status.elements) return fmt::format("B: array {} counts nothing", job.meta.name);
    const model::ElementCounts& counts = *job.status.elements;
    const std::int64_t sum = counts.pending + counts.running + counts.over();
    if (sum != counts.made || counts.made > counts.total || counts.pending < 0 ||
        counts.running < 0)
        return fmt::format("B: array {} made {} of {} elements and counts {}", job.meta.name,
                           counts.made, counts.total, sum);
    const std::int64_t cap = job.spec.array->max_running;
    // Elements that wait for their outputs have given back what they held.
    if (cap > 0 && job.spec.outputs.empty() && counts.running > cap)
        return fmt::format("C12: {} elements of array {} run, {} may", counts.running,
                           job.meta.name, cap);
    return {};
}

// Counted from rows, which know nothing of the planner's counters.
std::string check_counters(const core::State& state) {
    std::int64_t seats = 0;
    std::map<std::string, std::int64_t> running;
    for (const auto& [id, job] : state.table<model::Job>().rows()) {
        const bool collects = job.status.reason.code == model::ReasonCode::collecting_outputs;
        if (!model::holds_capacity(job.status.phase) || job.spec.array || collects) continue;
        if (const auto held = job.spec.licenses.find("seats"); held != job.spec.licenses.end())
            seats += held->second;
        running[job.spec.queue] += 1;
    }
    if (seats > seats_there)
        return fmt::format("C13: {} seats are held, there are {}", seats, seats_there);
    for (const char* queue : {"team-a", "team-b"})
        if (running[queue] > queue_running_max)
            return fmt::format("C13: {} jobs of queue {} run, {} may", running[queue], queue,
                               queue_running_max);
    return {};
}

}  // namespace

std::string Checker::check_job(const model::Job& job, const core::State& state) {
    Seen& seen = seen_[job.meta.uid];
    if (job.status.epoch < seen.epoch) return fmt::format("B6: epoch of {} went back", job.meta.name);
    if (job.meta.version < seen.version) return fmt::format("A: version of {} went back", job.meta.name);
    seen = {job.status.epoch, job.status.failures, job.meta.version};
    if (job.status.phase == model::Phase::failed && job.status.failures > job.spec.retries.limit + 1)
        return fmt::format("B8: {} was tried {} times, limit {}", job.meta.name, job.status.failures, job.spec.retries.limit);
    if (job.spec.array) return check_array(job);
    if (job.status.phase != model::Phase::starting && job.status.phase != model::Phase::running) return {};
    std::int64_t needed = 0;
    std::int64_t surplus = 0;
    for (RowId id : core::replicas_of(state, job.meta.id)) {
        const model::Replica& replica = state.table<model::Replica>().get(id);
        const bool is_in = replica.status.epoch == job.status.epoch &&
                           model::may_be_alive(replica.status.phase);
        if (replica.status.surplus)
            surplus += model::holds_capacity(replica.status.phase) && !replica.status.draining;
        else
            needed += is_in ? 1 : 0;
    }
    const std::int64_t least = model::least_members(job.spec);
    const std::int64_t most = model::most_members(job.spec);
    if (needed != least || needed + surplus > most)
        return fmt::format("C14: gang {} has {} of {} members and {} more, of {}", job.meta.name,
                           needed, least, surplus, most);
    if (least < most && job.status.replicas != needed + surplus)
        return fmt::format("C14: elastic job {} says it has {} members, and has {}", job.meta.name,
                           job.status.replicas, needed + surplus);
    return {};
}

std::string Checker::check_devices(const core::State& state) const {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> used;
    for (const auto& [id, replica] : state.table<model::Replica>().rows()) {
        const bool collected = !model::may_be_alive(replica.status.phase);
        if (collected) continue;
        const model::Job* job = state.table<model::Job>().find(replica.spec.owner_id);
        if (job && job->status.reason.code == model::ReasonCode::collecting_outputs) continue;
        for (const model::DeviceShare& share : replica.status.devices)
            used[{replica.status.node, share.index}] += share.milli;
    }
    for (const auto& [device, milli] : used)
        if (milli > device_milli) return fmt::format("C10: device {}/{} is given {} milli", device.first, device.second, milli);
    return {};
}

std::string Checker::after_batch(const model::BatchRecord& record, const core::State& state,
                                 const store::MemoryRows& rows) {
    for (const model::Change& change : record.changes) {
        const auto* job = std::get_if<model::Job>(&change.object);
        if (!job || change.type == model::ChangeType::deleted) continue;
        if (std::string broken = check_job(*job, state); !broken.empty()) return broken;
    }
    if (std::string broken = check_devices(state); !broken.empty()) return broken;
    if (std::string broken = check_counters(state); !broken.empty()) return broken;
    if (std::string broken = state.planner.recount(); !broken.empty()) return "C11: " + broken;
    if (std::string broken = state.book.check(); !broken.empty()) return "F31: " + broken;
    std::size_t objects = 0;
    state.each_table([&](const auto& table) { objects += table.size(); });
    if (objects != rows.objects.size())
        return fmt::format("A1: {} objects in core, {} in the store", objects, rows.objects.size());
    if (state.intents.size() != rows.intents.size())
        return fmt::format("D17: {} intents in core, {} in the store", state.intents.size(), rows.intents.size());
    return {};
}

std::string Checker::ledger_adds_up(const store::MemoryRows& rows, Instant now) const {
    struct Sum {
        Instant first{INT64_MAX};
        std::int64_t milli_ms = 0;
    };
    std::map<std::pair<std::string, std::int64_t>, Sum> devices;
    const auto add = [&](const model::UsageRecord& row, Instant to) {
        if (row.device < 0) return;
        Sum& sum = devices[{row.node, row.device}];
        sum.first = std::min(sum.first, row.from);
        sum.milli_ms += row.milli * (to - row.from).ms;
    };
    for (const auto& [id, row] : rows.usage) add(row, row.to);
    for (const auto& [id, row] : rows.open_intervals) add(row, now);
    for (const auto& [device, sum] : devices) {
        const std::int64_t whole = device_milli * (now - sum.first).ms;
        if (sum.milli_ms != whole)
            return fmt::format("F31: device {}/{} has {} of {} milli-ms in the ledger", device.first, device.second,
                               sum.milli_ms, whole);
    }
    return {};
}

}  // namespace tandem::sim
