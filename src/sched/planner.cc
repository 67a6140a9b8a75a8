// SPDX-License-Identifier: Apache-2.0
#include "sched/planner.h"

#include <algorithm>

#include "sched/inside.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

std::vector<int> intern_all(Names& names, const std::vector<std::string>& texts) {
    std::vector<int> numbers;
    for (const std::string& text : texts) numbers.push_back(names.intern(text));
    std::ranges::sort(numbers);
    return numbers;
}

bool is_same_place(const Slot& a, const Slot& b) {
    return a.node == b.node && a.shares == b.shares;
}

Slot slot_of(Names& names, const Entry& entry) {
    Slot slot{.id = entry.id,
              .part = entry.part,
              .kind = entry.kind,
              .workload = entry.workload,
              .node = names.intern(entry.node),
              .flavor = names.intern(entry.flavor),
              .asked = names.intern(entry.asked),
              .queue = names.intern(entry.queue),
              .pool = names.intern(entry.pool),
              .project = names.intern(entry.project),
              .cpu_milli = entry.cpu_milli,
              .memory_bytes = entry.memory_bytes,
              .leaving = entry.leaving};
    for (const model::DeviceShare& share : entry.devices)
        slot.shares.push_back({share.index, share.milli, share.memory_bytes});
    slot.shown = std::make_unique<Entry>(entry);
    return slot;
}

}  // namespace

Planner::Planner() : inside_(std::make_unique<Inside>()) {}
Planner::~Planner() = default;

void Planner::clear() { inside_ = std::make_unique<Inside>(); }

void Planner::put_node(const model::Node& node) {
    auto facts = std::make_unique<NodeFacts>(NodeFacts{.id = node.meta.id,
                                                       .ready = node.status.ready,
                                                       .unschedulable = node.spec.unschedulable,
                                                       .cpu_milli = node.status.cpu_milli,
                                                       .memory_bytes = node.status.memory_bytes,
                                                       .labels = node.meta.labels,
                                                       .taints = node.spec.taints});
    for (const model::Device& device : node.status.devices) {
        facts->devices.push_back({device.index, inside_->names.intern(device.flavor),
                                  device.healthy && device.taken_by.empty(),
                                  device.memory_bytes});
    }
    inside_->set_node(inside_->names.intern(node.meta.name), std::move(facts));
    inside_->end_call();
}

void Planner::remove_node(const std::string& name) {
    inside_->set_node(inside_->names.intern(name), nullptr);
    inside_->end_call();
}

void Planner::put_pool(const model::Pool& pool) {
    Names& names = inside_->names;
    auto facts =
        std::make_unique<PoolFacts>(PoolFacts{.id = pool.meta.id,
                                              .form = pool.spec.form,
                                              .projects = intern_all(names, pool.spec.projects),
                                              .from = names.intern(pool.spec.from),
                                              .flavor = names.intern(pool.spec.flavor),
                                              .devices = pool.spec.devices,
                                              .placement = pool.spec.placement,
                                              .levels = pool.spec.topology});
    for (const model::HeldDevice& held : pool.status.held)
        facts->held.push_back({names.intern(held.node), held.index});
    std::ranges::sort(facts->held);
    inside_->set_pool(names.intern(pool.meta.name), std::move(facts));
    inside_->end_call();
}

void Planner::remove_pool(const std::string& name) {
    inside_->set_pool(inside_->names.intern(name), nullptr);
    inside_->end_call();
}

void Planner::put_queue(const model::Queue& queue) {
    Names& names = inside_->names;
    auto facts = std::make_unique<QueueFacts>(QueueFacts{
        .parent = names.intern(queue.spec.parent),
        .pool = names.intern(queue.spec.pool),
        .projects = intern_all(names, queue.spec.projects),
        .stopped = queue.spec.stop != model::StopPolicy::none,
        .preemption = queue.spec.preemption,
        .min_run_ms = queue.spec.min_run_time.ms,
        .half_life_ms = queue.spec.usage_half_life ? queue.spec.usage_half_life->ms : 0});
    for (const model::FlavorQuota& quota : queue.spec.quotas) {
        facts->quotas.push_back(
            {.flavor = quota.flavor == "*" ? no_name : names.intern(quota.flavor),
             .nominal = quota.nominal,
             .borrow_limit = quota.borrow_limit,
             .lend_limit = quota.lend_limit,
             .max = quota.max,
             .weight = quota.weight});
    }
    inside_->set_queue(names.intern(queue.meta.name), std::move(facts));
    inside_->end_call();
}

