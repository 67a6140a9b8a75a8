// SPDX-License-Identifier: Apache-2.0
// Foresee: what a change would do, and when what waits would start, told from the rows of one
// commit by walking on from there (walk.h), with the change and without it. The rows are a copy:
// whatever is asked, nothing of the server's own state changes.
//
// Errors: what core says of the change itself (an unknown queue, a limit below what is promised),
// naming the field of the question. Cost: a start from rows and a walk, each twice for a change;
// bounded by WalkBounds. PURE: `now` and `stop` are handed in. Thread rule: pure functions.
#pragma once

#include <functional>
#include <map>

#include "model/what_if.h"
#include "whatif/walk.h"

namespace tandem::whatif {

struct View {
    std::function<bool(const model::ObjectKey& key)> may_see = [](const model::ObjectKey&) {
        return true;
    };
    std::size_t shown_max = 500;
    bool touched_only = true;  // of a change: not those who fare as without it
};
Result<model::Foresight> foresee(core::RecoveredState rows, const model::WhatIf& question,
                                 const WalkBounds& bounds, const View& view);

struct Expectation {
    std::optional<model::ForeseenStart> start{};
    model::NoStart no_start = model::NoStart::none;
    bool operator==(const Expectation&) const = default;
};
struct Expectations {
    std::int64_t version = 0;
    Instant at{};
    std::map<RowId, Expectation> of{};                // of all that wait
    std::map<std::string, sched::QueueTurn> turns{};  // by queue
};
Result<Expectations> expect_starts(core::RecoveredState rows, const WalkBounds& bounds);

}  // namespace tandem::whatif
