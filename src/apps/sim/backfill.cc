// SPDX-License-Identifier: Apache-2.0
// tandem sim backfill: batch jobs of a public trace on equal machines, by one policy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "sim/time/batch_policies.h"
#include "sim/time/traces.h"

namespace tandem::apps {
namespace {

struct Question {
    std::string trace{};
    std::string format{};
    std::int64_t nodes = 0;
    std::string policy = "tandem";
    std::string per_job{};
    bool json = false;
};

void describe(CLI::App& app, Question& question) {
    app.add_option("--trace", question.trace, "plain or gzip; - is standard input")->required();
    app.add_option("--format", question.format,
                   "batsim-jobs: Batsim's CSV of jobs; swf: the Standard Workload Format")
        ->required()
        ->check(CLI::IsMember({"batsim-jobs", "swf"}));
    app.add_option("--nodes", question.nodes, "machines")
        ->required()
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--policy", question.policy, "who may pass whom")
        ->check(CLI::IsMember({"easy", "conservative", "tandem"}))
        ->capture_default_str();
    app.add_option("--per-job", question.per_job, "CSV file to write, a row a job");
    app.add_flag("--json", question.json, "one JSON object instead of a table");
}

std::string per_job(const std::vector<sim::BatchJob>& jobs, const sim::BatchReport& report) {
    std::string text = "job_id,submit_s,start_s,end_s,evictions\n";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        text += fmt::format("{},{},{},{},0\n", jobs[i].id,
                            render_fraction(jobs[i].submit, 1'000'000, 6),
                            render_fraction(report.starts[i], 1'000'000, 6),
                            render_fraction(report.starts[i] + jobs[i].length(), 1'000'000, 6));
    }
    return text;
}

sim::BatchReport play(const std::vector<sim::BatchJob>& jobs, const Question& question) {
    if (question.policy == "easy") return sim::play_easy(jobs, question.nodes);
    if (question.policy == "conservative") return sim::play_conservative(jobs, question.nodes);
    return sim::play_own_batch(jobs, question.nodes);
}

Status answer(const Question& question) {
    TANDEM_LET(trace, read_trace(question.trace));
    TANDEM_LET(jobs, question.format == "swf" ? sim::read_swf(trace, question.nodes)
                                              : sim::read_batsim_jobs(trace, question.nodes));
    const sim::BatchReport report = play(jobs, question);
    if (!question.per_job.empty()) TANDEM_TRY(write_text(question.per_job, per_job(jobs, report)));
    const auto count = static_cast<std::int64_t>(jobs.size());
    print_figures({{"policy", question.policy, true},
                   {"mean_wait_s", render_fraction(report.total_wait, count * 1'000'000, 6)},
                   {"max_wait_s", render_fraction(report.max_wait, 1'000'000, 6)},
                   {"mean_slowdown", render_fraction(report.slowdown_micro, count * 1'000'000, 6)},
                   {"makespan_s", render_fraction(report.makespan, 1'000'000, 6)},
                   {"utilisation", render_fraction(report.used_micro, 1'000'000, 6)},
                   {"jobs", std::to_string(count)}},
                  question.json);
    return {};
}

}  // namespace

int sim_backfill(const std::vector<std::string>& words) {
    CLI::App app("Batch jobs of a public trace on equal machines, by one policy",
                 "tandem sim backfill");
    Question question;
    describe(app, question);
    if (const auto code = read_words(app, words)) return *code;
    const Status done = answer(question);
    return done ? 0 : refuse("backfill", done.error());
}

}  // namespace tandem::apps
