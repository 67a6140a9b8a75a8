// SPDX-License-Identifier: Apache-2.0
// Replays a history on a stage: core's own driver under a virtual clock, every job submitted when
// it was and running as long as it did, on the machines and queues of then or on changed ones. Jobs
// with checkpoints save every ten minutes. A job that was withdrawn before it ran is withdrawn at
// that time if it hasn't started by then. The stage goes on after the last submission until all is
// done, at most for as long again as the history lasted and a week. Limits per user are not
// applied: all comes from one submitter. Thread rule: values.
#pragma once

#include <string>

#include "codec/json_writer.h"
#include "model/what_if.h"
#include "sim/workload/chronicle.h"
#include "sim/workload/history.h"
#include "sim/workload/report_html.h"

namespace tandem::sim {

struct ReplayFigures {
    std::int64_t refused = 0;     // jobs that these machines and queues do not take
    std::string first_refusal{};  // why
    std::int64_t cut_off = 0;     // whose whole run time the history does not tell
    std::int64_t guessed = 0;     // who never ran: how long they would have is a guess
    std::int64_t evictions = 0;
    std::int64_t makespan_ms = 0;  // from the first submission to the last end
    std::int64_t devices = 0;
    ChronicleFigures chronicle{};
};

// The change: machines added, nodes drained (they are not there), priorities, and manifests of
// queues and pools. Errors: what core refuses of it, naming the field.
Result<ReplayFigures> replay_history(const History& history, const model::WhatIf& change);

// Members of the object that `json` is in: the sums, and those of report_json.h.
void write_replay(codec::JsonWriter& json, const ReplayFigures& figures);
std::vector<ReportSum> sums_of(const ReplayFigures& figures);
// Was and would be beside each other, a line a figure; classes below.
std::string render_table(const ReplayFigures& before, const ReplayFigures* after);
ReportPage page_of(const ReplayFigures& before, const ReplayFigures* after);
// One JSON object: {"before": {...}, "after": {...}}; without a change only "before".
std::string render_replay(const ReplayFigures& before, const ReplayFigures* after);

}  // namespace tandem::sim
