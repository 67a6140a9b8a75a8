// SPDX-License-Identifier: Apache-2.0
// tandem sim run WORKLOAD.yaml: a story for the scheduler, played under a virtual clock.
#include "sim/workload/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"

namespace tandem::apps {
int sim_run(const std::vector<std::string>& words) {
    CLI::App app(
        "Plays nodes, queues and jobs under a virtual clock with the server's own core, checks "
        "what "
        "the file expects,\nand prints what happened as one JSON object. Exit code 1: an "
        "expectation "
        "or a rule broke",
        "tandem sim run");
    std::string file, html;
    app.add_option("WORKLOAD", file, "YAML file; - is standard input")->required();
    add_html(app, html);
    if (const auto code = read_words(app, words)) return *code;
    const auto text = read_trace(file);
    if (!text) return refuse("run", text.error());
    const auto workload = sim::parse_workload(text->text);
    if (!workload) return refuse("run", workload.error());
    const sim::WorkloadReport report = sim::run_workload(*workload);
    const sim::ReportPage page{.title = workload->name.empty() ? file : workload->name,
                               .about = workload->about,
                               .parts = {{"run", "运行", &report.figures, {}}},
                               .problems = report.problems};
    if (const Status written = write_page(html, page); !written)
        return refuse("run", written.error());
    fmt::print("{}\n", report.json);
    for (const std::string& problem : report.problems)
        fmt::print(stderr, "tandem sim run: {}\n", problem);
    return report.problems.empty() ? 0 : 1;
}

}  // namespace tandem::apps
