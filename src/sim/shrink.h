// SPDX-License-Identifier: Apache-2.0
// Makes a failing seed smaller: of its operations and faults the fewest with which the same rule
// still breaks, by delta debugging (base/shrink.h). And the file that keeps such a case:
//   {"seed": 1234, "rule": "C14",
//    "operations": [{"number": 3, "what": "job-3: 2 x 1 devices of queue team-a, ..."}, ...],
//    "strikes": [{"fault": "task_dies", "ask": 17}, ...]}
// Strike 17 of a fault is the 18th time that it might have struck. "what" is checked when the case is
// played: a case is of use only while the same numbers draw the same operations.
// Errors: invalid, naming the field. Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sim/world.h"

namespace tandem::sim {

struct Shrunk {
    SeedResult whole{};  // the run of the seed
    SeedResult least{};  // that of what is left, which is least.happened
    std::int64_t runs = 0;
};
inline constexpr std::int64_t shrink_runs_max = 2000;
// None when the seed breaks no rule.
std::optional<Shrunk> shrink_seed(std::uint64_t seed, std::int64_t runs_max = shrink_runs_max,
                                  const Rule& rule = {});

std::string render_case(const Case& kept);
Result<Case> parse_case(std::string_view json);
// Runs it. Invalid: what it names is not what this build draws; nothing can be said then.
Result<SeedResult> play_case(const Case& kept, const Rule& rule = {});

}  // namespace tandem::sim
