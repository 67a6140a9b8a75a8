// SPDX-License-Identifier: Apache-2.0
// Permits: counters beside devices that work stands in while it holds capacity: licenses, and the
// limits of users, projects, queues and arrays. A workload is counted once, from its first entry to
// its last, whatever the kind of the entry: all or nothing with its gang, in the very calls that
// move devices. What leaves counts until it is gone. A class that finds a counter full sleeps until
// enough of it is given back. Inside of sched only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/facts.h"
#include "sched/names.h"
#include "sched/types.h"

namespace tandem::sched {

struct PermitNeed {
    int counter = no_name;
    std::int64_t amount = 0;
    std::int64_t limit = model::unlimited;
    bool operator==(const PermitNeed&) const = default;
    bool fits(std::int64_t used) const {
        return limit == model::unlimited || used + amount <= limit;
    }
};

struct CounterState {
    Permit of{};  // says what it counts; its amount and limit mean nothing
    std::int64_t used = 0;
    std::map<RowId, std::int64_t> holders{};
};

class Permits {
  public:
    // Number of a list of permits: equal lists have equal numbers. no_name: none.
    int intern(Names& names, const std::vector<Permit>& list);
    const std::vector<PermitNeed>& needs(int list) const;

    // A slot with this list comes or goes.
    void count(RowId workload, int list, int sign);
    // It is the workload's last slot with the list: what is given back once it goes.
    bool is_last(RowId workload, int list) const;
    const CounterState& counter(int number) const { return counters_.at(number); }
    const std::map<int, CounterState>& counters() const { return counters_; }
    std::int64_t used(int counter) const;
    // The first that does not fit.
    const PermitNeed* find_full(int list) const;
    // Counters whose use changed since they were last asked for.
    std::set<int> take_changed();

    // Of (workload, list) of every live slot; text names the first difference.
    std::string compare(const std::vector<std::pair<RowId, int>>& slots) const;

  private:
    std::map<int, std::vector<PermitNeed>> lists_{};  // by the name of their text
    std::map<std::pair<RowId, int>, std::int64_t> parts_{};
    std::map<int, CounterState> counters_{};
    std::set<int> changed_{};
};

// Why work waits for a counter, with the numbers of the moment; and what would help.
model::Reason reason_of_full(const Permit& of, std::int64_t needed, std::int64_t used,
                             std::int64_t limit);
model::ReasonCode code_of_full(const Permit& of, std::int64_t needed, std::int64_t limit);
model::Reason remedy_of_full(const Permit& of, std::int64_t missing);

}  // namespace tandem::sched
