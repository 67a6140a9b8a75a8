// SPDX-License-Identifier: Apache-2.0
// What the planner remembers of queues beside the picture itself: decayed use, and how many
// evictions their work may still cause. Both are primary: journaled, in the digest, and stored by
// core.
#include <algorithm>

#include "sched/fingerprint.h"
#include "sched/inside.h"

namespace tandem::sched {
namespace {

constexpr Wide minute_ms = 60'000;

// Own half-life, or that of the nearest queue above that states one.
std::int64_t half_life_of(const std::map<int, QueueFacts>& queues, int name) {
    for (std::size_t steps = 0; steps <= queues.size(); ++steps) {
        const auto found = queues.find(name);
        if (found == queues.end()) return 0;
        if (found->second.half_life_ms > 0) return found->second.half_life_ms;
        name = found->second.parent;
    }
    return 0;  // a cycle
}

}  // namespace

Bucket filled(const model::QueuePreemption& policy, const std::optional<Bucket>& bucket, Instant now) {
    const std::int64_t burst = policy.burst * 1000;
    if (!bucket) return {burst, now};
    const Wide passed = std::max<std::int64_t>(0, (now - bucket->at).ms);
    const Wide left = bucket->left + passed * policy.per_minute * 1000 / minute_ms;
    return {static_cast<std::int64_t>(std::min<Wide>(left, burst)), now};
}

std::optional<Instant> next_eviction(const model::QueuePreemption& policy,
                                     const std::optional<Bucket>& bucket, Instant now,
                                     std::int64_t evictions) {
    if (policy.per_minute == 0) return std::nullopt;
    const std::int64_t missing =
        std::min(evictions, policy.burst) * 1000 - filled(policy, bucket, now).left;
    if (missing <= 0) return std::nullopt;
    const Wide rate = Wide{policy.per_minute} * 1000;
    return Instant{now.ms + static_cast<std::int64_t>((missing * minute_ms + rate - 1) / rate)};
}

void Planner::Inside::follow_half_lives() {
    std::map<int, Duration> after;
    for (const auto& [name, facts] : queues) {
        if (const std::int64_t ms = half_life_of(queues, name); ms > 0) after[name] = Duration{ms};
    }
    if (after == half_lives) return;
    if (undoing) {  // uses come back by their own steps
        half_lives = std::move(after);
        return;
    }
    std::map<UseKey, Use> kept;
    for (const auto& [key, use] : uses) {
        if (!after.contains(key.first)) continue;
        kept[key] = faded(use, time, half_lives.at(key.first));
        kept[key].milli = 0;
    }
    half_lives = std::move(after);
    for (const Slot& slot : slots) {
        if (!slot.live || !half_lives.contains(slot.queue) || slot.milli == 0) continue;
        Use& use = kept[{slot.queue, slot.flavor}];
        use.at = time;
        use.milli += slot.milli;
    }
    std::vector<UseKey> gone;
    for (const auto& [key, use] : uses) {
        if (!kept.contains(key)) gone.push_back(key);
    }
    for (const UseKey& key : gone) set_use(key, std::nullopt);
    for (const auto& [key, use] : kept) set_use(key, use);
}

// True when the queue was not among those to store yet. Undoing changes nothing worth storing.
bool Planner::Inside::remember(int queue) {
    return !undoing && remembered.insert(queue).second;
}

void Planner::Inside::set_use(UseKey key, const std::optional<Use>& use) {
    std::optional<Use> before;
    if (const auto found = uses.find(key); found != uses.end()) before = found->second;
    if (before == use) return;
    if (before) fingerprint -= fingerprint_of(names, key.first, key.second, *before);
    if (use) {
        fingerprint += fingerprint_of(names, key.first, key.second, *use);
        uses[key] = *use;
    } else {
        uses.erase(key);
    }
    if (unshown.on) unshown.queues.push_back(key.first);
    journal.push_back(UseBefore{key, before, remember(key.first)});
}

// An entry comes or goes: what was used up to now is counted with what was in use.
void Planner::Inside::use(const Slot& slot, int sign) {
    if (undoing || half_lives.empty() || slot.milli == 0 || !is_charged(slot)) return;
    const auto half_life = half_lives.find(slot.queue);
    if (half_life == half_lives.end()) return;
    const UseKey key{slot.queue, slot.flavor};
    const auto found = uses.find(key);
    Use after =
        faded(found == uses.end() ? Use{.at = time} : found->second, time, half_life->second);
    after.milli += slot.milli * sign;
    set_use(key, after);
}

// Of all flavors, at and below a node of the tree.
Wide Planner::Inside::faded_of(int node) const {
    if (half_lives.empty()) return 0;
    Wide sum = 0;
    const int name = quota.nodes()[static_cast<std::size_t>(node)].name;
    if (const auto half_life = half_lives.find(name); half_life != half_lives.end()) {
        for (auto at = uses.lower_bound({name, no_name});
             at != uses.end() && at->first.first == name; ++at)
            sum += faded(at->second, time, half_life->second).amount;
    }
    for (int child : quota.nodes()[static_cast<std::size_t>(node)].children) sum += faded_of(child);
    return sum;
}

void Planner::Inside::set_bucket(int queue, const std::optional<Bucket>& bucket) {
    std::optional<Bucket> before;
    if (const auto found = allowances.find(queue); found != allowances.end())
        before = found->second;
    if (before == bucket) return;
    if (before) fingerprint -= fingerprint_of(names, queue, *before);
    if (bucket) {
        fingerprint += fingerprint_of(names, queue, *bucket);
        allowances[queue] = *bucket;
    } else {
        allowances.erase(queue);
    }
    if (unshown.on) unshown.queues.push_back(queue);
    journal.push_back(BucketBefore{queue, before, remember(queue)});
}

std::optional<Bucket> Planner::Inside::bucket_of(int queue) const {
    const auto found = allowances.find(queue);
    return found == allowances.end() ? std::nullopt : std::optional(found->second);
}

// Absent: now.
std::optional<Instant> Planner::Inside::when_allowed(int node, std::int64_t evictions) const {
    std::optional<Instant> when;
    for (; node >= 0; node = quota.nodes()[static_cast<std::size_t>(node)].parent) {
        const int name = quota.nodes()[static_cast<std::size_t>(node)].name;
        const auto at = next_eviction(queues.at(name).preemption, bucket_of(name), time, evictions);
        if (at && (!when || *at > *when)) when = at;
    }
    return when;
}

void Planner::Inside::spend(int node, std::int64_t evictions) {
    for (; node >= 0; node = quota.nodes()[static_cast<std::size_t>(node)].parent) {
        const int name = quota.nodes()[static_cast<std::size_t>(node)].name;
        const QueueFacts& facts = queues.at(name);
        if (facts.preemption.per_minute == 0) continue;
        Bucket bucket = filled(facts.preemption, bucket_of(name), time);
        bucket.left -= evictions * 1000;
        set_bucket(name, bucket);
    }
}

std::vector<QueueMemory> Planner::Inside::list_memory() const {
    std::vector<QueueMemory> list;
    for (int name : remembered) {
        QueueMemory memory{.queue = names.text(name)};
        for (auto at = uses.lower_bound({name, no_name});
             at != uses.end() && at->first.first == name; ++at) {
            const Use use = faded(at->second, time, half_lives.at(name));
            memory.status.used.push_back(
                {names.text(at->first.second), render_amount(use.amount), time});
        }
        std::ranges::sort(memory.status.used, {}, &model::FlavorUse::flavor);
        if (const auto bucket = allowances.find(name); bucket != allowances.end()) {
            memory.status.evictions_left = bucket->second.left;
            memory.status.evictions_at = bucket->second.at;
        }
        list.push_back(std::move(memory));
    }
    std::ranges::sort(list, {}, &QueueMemory::queue);
    return list;
}

void Planner::Inside::restore_memory(const QueueMemory& memory) {
    const int name = names.intern(memory.queue);
    if (half_lives.contains(name)) {
        for (const model::FlavorUse& stored : memory.status.used) {
            const UseKey key{name, names.intern(stored.flavor)};
            const auto found = uses.find(key);
            const std::int64_t milli = found == uses.end() ? 0 : found->second.milli;
            set_use(key, Use{parse_amount(stored.amount), std::min(stored.at, time), milli});
        }
    }
    if (memory.status.evictions_at)
        set_bucket(name, Bucket{memory.status.evictions_left,
                                std::min(*memory.status.evictions_at, time)});
}

}  // namespace tandem::sched
