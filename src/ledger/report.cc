// SPDX-License-Identifier: Apache-2.0
#include "ledger/report.h"
#include "base/wide.h"

#include <algorithm>
#include <tuple>

namespace tandem::ledger {
namespace {

using model::LedgerState;
using model::UsageRecord;

DeviceTime from_product(std::int64_t milli, std::int64_t ms) {
    const Wide product = static_cast<Wide>(milli) * ms;
    return {static_cast<std::int64_t>(product / 1000), static_cast<std::int64_t>(product % 1000)};
}

// One stay of a replica on a device.
struct Stay {
    std::string replica{};
    std::int64_t epoch = 0;
    std::string node{};
    std::int64_t device = 0;
    auto operator<=>(const Stay&) const = default;
};

std::string describe(const Stay& stay) {
    return stay.replica + ", device " + std::to_string(stay.device) + " of " + stay.node;
}

// Rows of one stay in order of time: what lies between its beginning and its end, and what is
// missing or doubled.
void measure_stay(const Stay& stay, const std::vector<UsageRecord>& rows,
                  Explanation& explanation) {
    Instant reached = rows.front().from;
    for (const UsageRecord& row : rows) {
        if (row.from > reached) {
            explanation.gaps.push_back(describe(stay) + ": nothing from " +
                                       render_instant(reached) + " to " + render_instant(row.from));
        } else if (row.from < reached) {
            explanation.gaps.push_back(describe(stay) + ": counted twice from " +
                                       render_instant(row.from) + " to " +
                                       render_instant(std::min(reached, row.to)));
        }
        reached = std::max(reached, row.to);
    }
    explanation.span =
        explanation.span + from_product(rows.front().milli, (reached - rows.front().from).ms);
}

}  // namespace

DeviceTime operator+(DeviceTime a, DeviceTime b) {
    const std::int64_t rest = a.rest_milli + b.rest_milli;
    return {a.device_ms + b.device_ms + rest / 1000, rest % 1000};
}

DeviceTime time_of(const UsageRecord& row) {
    return from_product(row.milli, (row.to - row.from).ms);
}

void UsageSums::add(const UsageRecord& row) {
    UsageRecord inside = row;
    inside.from = std::max(row.from, window_.from);
    inside.to = std::min(row.to, window_.to);
    if (inside.to <= inside.from) return;
    UsageKey key;
    if (grouping_.project) key.project = row.project;
    if (grouping_.name_space) key.name_space = row.name_space;
    if (grouping_.owner) {
        key.owner_kind = row.owner_kind;
        key.owner_name = row.owner_name;
    }
    if (grouping_.pool) key.pool = row.pool;
    if (grouping_.queue) key.queue = row.queue;
    if (grouping_.flavor) key.flavor = row.flavor;
    if (grouping_.device) {
        key.node = row.node;
        key.device = row.device;
    }
    if (grouping_.state) key.state = row.state;
    DeviceTime& sum = sums_[std::move(key)];
    sum = sum + time_of(inside);
}

std::vector<UsageLine> UsageSums::lines() const {
    std::vector<UsageLine> lines;
    lines.reserve(sums_.size());
    for (const auto& [key, time] : sums_) lines.push_back({key, time});
    return lines;
}

void TokenSums::add(const model::RequestUsage& row) {
    if (row.at < window_.from || row.at >= window_.to) return;
    const TokenKey key{row.project,       row.name_space, row.service,
                       row.model_version, row.key_id,     row.subject};
    TokenLine& line = sums_[key];
    line.key = key;
    line.requests += 1;
    line.failed += row.status >= 400 ? 1 : 0;
    line.aborted += row.aborted ? 1 : 0;
    line.estimated += row.estimated || row.prompt_estimated ? 1 : 0;
    line.gateway_lost += row.gateway_lost ? 1 : 0;
    line.estimated_prompt_tokens += row.prompt_estimated ? row.prompt_tokens : 0;
    line.estimated_completion_tokens += row.estimated ? row.completion_tokens : 0;
    line.prompt_tokens += row.prompt_tokens;
    line.cached_tokens += row.cached_tokens;
    line.completion_tokens += row.completion_tokens;
}

std::vector<TokenLine> TokenSums::lines() const {
    std::vector<TokenLine> lines;
    lines.reserve(sums_.size());
    for (const auto& [key, line] : sums_) lines.push_back(line);
    return lines;
}

std::string_view name_of(Cause cause) {
    constexpr std::string_view names[] = {"waiting",          "starting",     "working",
                                          "endedNotReleased", "serverAbsent", "lostByFailure",
                                          "lostByPreemption", "keptIdle",     "idle",
                                          "suspended",        "lostByRequest"};
    return names[static_cast<std::size_t>(cause)];
}

Cause cause_of(const UsageRecord& row) {
    switch (row.state) {
        case LedgerState::queued:
            return Cause::waiting;
        case LedgerState::held:
            return row.owner_kind.empty() ? Cause::kept_idle : Cause::starting;
        case LedgerState::running:
            return Cause::working;
        case LedgerState::idle_allocated:
            return row.server_absent ? Cause::server_absent : Cause::ended_not_released;
        case LedgerState::failed_rerun:
            return Cause::lost_by_failure;
        case LedgerState::lost_to_preemption:
            return Cause::lost_by_preemption;
        case LedgerState::idle:
            return Cause::idle;
        case LedgerState::suspended:
            return Cause::suspended;
        case LedgerState::lost_to_request:
            return Cause::lost_by_request;
    }
    return Cause::idle;
}

Explanation explain(std::vector<UsageRecord> rows) {
    std::ranges::sort(rows, [](const UsageRecord& a, const UsageRecord& b) {
        return std::tie(a.from, a.replica, a.node, a.device, a.to, a.id) <
               std::tie(b.from, b.replica, b.node, b.device, b.to, b.id);
    });
    Explanation explanation;
    std::map<Stay, std::vector<UsageRecord>> stays;
    for (UsageRecord& row : rows) {
        const DeviceTime time = time_of(row);
        DeviceTime& sum = explanation.by_state[row.state];
        sum = sum + time;
        if (!model::is_waiting(row.state)) {
            explanation.accounted = explanation.accounted + time;
            stays[{row.replica, row.epoch, row.node, row.device}].push_back(row);
        }
        explanation.lines.push_back({std::move(row), Cause::idle, time});
        explanation.lines.back().cause = cause_of(explanation.lines.back().row);
    }
    for (const auto& [stay, list] : stays) measure_stay(stay, list, explanation);
    return explanation;
}

}  // namespace tandem::ledger
