// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "sched/inside.h"
#include "sched/turns.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

// 1 reserved pools take what they lack; 2 classes in their turns: place, else preempt, else sleep;
// 3 those whom the placements of this pass may help are looked at once more.
Plan Planner::Inside::plan(Instant now, std::int64_t step_budget) {
    time = std::max(time, now);
    ensure_built();
    mix_is_fresh = false;
    headways.clear();
    outlooks = {};
    start_hunting();
    if (look_at && *look_at <= time) {
        look_at.reset();
        waiting.wake({WakeOn::time, 0});
    }
    Plan plan;
    fill_pools(plan);
    if (views.size() < waiting.class_slots()) views.resize(waiting.class_slots());
    rest_permitted();
    if (!waiting.awake_queues().empty()) make_room();
    Turns turns(
        quota, waiting,
        [this](int index) -> const std::vector<Need>& { return view_of(index).needs; },
        [this](int node) { return faded_of(node); });
    std::int64_t attempts = 0;
    bool again = true;
    while (again && !plan.exhausted) {
        again = false;
        turns.start();
        for (int next = turns.next(); next >= 0; next = turns.next()) {
            // Each call makes at least one attempt, so that any budget gets to the end.
            if (attempts > 0 && plan.steps_used >= step_budget) {
                plan.exhausted = true;
                break;
            }
            attempts += 1;
            const bool placed = attempt_class(next, plan);
            again = again || placed;
            if (placed && !plan.placements.back().evictions.empty())
                turns.start();  // victims' queues bid anew
            else
                turns.settle();
        }
        wake_after_pass();
        again = again && !waiting.awake_queues().empty();
    }
    return plan;
}

// Placements make new borrowers, evictions lower the use of queues: both may give somebody a right
// to reclaim.
void Planner::Inside::wake_after_pass() {
    for (int root : std::exchange(grown_roots, {})) waiting.wake({WakeOn::borrowers_of_tree, root});
    for (int pool : std::exchange(grown_pools, {})) waiting.wake({WakeOn::leavers_of_pool, pool});
    for (int index : std::exchange(released, {})) wake_after_release(slots[spot(index)]);
}

// The flavors among which a demand has the choice, in its order; no_name alone where it has none.
std::vector<int> Planner::Inside::choose_flavors(const ClassView& view,
                                                 const Demand& demand) const {
    std::vector<int> flavors;
    for (std::size_t i = 0; i < demand.parts.size(); ++i) {
        const DemandPart& part = demand.parts[i];
        if (part.each.devices == 0 || choice_of(view.parts[i].asked).single() != no_name) continue;
        for (int index : domains_for(view, part.each, no_name))
            flavors.push_back(capacity.domain(index).flavor);
        break;
    }
    if (flavors.empty()) flavors.push_back(no_name);
    return flavors;
}

// Nominal, then borrowing, then eviction, flavor by flavor as the demand wishes.
bool Planner::Inside::try_flavors(int class_index, const Demand& demand, Attempt& attempt,
                                  Plan& plan, Placement& out) {
    const ClassView& view = view_of(class_index);  // stays in place as long as the plan
    const bool nominal_first = demand.when_borrow == model::WhenBorrow::next;
    if (view.closed != model::ReasonCode::none) return place(class_index, demand, attempt, plan);
    if (demand.when_preempt == model::WhenPreempt::preempt) {
        for (int flavor : choose_flavors(view, demand)) {
            attempt.only_flavor = flavor;
            attempt.within_nominal = nominal_first;
            if (place(class_index, demand, attempt, plan)) return true;
            if (preempt(class_index, demand, flavor, attempt, plan, out)) return true;
        }
        attempt.only_flavor = no_name;
    }
    for (const bool within_nominal : {true, false}) {
        if (within_nominal && !nominal_first) continue;
        attempt.within_nominal = within_nominal;
        if (place(class_index, demand, attempt, plan)) return true;
    }
    if (demand.when_preempt == model::WhenPreempt::preempt) return false;
    const std::vector<int> flavors = choose_flavors(view, demand);
    return std::ranges::any_of(flavors, [&](int flavor) {
        return preempt(class_index, demand, flavor, attempt, plan, out);
    });
}

bool Planner::Inside::attempt_class(int class_index, Plan& plan) {
    const int slot = waiting.group(class_index).first().demand;
    const Demand& demand = waiting.demand(slot).demand;
    plan.steps_used += 1;
    if (const PermitNeed* full = find_full(class_index)) {
        sleep_for_permit(class_index, *full);
        return false;
    }
    Attempt attempt;
    Placement placement;
    const std::size_t before = journal.size();
    bool placed = try_flavors(class_index, demand, attempt, plan, placement);
    const bool held =
        placed && placement.evictions.empty() && delays_head(class_index, demand, attempt, plan);
    if (held) {
        note_changes(attempt);  // what was counted meanwhile may rest on it
        undo_to(before);
        placed = false;
    } else if (placed && placement.evictions.empty()) {
        note_changes(attempt);
        write(demand, attempt, placement);
    }
    if (!placed) {
        waiting.sleep(class_index, attempt.keys,
                      held ? find_hold(class_index) : find_cause(class_index, attempt));
        return false;
    }
    const QueueNode& queue = quota.nodes()[spot(view_of(class_index).node)];
    grown_roots.insert(queue.root);
    grown_pools.insert(queue.pool);
    forget_headways(class_index, !placement.evictions.empty());
    note_start(demand, !placement.evictions.empty());
    take_demand(slot);
    plan.placements.push_back(std::move(placement));
    return true;
}

