// SPDX-License-Identifier: Apache-2.0
#include "whatif/foresee.h"

#include <algorithm>
#include <memory>
#include <tuple>

namespace tandem::whatif {
namespace {

using model::ForeseenWork;
using model::NoStart;
using model::ReasonCode;
using model::StartBasis;

// Two walks may differ by so much in a time without a cause.
constexpr Duration same_time = seconds(1);

bool is_kept(ReasonCode code) {
    return code == ReasonCode::held || code == ReasonCode::suspended ||
           code == ReasonCode::waiting_for_job || code == ReasonCode::dependency_never_met;
}

bool never_starts(ReasonCode code) {
    return code == ReasonCode::never_fits || code == ReasonCode::quota_too_small ||
           code == ReasonCode::queue_unavailable || code == ReasonCode::queue_stopped ||
           code == ReasonCode::not_allowed_in_pool || code == ReasonCode::pool_unavailable;
}

Expectation expectation_of(const Walk& walk, const Fate& fate) {
    if (fate.start) {
        const bool proved =
            fate.at_once || fate.start->at == walk.began() || (fate.first && fate.start->stated);
        return {.start = model::ForeseenStart{fate.start->at,
                                              proved ? StartBasis::proved : StartBasis::estimated}};
    }
    if (!fate.waits_still) return {};
    if (is_kept(fate.waits.code)) return {.no_start = NoStart::kept};
    if (never_starts(fate.waits.code)) return {.no_start = NoStart::never};
    if (!walk.complete()) return {.no_start = NoStart::too_long};
    return {.no_start = walk.is_endless(fate.pool) ? NoStart::no_end : NoStart::horizon};
}

Result<std::unique_ptr<Walk>> play(Scene scene, const WalkBounds& bounds) {
    auto walk = std::make_unique<Walk>(std::move(scene), bounds);
    TANDEM_TRY(walk->play());
    return walk;
}

model::ForeseenSum sum_of(const Walk& walk) {
    model::ForeseenSum sum{.until = walk.until(), .complete = walk.complete()};
    for (const auto& [id, fate] : walk.fates()) {
        sum.evictions += static_cast<std::int64_t>(fate.evictions.size());
        // New work that starts at once never waited.
        if (!fate.waited && !fate.at_once) continue;
        if (fate.start)
            (fate.start->at == walk.began() ? sum.starts_now : sum.starts_later) += 1;
        else if (fate.waits_still)
            sum.waits += 1;
    }
    return sum;
}

bool is_same(const std::optional<model::ForeseenStart>& a,
             const std::optional<model::ForeseenStart>& b) {
    if (a.has_value() != b.has_value()) return false;
    if (!a) return true;
    return std::max(a->at, b->at) - std::min(a->at, b->at) <= same_time;
}

bool is_same(const std::vector<model::ForeseenEviction>& a,
             const std::vector<model::ForeseenEviction>& b) {
    return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
        return one.reason.code == other.reason.code &&
               std::max(one.at, other.at) - std::min(one.at, other.at) <= same_time;
    });
}

struct Row {
    RowId id{};
    ForeseenWork work{};
};

Row row_of(const Walk& after, const Walk* before, RowId id, const Fate& fate) {
    Row row{.id = id,
            .work = {.object = fate.object,
                     .queue = fate.queue,
                     .added = false,
                     .evictions = fate.evictions}};
    const Expectation now = expectation_of(after, fate);
    row.work.start = now.start;
    row.work.no_start = now.no_start;
    if (fate.waits_still) row.work.waits = fate.waits;
    if (before == nullptr) return row;
    const auto old = before->fates().find(id);
    if (old == before->fates().end() || old->second.object != fate.object) {
        row.work.added = !before->knows(fate.object);
        return row;
    }
    const Expectation then = expectation_of(*before, old->second);
    row.work.start_before = then.start;
    row.work.no_start_before = then.no_start;
    row.work.evictions_before = old->second.evictions;
    return row;
}

bool is_touched(const ForeseenWork& work) {
    return work.added || !is_same(work.start, work.start_before) ||
           work.no_start != work.no_start_before || !is_same(work.evictions, work.evictions_before);
}

// Who starts first first; who starts never last.
bool comes_before(const Row& a, const Row& b) {
    const auto key = [](const Row& row) {
        const Instant at = row.work.start ? row.work.start->at : Instant{};
        return std::tuple(!row.work.start.has_value(), at, row.id);
    };
    return key(a) < key(b);
}

std::vector<Row> rows_of(const Walk& after, const Walk* before, bool touched_only) {
    std::vector<Row> rows;
    for (const auto& [id, fate] : after.fates()) {
        if (fate.object.name.empty()) continue;  // gone by the change
        Row row = row_of(after, before, id, fate);
        if (before == nullptr ? fate.waited : !touched_only || is_touched(row.work))
            rows.push_back(std::move(row));
    }
    if (before != nullptr) {
        // Who is neither asked to leave nor waits any more, but would be without the change.
        for (const auto& [id, fate] : before->fates()) {
            if (after.fates().contains(id) || !after.knows(fate.object)) continue;
            Row row{.id = id,
                    .work = {.object = fate.object,
                             .queue = fate.queue,
                             .evictions_before = fate.evictions}};
            if (is_touched(row.work)) rows.push_back(std::move(row));
        }
    }
    std::ranges::sort(rows, comes_before);
    return rows;
}

void show(model::Foresight& foresight, std::vector<Row> rows, const Walk& after, const View& view) {
    for (Row& row : rows) {
        if (!view.may_see(row.work.object)) {
            foresight.of_others += 1;
        } else if (foresight.work.size() >= view.shown_max) {
            foresight.more += 1;
        } else {
            if (row.work.no_start != NoStart::none && row.work.no_start != NoStart::kept)
                row.work.waits = after.explain(row.id);
            foresight.work.push_back(std::move(row.work));
        }
    }
}

}  // namespace

Result<model::Foresight> foresee(core::RecoveredState rows, const model::WhatIf& question,
                                 const WalkBounds& bounds, const View& view) {
    Scene scene = make_scene(std::move(rows));
    WalkBounds own = bounds;
    own.horizon = question.horizon;
    std::unique_ptr<Walk> before;
    if (question.asks_for_change()) {
        Scene changed = scene;
        TANDEM_TRY(change(changed, question));
        TANDEM_LET(plain, play(std::move(scene), own));
        before = std::move(plain);
        scene = std::move(changed);
    } else {
        TANDEM_TRY(change(scene, question));
    }
    TANDEM_LET(after, play(std::move(scene), own));
    model::Foresight foresight{
        .version = after->version(), .at = after->began(), .after = sum_of(*after)};
    if (before) foresight.before = sum_of(*before);
    show(foresight, rows_of(*after, before.get(), view.touched_only), *after, view);
    return foresight;
}

Result<Expectations> expect_starts(core::RecoveredState rows, const WalkBounds& bounds) {
    TANDEM_LET(walk, play(make_scene(std::move(rows)), bounds));
    Expectations expectations{.version = walk->version(), .at = walk->began()};
    for (const auto& [id, fate] : walk->fates())
        if (fate.waited && !fate.object.name.empty())
            expectations.of[id] = expectation_of(*walk, fate);
    for (const sched::QueueTurn& turn : walk->turns()) expectations.turns[turn.queue] = turn;
    return expectations;
}

}  // namespace tandem::whatif
