// SPDX-License-Identifier: Apache-2.0
#include "sched/fingerprint.h"

#include "base/digest.h"
#include "sched/affinity.h"
#include "sched/by_rules.h"

namespace tandem::sched {
namespace {

std::int64_t flag(bool value) {
    return value ? 1 : 0;
}

// Sorted by number in the tables, so summed: numbers depend on who came first.
std::uint64_t sum_of(const Names& names, const std::vector<int>& list) {
    std::uint64_t sum = 0;
    for (int name : list) sum += names.fingerprint(name);
    return sum;
}

std::uint64_t text_print(const std::string& text) {
    Digest digest;
    digest.add(text);
    return digest.value();
}

}  // namespace

std::uint64_t fingerprint_of(const Names& names, int name, const NodeFacts& facts) {
    Fingerprint print;
    print << names.fingerprint(name) << facts.id.value << flag(facts.ready)
          << flag(facts.unschedulable) << facts.cpu_milli << facts.memory_bytes;
    for (const auto& [label, value] : facts.labels) print << text_print(label) << text_print(value);
    for (const std::string& taint : facts.taints) print << text_print(taint);
    if (facts.closes) print << facts.closes->ms << names.fingerprint(facts.closing);
    for (const DeviceFacts& device : facts.devices) {
        print << device.index << names.fingerprint(device.flavor) << flag(device.healthy)
              << device.memory_bytes;
    }
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, int name, const PoolFacts& facts) {
    Fingerprint print;
    print << names.fingerprint(name) << facts.id.value << static_cast<std::int64_t>(facts.form)
          << sum_of(names, facts.projects) << names.fingerprint(facts.from)
          << names.fingerprint(facts.flavor) << facts.devices
          << static_cast<std::int64_t>(facts.placement);
    for (const std::string& level : facts.levels) print << text_print(level);
    std::uint64_t held = 0;
    for (const DeviceKey& key : facts.held) {
        Fingerprint one;
        one << names.fingerprint(key.node) << key.index;
        held += one.value();
    }
    print << held;
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, int name, const QueueFacts& facts) {
    Fingerprint print;
    print << names.fingerprint(name) << names.fingerprint(facts.parent)
          << names.fingerprint(facts.pool) << sum_of(names, facts.projects) << flag(facts.stopped)
          << static_cast<std::int64_t>(facts.preemption.within_queue)
          << static_cast<std::int64_t>(facts.preemption.reclaim)
          << static_cast<std::int64_t>(facts.preemption.fair_share) << facts.preemption.per_minute
          << facts.preemption.burst << facts.min_run_ms << facts.half_life_ms;
    for (const QuotaFacts& quota : facts.quotas) {
        print << names.fingerprint(quota.flavor) << quota.nominal << quota.borrow_limit
              << quota.lend_limit << quota.max << quota.weight;
    }
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, RowId workload, const OccupantFacts& facts) {
    Fingerprint print;
    print << workload.value << names.fingerprint(facts.queue) << facts.priority
          << flag(facts.preemptible) << facts.started.ms << facts.safe_at.ms << facts.restart_ms
          << facts.evictions << (facts.ends ? facts.ends->ms : -1)
          << static_cast<std::int64_t>(facts.standing);
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, const Slot& slot) {
    Fingerprint print;
    print << slot.id.value << slot.part << static_cast<std::int64_t>(slot.kind)
          << slot.workload.value << names.fingerprint(slot.node) << names.fingerprint(slot.flavor)
          << names.fingerprint(slot.asked) << names.fingerprint(slot.queue)
          << names.fingerprint(slot.pool) << names.fingerprint(slot.project)
          << names.fingerprint(slot.permits) << slot.cpu_milli << slot.memory_bytes
          << flag(slot.leaving) << flag(slot.provisional);
    for (const Share& share : slot.shares)
        print << share.device << share.milli << share.memory_bytes;
    if (slot.placing != no_name) print << names.fingerprint(slot.placing);
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, RowId id, const BookingFacts& facts) {
    Fingerprint print;
    print << id.value << names.fingerprint(facts.pool) << names.fingerprint(facts.from)
          << names.fingerprint(facts.flavor) << facts.members << facts.each << facts.start.ms
          << facts.length_ms << facts.every_ms << facts.windows;
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, const Demand& demand) {
    Fingerprint print;
    print << demand.workload.value << names.fingerprint(names.find(demand.queue))
          << names.fingerprint(names.find(demand.project)) << demand.priority << demand.submitted.ms
          << static_cast<std::int64_t>(demand.when_borrow)
          << static_cast<std::int64_t>(demand.when_preempt) << demand.length.ms
          << flag(demand.preemptible) << flag(demand.forced);
    for (const Permit& permit : demand.permits)
        print << static_cast<std::int64_t>(permit.bound) << text_print(permit.name)
              << text_print(permit.at) << flag(permit.devices) << permit.amount << permit.limit;
    for (const DemandPart& part : demand.parts) {
        print << text_print(part.role) << part.first_rank << part.count << part.each.devices
              << names.fingerprint(names.find(part.each.flavor)) << part.each.cpu_milli
              << part.each.memory_bytes;
        for (const auto& [label, value] : part.each.node_selector)
            print << text_print(label) << text_print(value);
        for (const std::string& taint : part.each.tolerations) print << text_print(taint);
        if (!part.each.node_affinity.empty()) print << text_print(text_of(part.each.node_affinity));
        print << part.each.device_memory_bytes;
    }
    if (demand.placing.rules) print << text_print(text_of(*demand.placing.rules));
    if (!demand.window.empty()) print << text_print(demand.window);
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, int queue, int flavor, const Use& use) {
    Fingerprint print;
    print << names.fingerprint(queue) << names.fingerprint(flavor)
          << static_cast<std::uint64_t>(use.amount) << static_cast<std::uint64_t>(use.amount >> 64)
          << use.at.ms << use.milli;
    return print.value();
}

std::uint64_t fingerprint_of(const Names& names, int queue, const Bucket& bucket) {
    Fingerprint print;
    print << names.fingerprint(queue) << bucket.left << bucket.at.ms;
    return print.value();
}

}  // namespace tandem::sched