void Planner::remove_queue(const std::string& name) {
    inside_->set_queue(inside_->names.intern(name), nullptr);
    inside_->end_call();
}

void Planner::set_typical(const std::vector<TypicalWork>& work) {
    std::vector<MixCount> counts;
    for (const TypicalWork& each : work) {
        const FlavorChoice choice = parse_choice(inside_->names, each.flavor);
        counts.push_back({{{each.cpu_milli, each.devices}, choice.all()}, each.count});
    }
    inside_->told_mix = std::move(counts);
    inside_->mix_is_fresh = false;
}

void Planner::put_entry(const Entry& entry) {
    inside_->intern_choice(entry.asked);
    Slot slot = slot_of(inside_->names, entry);
    slot.permits = inside_->permits.intern(inside_->names, entry.permits);
    slot.placing = inside_->intern_placing(entry.placing);
    if (const auto same = inside_->entries.find({entry.id, entry.part});
        same != inside_->entries.end()) {
        Slot& before = inside_->slots[spot(same->second)];
        if (*before.shown == entry) return;
        inside_->wake_after_release(before);
        inside_->remove_slot(same->second);
    } else if (const auto work = inside_->workloads.find(entry.workload);
               work != inside_->workloads.end()) {
        for (int index : work->second.slots) {  // what a plan placed gets its replica's id
            const Slot& planned = inside_->slots[spot(index)];
            if (!planned.provisional || !is_same_place(planned, slot)) continue;
            inside_->remove_slot(index);
            break;
        }
    }
    inside_->add_slot(std::move(slot));
    inside_->waiting.wake({WakeOn::leavers_of_pool, inside_->names.find(entry.pool)});
    if (entry.placing.rules) inside_->waiting.wake({WakeOn::company, 0});
    if (const int node = inside_->quota.find(inside_->names.find(entry.queue));
        node >= 0 && !inside_->dirty) {
        inside_->waiting.wake({WakeOn::borrowers_of_tree, inside_->quota.nodes()[spot(node)].root});
    }
    inside_->end_call();
}

void Planner::remove_entry(RowId id, std::int64_t part) {
    const auto found = inside_->entries.find({id, part});
    if (found == inside_->entries.end()) return;
    inside_->wake_after_release(inside_->slots[spot(found->second)]);
    inside_->remove_slot(found->second);
    inside_->end_call();
}

void Planner::set_leaving(RowId id, std::int64_t part) {
    const auto found = inside_->entries.find({id, part});
    if (found == inside_->entries.end() || inside_->slots[spot(found->second)].leaving) return;
    inside_->change_leaving(found->second);
    inside_->wake_after_release(inside_->slots[spot(found->second)]);
    inside_->end_call();
}

void Planner::put_demand(const Demand& demand) {
    if (const int slot = inside_->waiting.find(demand.workload); slot >= 0)
        inside_->take_demand(slot);
    inside_->put_demand(demand);
    inside_->end_call();
}

void Planner::remove_demand(RowId workload) {
    const int slot = inside_->waiting.find(workload);
    if (slot < 0) return;
    inside_->take_demand(slot);
    inside_->end_call();
}

void Planner::put_occupant(const Occupant& occupant) {
    inside_->set_occupant(occupant.workload, std::make_unique<OccupantFacts>(OccupantFacts{
                                                 .queue = inside_->names.intern(occupant.queue),
                                                 .priority = occupant.priority,
                                                 .preemptible = occupant.preemptible,
                                                 .started = occupant.started,
                                                 .safe_at = occupant.safe_at,
                                                 .restart_ms = occupant.restart_time.ms,
                                                 .evictions = occupant.evictions,
                                                 .ends = occupant.ends}));
    inside_->end_call();
}

