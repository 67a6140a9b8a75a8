// SPDX-License-Identifier: Apache-2.0
// Recount: device-milliseconds from an exported history, by a way of its own. It reads the changes
// of nodes, pools and replicas (the lines that store/query/history_lines.h describes), keeps who
// was on which device, and knows nothing of the ledger: no header, no row. Used by the program
// tandem-recount. Thread rule: one owner.
//
// Rules it counts by: a replica has its devices from starting (claimed: from when they are free of
// others) until its phase is pending or terminal; it is `running` from running on (stopping keeps
// what it was), else `held`; from the recorded exit of its process to the release it is
// `idleAllocated`; held time of a job's rank is running from the recorded begin of its process on.
// What nobody has is `idle` of the oldest shared pool, or `held` by the pool that keeps the device.
// Work that was lost counts as running here: whether it was is not in these objects.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tandem::recount {

struct CountKey {
    std::string node{};
    std::int64_t device = 0;
    std::string state{};    // held | running | idleAllocated | idle
    std::string pool{};     // of idle time
    std::string project{};  // of a replica's time
    auto operator<=>(const CountKey&) const = default;
};

struct Count {
    Instant from{};
    Instant to{};
    std::map<CountKey, std::int64_t> milli_ms{};  // milli-devices x ms
};

// What is counted: [from, to). A report for the same window can be compared with the count.
struct Window {
    Instant from{};
    Instant to{INT64_MAX};
};

class Recounter {
  public:
    explicit Recounter(const Window& window = {});
    ~Recounter();

    // One line; errors name what is wrong with it. Lines of kinds that do not matter are passed
    // over.
    Status read(std::string_view line);
    // Counts what is still open up to the window's end (the last batch, when it has none); nothing
    // may be read afterwards. The count begins with the first segment whose changes are all kept; a
    // gap after that is an error.
    Result<Count> finish();

  private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

// {"from":..., "to":..., "devices":[{node, device, state, pool, project, deviceMs, deviceMsRestMilli}],
// "totals":{state: ms}}
std::string render_count(const Count& count);

// Against the answer of `usage report` (JSON, "devices": rows with "state" and "deviceMs"): the
// first difference as text, empty when every state agrees to the millisecond. Queued and suspended
// time is left out; lost work counts as running.
Result<std::string> find_difference(const Count& count, std::string_view report);

}  // namespace tandem::recount