// When it ends at the latest, as it states; of a claim nobody knows when it starts.
void Planner::Inside::note_start(const Demand& demand, bool claims) {
    if (const auto state = workloads.find(demand.workload); state != workloads.end()) {
        const bool ends = !claims && demand.length.ms > 0;
        state->second.planned_end = ends ? (time + demand.length).ms : ends_never;
    }
    starting.push_back(demand.workload);
    touch_release(demand.workload);
    outlooks.placed.push_back(demand.workload);
}

// For what this plan may place, so that tables grow once.
void Planner::Inside::make_room() {
    constexpr std::size_t most = 1 << 17;
    const std::size_t more = std::min(waiting.size(), most);
    const auto grow = [](auto& table, std::size_t size) {
        if (table.capacity() < size) table.reserve(std::max(size, 2 * table.capacity()));
    };
    grow(slots, slots.size() + more);
    grow(journal, journal.size() + 2 * more);
    workloads.reserve(workloads.size() + more);
}

// After a plan, while nobody waits: what make_room took for a crowd that has been placed. What a
// few would need soon again stays.
void Planner::Inside::release_room() {
    if (waiting.size() > 0) return;
    waiting.release_room();
    const auto shrink = [](auto& table, std::size_t kept) {
        if (table.capacity() > 2 * kept) table.shrink_to_fit();
    };
    constexpr std::size_t few = 1024;
    shrink(slots, slots.size() + few);
    shrink(journal, journal.size() + few);
    if (workloads.bucket_count() > 4 * (workloads.size() + few)) workloads.rehash(0);
}

void Planner::Inside::fill_pools(Plan& plan) {
    std::vector<std::pair<RowId, int>> order;
    for (const auto& [name, facts] : pools) {
        if (facts.form != model::Form::shared &&
            static_cast<std::int64_t>(facts.held.size()) < facts.devices) {
            order.emplace_back(facts.id, name);
        }
    }
    std::ranges::sort(order, [this](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : names.text(a.second) < names.text(b.second);
    });
    for (const auto& [id, name] : order) fill_pool(name, plan);
}

// From the nodes where the rest fits best; else from the emptiest, so that the holder's devices
// stay together.
void Planner::Inside::fill_pool(int name, Plan& plan) {
    const PoolFacts facts = pools.at(name);
    std::int64_t missing = facts.devices - static_cast<std::int64_t>(facts.held.size());
    PoolFilled filled{.pool = facts.id};
    std::vector<DeviceKey> found;
    const int index = capacity.find_domain(facts.from, facts.flavor);
    if (index < 0) return;
    const Buckets& buckets = capacity.domain(index).whole[at(View::now)];
    const auto take_from = [&](int position, std::int64_t count) {
        for (const Dev& device : capacity.node(position).devices) {
            if (count == 0) break;
            if (!device.healthy || device.owner != facts.from || device.flavor != facts.flavor)
                continue;
            if (device.occupied != 0 || device.claimed != 0) continue;
            found.push_back({capacity.node(position).name, device.index});
            count -= 1;
        }
    };
    const std::int64_t sizes = static_cast<std::int64_t>(buckets.nodes.size());
    for (std::int64_t g = std::min(missing, sizes); g < sizes && missing > 0; ++g) {
        if (buckets.count[static_cast<std::size_t>(g)] == 0) continue;
        take_from(buckets.nodes[static_cast<std::size_t>(g)].first(), missing);
        missing = 0;
    }
    for (std::int64_t g = sizes - 1; g > 0 && missing > 0; --g) {
        const NodeBitmap& nodes_with = buckets.nodes[static_cast<std::size_t>(g)];
        for (int node = nodes_with.first(); node >= 0 && missing > 0;
             node = nodes_with.first(node + 1)) {
            take_from(node, std::min(g, missing));
            missing -= std::min(g, missing);
            plan.steps_used += 1;
        }
    }
    if (found.empty()) return;
    auto after = std::make_unique<PoolFacts>(facts);
    after->held.insert(after->held.end(), found.begin(), found.end());
    std::ranges::sort(after->held);
    for (const DeviceKey& key : after->held)
        filled.devices.push_back({names.text(key.node), key.index});
    std::ranges::sort(filled.devices);
    set_pool(name, std::move(after));
    plan.pools.push_back(std::move(filled));
}

// What a plan placed and core did not put by the end of the batch was not wanted.
void Planner::Inside::drop_provisional() {
    for (int index : provisional) {
        const Slot& slot = slots[spot(index)];
        if (!slot.live || !slot.provisional) continue;
        wake_after_release(slot);
        remove_slot(index);
    }
    provisional.clear();
}

}  // namespace tandem::sched
