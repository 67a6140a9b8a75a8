// SPDX-License-Identifier: Apache-2.0
// How long work usually runs, learned from jobs that succeeded: the median of those like it (same
// project, queue and devices), where three or more are known; else of its queue; else of all. Of
// work that runs already, the median of those that ran longer than it has; when none did, as long
// again. Rows of finished jobs are all it knows. PURE. Thread rule: reads from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/job.h"

namespace tandem::whatif {

class TypicalTimes {
  public:
    void learn(const model::Job& job);  // skips what did not succeed
    void settle();                      // after the last

    // What is left of a run that has lasted so long; absent: nothing like it has ended yet.
    std::optional<Duration> rest_of(const model::Job& job, Duration lasted) const;

  private:
    using Like =
        std::tuple<std::string, std::string, std::int64_t>;  // project, queue, milli-devices
    std::map<Like, std::vector<Duration>> of_like_{};
    std::map<std::string, std::vector<Duration>> of_queue_{};
    std::vector<Duration> of_all_{};
};

}  // namespace tandem::whatif
