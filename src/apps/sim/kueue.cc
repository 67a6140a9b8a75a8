// SPDX-License-Identifier: Apache-2.0
// tandem sim kueue: a generator file of Kueue's scheduler tests, played by the server's own core
// under a virtual clock.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "sim/workload/kueue.h"

namespace tandem::apps {
namespace {

struct Question {
    std::string file{};
    std::string html{};
    bool json = false;
};

std::string seconds_text(std::int64_t ms) { return render_fraction(ms, 1000, 3); }

// True: no rule broke.
Result<bool> answer(const Question& question) {
    TANDEM_LET(text, read_trace(question.file));
    auto load = sim::parse_kueue(text.text);
    if (!load) return in_context(question.file, load.error());
    const sim::KueueReport report = sim::play_kueue(*load);
    std::vector<Figure> figures{
        {"wall_s", seconds_text(report.wall_ms)},
        {"ideal_s", seconds_text(report.ideal_ms)},
        {"utilisation", render_fraction(report.used_parts, 1'000'000, 4)},
        {"workloads", std::to_string(load->work.size())},
        {"queues", std::to_string(load->queues.size())},
        {"evictions", std::to_string(report.evictions)},
        {"topology", load->constrained ? "read and not applied" : "none", true}};
    for (const auto& [name, row] : report.classes)
        figures.push_back({"admission_s." + name, render_fraction(row.wait_ms, row.count * 1000, 3)});
    if (question.json) figures.push_back({"series", series_of(report.figures)});
    TANDEM_TRY(write_page(question.html, {.title = "Kueue generator " + question.file,
                                          .about = "Played by tandem sim kueue under a virtual clock",
                                          .parts = {{"run", "运行", &report.figures, {}}}}));
    print_figures(figures, question.json);
    if (!report.violation.empty()) fmt::print(stderr, "tandem sim kueue: {}\n", report.violation);
    return report.violation.empty();
}

}  // namespace

int sim_kueue(const std::vector<std::string>& words) {
    CLI::App app("A generator file of Kueue's scheduler tests under a virtual clock",
                 "tandem sim kueue");
    Question question;
    app.add_option("generator", question.file, "YAML, plain or gzip; - is standard input")->required();
    add_html(app, question.html);
    app.add_flag("--json", question.json, "one JSON object instead of a table");
    if (const auto code = read_words(app, words)) return *code;
    const Result<bool> done = answer(question);
    if (!done) return refuse("kueue", done.error());
    return *done ? 0 : 1;
}

}  // namespace tandem::apps
