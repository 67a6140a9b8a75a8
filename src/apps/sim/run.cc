// SPDX-License-Identifier: Apache-2.0
// tandem sim run WORKLOAD.yaml: a story for the scheduler, played under a virtual clock.
#include "sim/workload/run.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/sim/input.h"
#include "apps/sim/verbs.h"

namespace tandem::apps {
namespace {

constexpr const char* usage =
    "usage: tandem sim run WORKLOAD.yaml\n"
    "Plays nodes, queues and jobs under a virtual clock with the server's own core, checks what "
    "the file\n"
    "expects, and prints what happened as one JSON object. Exit code 1: an expectation or a rule "
    "broke.\n";

}  // namespace

int sim_run(const std::vector<std::string>& words) {
    if (words.size() != 1 || words.front() == "--help") {
        std::fputs(usage, words.size() == 1 ? stdout : stderr);
        return words.size() == 1 ? 0 : 2;
    }
    const auto text = read_trace(words.front());
    if (!text) return refuse("run", text.error());
    const auto workload = sim::parse_workload(text->text);
    if (!workload) return refuse("run", workload.error());
    const sim::WorkloadReport report = sim::run_workload(*workload);
    fmt::print("{}\n", report.json);
    for (const std::string& problem : report.problems)
        fmt::print(stderr, "tandem sim run: {}\n", problem);
    return report.problems.empty() ? 0 : 1;
}

}  // namespace tandem::apps
