// SPDX-License-Identifier: Apache-2.0
// Releases: what will be given back when, by stated ends: every share of a device that somebody
// holds and does not leave yet, soonest end first, those without a stated end last. Follows the
// planner's tables by the workloads that were touched; costs nothing until somebody asks. Inside of
// sched only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sched/names.h"

namespace tandem::sched {

inline constexpr std::int64_t ends_never = std::numeric_limits<std::int64_t>::max();

struct Release {
    std::int64_t end = ends_never;  // ms
    RowId workload{};
    std::int64_t cpu_milli = 0;  // with the first share of an entry
    std::int64_t memory_bytes = 0;
    int slot = -1;
    int pool = no_name;
    int queue = no_name;
    int flavor = no_name;
    int node = no_name;
    std::int32_t device = -1;  // index in its node; -1: what has no device
    std::int32_t milli = 0;
    bool goes_before(const Release& other) const {
        if (end != other.end) return end < other.end;
        return workload != other.workload ? workload < other.workload : slot < other.slot;
    }
};

class Releases {
  public:
    // Something of it changed. `known`: how many workloads there are.
    void touch(RowId workload, std::size_t known) {
        if (all_ || (!touched_.empty() && touched_.back() == workload)) return;
        touched_.push_back(workload);
        if (touched_.size() > known + 4096) touch_all();
    }
    void touch_all() {
        all_ = true;
        touched_.clear();
    }
    // `list_all(out)` appends what all workloads hold, `list_of(workload, out)` what one does.
    template <class All, class One>
    const std::vector<Release>& refreshed(All list_all, One list_of);

  private:
    void merge(std::vector<Release> fresh);

    std::vector<Release> list_{};
    std::vector<RowId> touched_{};
    bool all_ = true;
};

template <class All, class One>
const std::vector<Release>& Releases::refreshed(All list_all, One list_of) {
    std::vector<Release> fresh;
    if (all_) {
        list_.clear();
        list_all(fresh);
        all_ = false;
        merge(std::move(fresh));
    } else if (!touched_.empty()) {
        std::ranges::sort(touched_);
        touched_.erase(std::ranges::unique(touched_).begin(), touched_.end());
        for (RowId workload : touched_) list_of(workload, fresh);
        std::erase_if(list_, [this](const Release& release) {
            return std::ranges::binary_search(touched_, release.workload);
        });
        merge(std::move(fresh));
    }
    touched_.clear();
    return list_;
}

inline void Releases::merge(std::vector<Release> fresh) {
    const auto before = [](const Release& a, const Release& b) { return a.goes_before(b); };
    std::ranges::sort(fresh, before);
    std::vector<Release> merged;
    merged.reserve(list_.size() + fresh.size());
    std::ranges::merge(list_, fresh, std::back_inserter(merged), before);
    list_ = std::move(merged);
}

}  // namespace tandem::sched
