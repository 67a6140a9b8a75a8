// SPDX-License-Identifier: Apache-2.0
// tandem sim jobs: training jobs of a public trace on one cluster, by one policy.
#include <fmt/format.h>

#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "apps/sim/words.h"
#include "sim/time/own_jobs.h"
#include "sim/time/paper_policies.h"
#include "sim/time/traces.h"

namespace tandem::apps {
namespace {

constexpr const char* usage =
    "usage: tandem sim jobs --trace FILE [--nodes 8] [--devices 8]\n"
    "         --policy fifo|srtf|srsf|tiresias-l|tandem [--durations known|unknown]\n"
    "         [--per-job OUT.csv] [--json]\n"
    "FILE: CSV with job_id, num_gpu, submit_time and iteration_time (ms), iterations, model_name;\n"
    "plain or gzip; - is standard input. --durations matters to tandem alone (default known).\n";

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

const std::vector<std::string> policies{"fifo", "srtf", "srsf", "tiresias-l", "tandem"};
const std::vector<std::string> knowledge{"known", "unknown"};

Status run(const std::vector<std::string>& given) {
    TANDEM_LET(words, Words::read(given, {"--json"}));
    TANDEM_LET(path, words.need("--trace"));
    TANDEM_LET(nodes, words.integer("--nodes", 1, 100'000, 8));
    TANDEM_LET(devices, words.integer("--devices", 1, 1024, 8));
    TANDEM_LET(policy, words.choice("--policy", policies, "tandem"));
    TANDEM_LET(durations, words.choice("--durations", knowledge, "known"));
    const std::string out = words.or_else("--per-job", "");
    const bool as_json = words.has("--json");
    TANDEM_TRY(words.finish());
    TANDEM_LET(trace, read_trace(path));
    const sim::TrainingCluster cluster{.nodes = nodes, .devices = devices};
    TANDEM_LET(jobs, sim::read_training_jobs(trace, cluster));
    const sim::TrainingReport report = play(jobs, cluster, policy, durations == "known");
    if (!out.empty()) TANDEM_TRY(write_text(out, per_job(report)));
    const auto count = static_cast<std::int64_t>(report.jobs.size());
    print_figures({{"policy", policy, true},
                   {"avg_jct_s", render_fraction(report.total_jct, count * 1'000'000, 6)},
                   {"makespan_s", render_fraction(report.makespan, 1'000'000, 6)},
                   {"p99_jct_s", render_fraction(report.p99_jct, 1'000'000, 6)},
                   {"jobs", std::to_string(count)},
                   {"evictions", std::to_string(report.evictions)}},
                  as_json);
    return {};
}

}  // namespace

int sim_jobs(const std::vector<std::string>& words) {
    return answer_verb("jobs", usage, run, words);
}

}  // namespace tandem::apps
