// SPDX-License-Identifier: Apache-2.0
// TypicalMix: what work usually asks for, and how much of what is free on a node that work could
// not use. PURE, integers and fixed point only.
//
// Source of the measure: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads
// with Fragmentation Gradient Descent", USENIX ATC 2023.
//
// Units: CPU in milli-cores, devices in milli-devices; results in milli-devices times mix_one.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sched/names.h"

namespace tandem::sched {

inline constexpr std::int64_t mix_one = std::int64_t{1} << 32;

// One replica: k whole devices (k * 1000) or a part of one (below 1000).
struct Ask {
    std::int64_t cpu_milli = 0;
    std::int64_t devices = 0;
    std::int64_t count() const { return devices < 1000 ? (devices > 0 ? 1 : 0) : devices / 1000; }
    std::int64_t each() const { return devices < 1000 ? devices : 1000; }  // of one device
    bool is_share() const { return devices > 0 && devices < 1000; }
    auto operator<=>(const Ask&) const = default;
};

struct MixShape {
    Ask ask{};
    std::vector<int> flavors{};  // sorted; the models it may have, empty: any
    auto operator<=>(const MixShape&) const = default;
};

struct MixCount {
    MixShape shape{};
    std::int64_t count = 0;
    bool operator==(const MixCount&) const = default;
};

// What one flavor's nodes are judged by.
class FlavorMix {
  public:
    // Free milli-devices that typical work could not use, taken one replica at a time: all that is
    // free where the replica can't go or needs no device, else what is free on devices too small.
    std::int64_t fragmented(std::int64_t cpu_left, std::span<const std::int32_t> left) const;
    // The same if the node were filled by replicas of one kind until devices or CPU end.
    std::int64_t unfillable(std::int64_t cpu_left, std::span<const std::int32_t> left) const;
    // Demand that names this model over the model's share of capacity; mix_one: as much as it has.
    std::int64_t price() const { return price_; }

  private:
    friend class TypicalMix;
    struct Kind {
        std::int64_t count = 0;
        std::int64_t each = 0;
    };
    struct Item {
        Ask ask{};
        std::int64_t weight = 0;
    };
    std::vector<Kind> kinds_{};
    std::vector<std::int64_t> cpus_{};     // ascending
    std::vector<std::int64_t> weights_{};  // by (place in cpus_, kind): of asks with CPU up to that
    std::vector<Item> items_{};
    std::int64_t price_ = 0;
};

class TypicalMix {
  public:
    TypicalMix() = default;
    // The most frequent shapes that cover 95 % of all; of equals those that stand first. `capacity`
    // is the number of milli-devices by flavor.
    TypicalMix(const std::vector<MixCount>& counts, const std::map<int, std::int64_t>& capacity);

    // Of a flavor without capacity: nothing is typical.
    const FlavorMix& of(int flavor) const;

  private:
    void choose(const std::vector<MixCount>& counts);
    void set_prices(const std::vector<MixCount>& counts,
                    const std::map<int, std::int64_t>& capacity);
    FlavorMix make(int flavor) const;

    std::vector<MixCount> shapes_{};  // counts are weights: together mix_one
    std::map<int, std::int64_t> prices_{};
    std::vector<FlavorMix> flavors_{};  // by name
    FlavorMix none_{};
};

}  // namespace tandem::sched
