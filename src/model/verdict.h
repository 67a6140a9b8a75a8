// SPDX-License-Identifier: Apache-2.0
// Verdict: what the planner knows of one waiting workload: why it waits, who is before it, who has what it asks
// for, and what would help. Amounts in milli-devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/reason.h"

namespace tandem::model {

// A change after which the workload starts, as soon as it is its turn: all steps together.
struct Remedy {
    std::vector<Reason> steps{};
    bool operator==(const Remedy&) const = default;
};

// Nodes that could take one replica, from all to those with room now.
struct NodeFunnel {
    std::string pool{};
    std::string flavor{};
    std::int64_t nodes = 0;        // of the whole installation
    std::int64_t with_flavor = 0;  // have devices of the flavor that the pool owns
    std::int64_t usable = 0;       // of those: ready, not closed
    std::int64_t admitted = 0;     // of those: its labels and taints, and other work, let it go there
    std::int64_t with_room = 0;    // of those: enough free devices for one replica
    std::int64_t in_domain = 0;    // of those: in the topology domain with the most room, if any
    std::string cut{};  // first step that leaves too few: flavor, usable, admitted, room, domain
    std::int64_t free_milli = 0;
    std::int64_t total_milli = 0;
    bool operator==(const NodeFunnel&) const = default;
};

struct Holder {
    RowId workload{};
    std::string name{};  // job/PROJECT/NAMESPACE/NAME; empty when the reader may not see it
    std::string queue{};
    std::string flavor{};
    std::int64_t milli = 0;
    std::int64_t priority = 0;
    bool preemptible = true;
    bool leaving = false;
    std::int64_t units = 0;  // of the license or limit that binds; 0: devices do
    bool operator==(const Holder&) const = default;
};

struct Verdict {
    RowId workload{};
    Reason reason{};                      // the first constraint that binds
    bool proved = true;                   // false: not tried yet, or too large to be tried to the end
    std::int64_t position = 0;            // 1 = next in its queue; 0: does not wait for its turn
    std::int64_t waiting = 0;             // workloads in its queue
    std::vector<Reason> constraints{};    // all that bind, of the choice that lacks least
    std::vector<NodeFunnel> funnels{};
    std::vector<Reason> protections{};    // why running work is not asked to leave for it
    std::vector<Holder> holders{};        // the largest, of its pool and flavors
    std::int64_t holders_more = 0;        // beyond those listed
    std::vector<Remedy> remedies{};       // any one of them
    bool operator==(const Verdict&) const = default;
};

// What would happen if the planner were asked now.
struct PreviewEviction {
    std::string name{};  // job/PROJECT/NAMESPACE/NAME; empty when the reader may not see it
    Reason reason{};     // preempted | reclaimed | gaveFairShare; by, lost
    bool operator==(const PreviewEviction&) const = default;
};
struct Preview {
    bool starts = false;  // it would get its place, once those below have left
    std::vector<std::string> nodes{};
    std::vector<PreviewEviction> evictions{};
    Reason reason{};  // why not
    bool operator==(const Preview&) const = default;
};

}  // namespace tandem::model
