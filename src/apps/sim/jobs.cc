// SPDX-License-Identifier: Apache-2.0
// tandem sim jobs: training jobs of a public trace on one cluster, by one policy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "sim/time/own_jobs.h"
#include "sim/time/paper_policies.h"
#include "sim/time/traces.h"

namespace tandem::apps {
namespace {

struct Question {
    std::string trace{};
    std::int64_t nodes = 8;
    std::int64_t devices = 8;
    std::string policy = "tandem";
    std::string durations = "known";
    std::string per_job{};
    bool json = false;
};

void describe(CLI::App& app, Question& question) {
    app.add_option("--trace", question.trace,
                   "CSV with job_id, num_gpu, submit_time and iteration_time (ms), iterations, "
                   "model_name; plain or gzip; - is standard input")
        ->required();
    app.add_option("--nodes", question.nodes, "machines")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    app.add_option("--devices", question.devices, "devices of each")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--policy", question.policy, "who runs first")
        ->check(CLI::IsMember({"fifo", "srtf", "srsf", "tiresias-l", "tandem"}))
        ->capture_default_str();
    app.add_option("--durations", question.durations,
                   "whether run times are known; for tandem alone")
        ->check(CLI::IsMember({"known", "unknown"}))
        ->capture_default_str();
    app.add_option("--per-job", question.per_job, "CSV file to write, a row a job");
    app.add_flag("--json", question.json, "one JSON object instead of a table");
}

sim::TrainingReport play(const std::vector<sim::TrainingJob>& jobs,
                         const sim::TrainingCluster& cluster, const std::string& policy,
                         bool known) {
    if (policy == "fifo") return sim::play_fifo(jobs, cluster);
    if (policy == "srtf") return sim::play_shortest(jobs, cluster, false);
    if (policy == "srsf") return sim::play_shortest(jobs, cluster, true);
    if (policy == "tiresias-l") return sim::play_tiresias(jobs, cluster);
    return sim::play_own_jobs(jobs, cluster, known);
}

std::string per_job(const sim::TrainingReport& report) {
    std::string text = "job_id,submit_s,start_s,end_s,evictions\n";
    for (const sim::TrainingOutcome& job : report.jobs) {
        text += fmt::format("{},{},{},{},{}\n", job.id, render_fraction(job.submit, 1'000'000, 6),
                            render_fraction(job.start, 1'000'000, 6),
                            render_fraction(job.end, 1'000'000, 6), job.evictions);
    }
    return text;
}

Status answer(const Question& question) {
    TANDEM_LET(trace, read_trace(question.trace));
    const sim::TrainingCluster cluster{.nodes = question.nodes, .devices = question.devices};
    TANDEM_LET(jobs, sim::read_training_jobs(trace, cluster));
    const sim::TrainingReport report =
        play(jobs, cluster, question.policy, question.durations == "known");
    if (!question.per_job.empty()) TANDEM_TRY(write_text(question.per_job, per_job(report)));
    const auto count = static_cast<std::int64_t>(report.jobs.size());
    print_figures({{"policy", question.policy, true},
                   {"avg_jct_s", render_fraction(report.total_jct, count * 1'000'000, 6)},
                   {"makespan_s", render_fraction(report.makespan, 1'000'000, 6)},
                   {"p99_jct_s", render_fraction(report.p99_jct, 1'000'000, 6)},
                   {"jobs", std::to_string(count)},
                   {"evictions", std::to_string(report.evictions)}},
                  question.json);
    return {};
}

}  // namespace

int sim_jobs(const std::vector<std::string>& words) {
    CLI::App app("Training jobs of a public trace on one cluster, by one policy",
                 "tandem sim jobs");
    Question question;
    describe(app, question);
    if (const auto code = read_words(app, words)) return *code;
    const Status done = answer(question);
    return done ? 0 : refuse("jobs", done.error());
}

}  // namespace tandem::apps
