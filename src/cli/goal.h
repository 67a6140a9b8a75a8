// SPDX-License-Identifier: Apache-2.0
// Goal: what `wait --for` waits for, and whether an object has come to it.
//
//   phase=A[,B...]          one of these phases
//   condition=NAME[=false]  a condition, which is a statement about phase and readiness:
//       job      Admitted Running Finished Succeeded Failed Cancelled
//       service  Ready Available Progressing Asleep
//       replica  Running Finished
//       node, pool  Ready
//   finished (jobs, replicas), ready (services, nodes, pools), deleted
// Thread rule: values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/document.h"
#include "model/kind.h"

namespace tandem::cli {

struct Goal {
    using Condition = bool (*)(const codec::Value& object);

    std::string text{};  // as it was asked for
    std::vector<std::string> phases{};
    Condition condition = nullptr;
    bool wanted = true;  // of the condition
    bool deleted = false;
    bool finished = false;  // any end; only success is exit code 0
};

// Empty text: ready for services, finished for all else. Error: field --for, with what there is.
Result<Goal> parse_goal(std::string text, model::Kind kind);

// The exit code once it is decided: the goal is reached, or can't be any more. Deletion is the
// caller's.
std::optional<int> judge(const Goal& goal, const codec::Value& object);

}  // namespace tandem::cli