void Planner::remove_occupant(RowId workload) {
    inside_->set_occupant(workload, nullptr);
    inside_->end_call();
}

const Entry* Planner::find_entry(RowId id, std::int64_t part) const {
    const auto found = inside_->entries.find({id, part});
    return found == inside_->entries.end() ? nullptr
                                           : inside_->slots[spot(found->second)].shown.get();
}

bool Planner::claim_is_free(RowId id, std::int64_t part) const {
    const auto found = inside_->entries.find({id, part});
    if (found == inside_->entries.end()) return false;
    inside_->ensure_built();
    const Slot& slot = inside_->slots[spot(found->second)];
    const int position = inside_->capacity.find(slot.node);
    if (position < 0 || slot.kind != EntryKind::claim) return slot.kind != EntryKind::claim;
    const NodeState& node = inside_->capacity.node(position);
    if (node.cpu.total < node.cpu.occupied + slot.cpu_milli) return false;
    if (node.memory.total < node.memory.occupied + slot.memory_bytes) return false;
    return std::ranges::all_of(slot.shares, [&](const Share& share) {
        const Dev* device = Capacity::find_device(node, share.device);
        if (device == nullptr || !device->is_free_for(share)) return false;
        return device->leavers == 0 || device->leave_project == slot.project;
    });
}

void Planner::advance(Instant now) {
    inside_->time = std::max(inside_->time, now);
}

std::optional<Instant> Planner::next_look() const {
    return inside_->look_at;
}

std::vector<QueueMemory> Planner::changed_memory() const {
    return inside_->list_memory();
}

void Planner::restore_memory(const QueueMemory& memory) {
    inside_->restore_memory(memory);
    inside_->end_call();
}

Plan Planner::plan(Instant now, std::int64_t step_budget) {
    Plan plan = inside_->plan(now, step_budget);
    inside_->end_call();
    return plan;
}

std::shared_ptr<const Snapshot> Planner::snapshot() const {
    return inside_->snapshot();
}

bool Planner::take_news(std::size_t limit, std::vector<News>& news) {
    inside_->news_at = inside_->journal.size();
    return inside_->waiting.take_news(limit, [&](RowId workload, const Finding& finding) {
        news.push_back({workload, inside_->tell_cause(finding)});
    });
}

std::optional<model::Reason> Planner::cause_of(RowId workload) const {
    const int slot = inside_->waiting.find(workload);
    if (slot < 0) return std::nullopt;
    const Finding& finding =
        inside_->waiting.group(inside_->waiting.demand(slot).class_index).finding;
    if (finding.code == model::ReasonCode::none) return std::nullopt;
    return inside_->tell_cause(finding);
}

std::size_t Planner::mark() {
    inside_->marked = true;
    return inside_->journal.size();
}

void Planner::rollback(std::size_t mark) {
    if (inside_->journal.size() <= mark) return;
    inside_->undo_to(mark);
    if (inside_->news_at && *inside_->news_at > mark) {
        inside_->waiting.tell_all_again();
        inside_->news_at.reset();
    }
    inside_->waiting.wake_all();  // who fell asleep meanwhile did so by a picture that is gone
}

void Planner::forget() {
    inside_->drop_provisional();
    inside_->remembered.clear();
    for (RowId workload : inside_->starting) {
        const auto state = inside_->workloads.find(workload);
        if (state != inside_->workloads.end()) state->second.planned_end = ends_never;
        inside_->touch_release(workload);
    }
    inside_->starting.clear();
    inside_->journal.clear();
    inside_->marked = false;
    inside_->news_at.reset();
    inside_->waiting.drop_empty_classes();
    inside_->release_room();
}

std::string Planner::recount() const {
    return inside_->recount();
}
std::uint64_t Planner::digest() const {
    return inside_->fingerprint;
}

}  // namespace tandem::sched
