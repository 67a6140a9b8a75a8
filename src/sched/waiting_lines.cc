// SPDX-License-Identifier: Apache-2.0
// Views of who waits in a queue and of counters, for people.
#include <algorithm>
#include <tuple>

#include "sched/snapshot.h"

namespace tandem::sched {

std::vector<WaitingLine> Snapshot::waiting_lines(std::string_view queue, std::size_t limit) const {
    std::vector<WaitingLine> lines;
    tables_.classes_of_queue.each([&](std::int64_t name, const Card<std::vector<int>>& classes) {
        if (text(static_cast<int>(name)) != queue) return;
        for (int index : *classes) {
            const Card<ClassCard>* found = tables_.classes.find(index);
            if (found == nullptr) continue;
            std::size_t left = limit;
            for (const Card<MemberChunk>& chunk : (*found)->members)
                for (const Member& member : *chunk) {
                    if (left == 0) break;
                    left -= 1;
                    lines.push_back({.workload = member.id,
                                     .priority = (*found)->key->priority,
                                     .submitted = member.submitted,
                                     .forced = (*found)->key->forced});
                }
        }
    });
    std::ranges::sort(lines, [](const WaitingLine& a, const WaitingLine& b) {
        return std::tie(b.priority, a.submitted, a.workload) <
               std::tie(a.priority, b.submitted, b.workload);
    });
    if (lines.size() > limit) lines.resize(limit);
    for (std::size_t i = 0; i < lines.size(); ++i)
        lines[i].position = static_cast<std::int64_t>(i) + 1;
    return lines;
}

std::vector<CounterLine> Snapshot::counter_lines() const {
    std::vector<CounterLine> lines;
    tables_.counters.each([&](std::int64_t, const Card<CounterCard>& counter) {
        lines.push_back({.of = counter->of, .used = counter->used, .holders = counter->holders});
    });
    std::ranges::sort(lines, [](const CounterLine& a, const CounterLine& b) {
        return std::tie(a.of.bound, a.of.name, a.of.at, a.of.devices) <
               std::tie(b.of.bound, b.of.name, b.of.at, b.of.devices);
    });
    return lines;
}

}  // namespace tandem::sched
